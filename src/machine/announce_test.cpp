#include <set>

#include "base/hash.hpp"
#include "testing/machine_fixture.hpp"

namespace pawl::machine {
namespace {

Json json(const char* text) { return Json::parse(text); }

Step fails_twice(Step step) {
  step.retry.attempts = 2;
  return step;
}

class AnnounceTest : public MachineTest {
 protected:
  /// Returns [type, path, data] of what was told since the last clear(), in order; without types, everything.
  [[nodiscard]] Json told(const std::set<std::string>& types = {}) const {
    Json out = Json::array();
    for (const auto& tell : all<command::Tell>()) {
      if (types.empty() || types.contains(tell.type)) out.push_back({tell.type, tell.path, tell.data});
    }
    return out;
  }
  [[nodiscard]] std::optional<command::Tell> last(const std::string& type) const {
    std::optional<command::Tell> found;
    for (const auto& tell : all<command::Tell>()) {
      if (tell.type == type) found = tell;
    }
    return found;
  }
  [[nodiscard]] Json data_of(const std::string& type) const {
    const auto found = last(type);
    return found ? found->data : Json();
  }
  void attempt_began(const std::string& path) { feed(fact::AttemptStarted{at(path).id, at(path).record.starts}); }
  void begin_with_added(const std::function<Result<Steps>(const Json&, const Steps&, std::size_t)>& parse) {
    auto made = std::make_shared<Definition>(*definition());
    made->parse_added = parse;
    s = empty_state(made);
    feed(fact::RunBegan{});
  }
};

TEST_F(AnnounceTest, AStepFromItsStartToItsEnd) {
  Step b = fails_twice(handler("b"));
  b.continue_on_error = true;
  b.stage = "late";
  b.layer = 1;
  Step c = handler("c");
  c.when = expression("false");
  c.layer = 2;
  sequential({handler("a"), b, c});
  begin();
  attempt_began("a");
  now.us += 5'000;
  end("a", 0, 1);
  now.us += 7'000;
  end("b", 3);
  wait(Milliseconds(100));
  end("b", 4);
  EXPECT_EQ(told(), json(R"([
    ["step_started", "a", {"again": false}],
    ["attempt_started", "a", {"attempt": 1}],
    ["step_completed", "a", {"status": "completed", "attempts": 1, "ms": 0}],
    ["layer_completed", "", {"layer": 0}],
    ["step_started", "b", {"again": false, "stage": "late"}],
    ["attempt_failed", "b", {"attempt": 1, "error": "exit status 3", "retryable": true, "again_in_ms": 100}],
    ["attempt_failed", "b", {"attempt": 2, "error": "exit status 4", "retryable": true}],
    ["step_failed", "b", {"status": "failed", "attempts": 2, "ms": 0, "error": "exit status 4"}],
    ["stage_completed", "", {"stage": "late"}],
    ["step_skipped", "c", {"status": "skipped", "attempts": 0, "ms": 0, "reason": "`when: false` is false"}],
    ["layer_completed", "", {"layer": 2}],
    ["run_completed", "", {"usage": {"tokens": 0, "usd": 0.0}}]])"));
  for (const auto& tell : all<command::Tell>()) EXPECT_EQ(tell.lasts, tell.type != "attempt_started") << tell.type;
}

TEST_F(AnnounceTest, AStepThatRunsAgainAfterACrashIsAnnouncedAgainWithoutARecord) {
  sequential({handler("a"), gate("ok")});
  begin();
  crash_and_resume();
  EXPECT_EQ(told({"step_started"}), json(R"([["step_started", "a", {"again": true}]])"));
  EXPECT_EQ(recorded_count<recorded::StepStarted>(), 1U);
  end("a");
  EXPECT_EQ(told({"step_started", "approval_requested"}).size(), 3U);
  crash_and_resume();
  EXPECT_EQ(told({"step_started", "approval_requested"}), Json::array());  // the gate waits as before
}

TEST_F(AnnounceTest, WhatIsToldPrecedesTheSaveOfItsRecords) {
  sequential({handler("a")});
  s = empty_state(definition());
  std::vector<Command> out = step(s, fact::RunBegan{}, now);
  const auto position = [&](auto&& matches) { return std::ranges::find_if(out, matches) - out.begin(); };
  const auto of_start = position([](const Command& command) {
    const auto* tell = std::get_if<command::Tell>(&command);
    return tell != nullptr && tell->type == "step_started";
  });
  const auto of_save = position([](const Command& command) { return std::holds_alternative<command::Save>(command); });
  EXPECT_LT(of_start, of_save);
  EXPECT_LT(of_save, std::ssize(out));
}

TEST_F(AnnounceTest, OnlyALargeOutputIsPartOfTheEndOfAStep) {
  const std::string large(kOutputInline + 1, 'x');
  sequential({handler("a"), loop_of("l", 1, {handler("b")}), map_of("m", {1}, {handler("c")})});
  begin();
  end("a", 0, "small");
  EXPECT_FALSE(data_of("step_completed").contains("output"));
  commands.clear();
  end("l[1].b", 0, large);
  const Json ends = told({"step_completed"});
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(ends[0][1], "l[1].b");
  EXPECT_EQ(ends[0][2]["output"], large);
  EXPECT_FALSE(ends[1][2].contains("output"));  // of the loop: it refers to the record of the step
  const auto tells = all<command::Tell>();
  const std::uint64_t number = at("l").record.output_event;
  EXPECT_EQ(std::ranges::count(tells, number, &command::Tell::record), 1);
  EXPECT_TRUE(std::holds_alternative<recorded::StepSettled>(journal.at(number - 1).fact));
  EXPECT_EQ(std::get<recorded::StepSettled>(journal[number - 1].fact).path, "l[1].b");
}

TEST_F(AnnounceTest, ItemsAreAnnouncedAsAWhole) {
  const std::string large(kOutputInline + 1, 'x');
  sequential({map_of("m", {"p", "q", "r"}, {handler("a"), fails_twice(handler("b"))})});
  std::get<Map>(workflow.steps[0].work).on_item_failure = Map::OnItemFailure::dlq;
  begin();
  end("m[0].a");
  end("m[0].b", 1);
  wait(Milliseconds(100));
  end("m[0].b", 0, 7);
  end("m[1].a");
  end("m[1].b", 1);
  wait(Milliseconds(100));
  end("m[1].b", 2);
  end("m[2].a");
  end("m[2].b", 0, large);
  const auto hash = [](const Json& item) { return to_hex(sha256(compact(item))).substr(0, 16); };
  Json expected = json(R"([
    ["map_started", "m", {"items": 3, "parallel": 1}],
    ["map_progress", "m", {"total": 3, "done": 0, "failed": 0}],
    ["item_started", "m", {"index": 0}],
    ["item_completed", "m", {"index": 0, "hash": "", "status": "completed", "attempts": 2, "ms": 100, "item": "p", "output": 7}],
    ["item_started", "m", {"index": 1}],
    ["item_failed", "m",
     {"index": 1, "hash": "", "status": "failed", "attempts": 2, "ms": 100, "item": "q",
      "error": "m[1].b: exit status 2"}],
    ["item_started", "m", {"index": 2}],
    ["item_completed", "m", {"index": 2, "hash": "", "status": "completed", "attempts": 1, "ms": 0, "item": "r"}],
    ["map_completed", "m", {"total": 3, "failed": 1}]])");
  for (const std::size_t end : {3U, 5U, 7U}) expected[end][2]["hash"] = hash(expected[end][2]["item"]);
  expected[7][2]["output"] = large;
  EXPECT_EQ(told({"map_started", "map_progress", "item_started", "item_completed", "item_failed", "map_completed"}),
            expected);
  const Json steps = told({"step_started", "step_completed", "step_failed"});
  EXPECT_EQ(steps.size(), 3U) << steps;  // those of the map, and the end of the step with a large output
  EXPECT_EQ(steps[1][1], "m[2].b");
  crash_and_resume();
  EXPECT_TRUE(told({"map_started"}).empty());
}

TEST_F(AnnounceTest, AMapThatIsOpenedAgainTellsOnlyItsProgress) {
  sequential({map_of("m", {1, 2}, {handler("a")})});
  begin();
  end("m[0].a");
  crash_and_resume();
  EXPECT_EQ(told({"map_started", "map_progress"}),
            json(R"([["map_progress", "m", {"total": 2, "done": 0, "failed": 0}]])"));
}

TEST_F(AnnounceTest, AnOpenCircuitAndRetriedItems) {
  sequential({map_of("m", {1, 2}, {handler("a")})});
  auto& map = std::get<Map>(workflow.steps[0].work);
  map.on_item_failure = Map::OnItemFailure::dlq;
  map.circuit_breaker = CircuitBreaker{.failures = 1, .cool_down = Milliseconds(10), .trips = 5};
  begin();
  end("m[0].a", 1);
  EXPECT_EQ(data_of("circuit_opened"), json(R"({"failures_in_a_row": 1, "trips": 1})"));
  post({.type = fact::MessageType::retry_items, .path = "m", .from = "ann@host"});
  EXPECT_EQ(data_of("dlq_retried"), json(R"({"indices": [0], "dependents": [], "from": "ann@host"})"));
}

TEST_F(AnnounceTest, IterationsOfALoop) {
  sequential({loop_of("l", 3, {handler("a")})});
  std::get<Loop>(workflow.steps[0].work).until = expression("steps.a.output == 2");
  begin();
  end("l[1].a", 0, 1);
  crash_and_resume();
  end("l[2].a", 0, 2);
  EXPECT_EQ(told({"iteration_started", "iteration_completed"}), json(R"([
    ["iteration_started", "l", {"iteration": 2, "max": 3}],
    ["iteration_completed", "l", {"iteration": 2, "satisfied": true}]])"));
}

TEST_F(AnnounceTest, AContainerTookTheTimeInWhichAProcessDroveIt) {
  sequential({loop_of("l", 1, {handler("a")})});
  begin();
  now.us += 2'000'000;
  feed(fact::AttemptReported{at("l[1].a").id, 1, {.usage = {.tokens = 1}}});
  wait(Milliseconds(10));  // the report is saved
  now.us += 60'000'000;
  crash_and_resume();
  now.us += 1'000'000;
  end("l[1].a");
  EXPECT_EQ(told({"step_completed"})[1], json(R"(["step_completed", "l", {"status": "completed", "attempts": 0,
                                                                          "ms": 3000}])"));
}

TEST_F(AnnounceTest, ConfidenceIsAnnouncedOnceForEachAttempt) {
  Step a = fails_twice(handler("a"));
  a.confidence = LowConfidence{.below = 0.5, .then = list({handler("ask")})};
  sequential({a});
  begin();
  feed(fact::AttemptReported{at("a").id, 1, {.confidence = 0.8}});
  end("a", 1, {}, {.confidence = 0.8});
  wait(Milliseconds(100));
  end("a", 0, 1, {.confidence = 0.4});
  end("a.then.ask", 1);
  EXPECT_EQ(told({"confidence", "low_confidence", "confidence_adjusted"}), json(R"([
    ["confidence", "a", {"value": 0.8, "crossed": false}],
    ["confidence", "a", {"value": 0.4, "crossed": true}],
    ["low_confidence", "a", {"confidence": 0.4, "below": 0.5}],
    ["confidence_adjusted", "a.then.ask", {"confidence": 0.32000000000000006}],
    ["confidence_adjusted", "a", {"confidence": 0.25600000000000006}]])"));
}

TEST_F(AnnounceTest, ARescuedStepIsCompletedWithItsError) {
  Step a = handler("a");
  a.on_failure = list({handler("mop")});
  a.rescue = true;
  sequential({a});
  begin();
  end("a", 1);
  commands.clear();
  end("a.on_failure.mop");
  EXPECT_EQ(told({"rescued"}), json(R"([["rescued", "a", {"error": "exit status 1"}]])"));
  EXPECT_EQ(told({"step_completed"})[1][2],
            json(R"({"status": "completed", "attempts": 1, "ms": 0, "error": "exit status 1"})"));
}

TEST_F(AnnounceTest, AnInterruptAndACancellation) {
  struct Case {
    const char* what;
    Fact fact;
    Json expected;
  };
  const std::vector<Case> cases{
      {"interrupt", fact::Interrupted{"SIGTERM"}, json(R"([["interrupting", "", {"why": "SIGTERM"}],
          ["attempt_interrupted", "a", {"error": "SIGTERM"}],
          ["run_interrupted", "", {"error": "SIGTERM", "usage": {"tokens": 0, "usd": 0.0}}]])")},
      {"cancel", fact::MessageArrived{.id = "m", .type = fact::MessageType::cancel, .from = "ann", .text = "enough"},
       json(R"([["cancel_requested", "", {"from": "ann"}], ["cancelling", "", {"why": "enough"}],
          ["attempt_interrupted", "a", {"error": "enough"}],
          ["run_cancelled", "", {"error": "enough", "usage": {"tokens": 0, "usd": 0.0}}]])")}};
  for (const Case& example : cases) {
    SCOPED_TRACE(example.what);
    sequential({handler("a")});
    journal.clear();
    begin();
    commands.clear();
    feed(example.fact);
    end("a", 143);
    EXPECT_EQ(told(), example.expected);
  }
}

TEST_F(AnnounceTest, FailFastInterruptsWhatRunsBeside) {
  workflow.fail_fast = true;
  workflow.steps = {handler("a"), handler("b")};
  begin();
  commands.clear();
  end("a", 1);
  end("b", 143);
  EXPECT_EQ(told({"attempt_interrupted", "step_failed", "run_failed", "layer_completed"}), json(R"j([
    ["step_failed", "a", {"status": "failed", "attempts": 1, "ms": 0, "error": "exit status 1"}],
    ["attempt_interrupted", "b", {"error": "another step failed (fail_fast)"
}],
    ["step_failed", "b", {"status": "cancelled", "attempts": 0, "ms": 0}],
    ["run_failed", "", {"error": "a: exit status 1", "usage": {"tokens": 0, "usd": 0.0}}]])j"));
}

TEST_F(AnnounceTest, ALostAttemptWasInterrupted) {
  sequential({handler("a")});
  begin();
  feed(fact::AttemptLost{at("a").id, 1, {}});
  EXPECT_EQ(data_of("attempt_interrupted"), json(R"({"error": "the process that watches the steps is gone"})"));
}

TEST_F(AnnounceTest, ABreakpointBeforeAndAfterAStep) {
  Step a = handler("a");
  a.breakpoint = Breakpoint::before;
  Step b = handler("b");
  b.breakpoint = Breakpoint::after;
  sequential({a, b, handler("c")});
  begin();
  EXPECT_EQ(told({"breakpoint", "step_started", "run_waiting"}), json(R"([
    ["breakpoint", "a", {"where": "before"}],
    ["run_waiting", "", {"for": ["a resume at the breakpoint before a"], "usage": {"tokens": 0, "usd": 0.0}}]])"));
  crash_and_resume();
  end("a");
  end("b");
  EXPECT_EQ(told({"breakpoint", "step_started", "run_waiting"}), json(R"([
    ["step_started", "a", {"again": true}],
    ["step_started", "b", {"again": false}],
    ["breakpoint", "b", {"where": "after"}],
    ["run_waiting", "", {"for": ["a resume at the breakpoint after b"], "usage": {"tokens": 0, "usd": 0.0}}]])"));
}

TEST_F(AnnounceTest, ABudgetIsAnnouncedOnceAndOnlyIfItKeepsAStepFromStarting) {
  workflow.budget.tokens = 10;
  sequential({handler("a"), handler("b")});
  begin();
  end("a", 0, {}, {.usage = {.tokens = 10, .usd = 0.5}});
  EXPECT_EQ(told({"budget_reached", "run_waiting"}), json(R"([
    ["budget_reached", "b", {"tokens": 10, "usd": 0.5}],
    ["run_waiting", "", {"for": ["a larger budget"], "usage": {"tokens": 10, "usd": 0.5}}]])"));
  crash_and_resume();
  EXPECT_EQ(told({"budget_reached"}).size(), 1U);
  sequential({handler("a")});
  journal.clear();
  commands.clear();
  begin();
  end("a", 0, {}, {.usage = {.tokens = 10}});
  EXPECT_TRUE(told({"budget_reached"}).empty());
}

TEST_F(AnnounceTest, ABudgetThatHoldsItemsBackIsAnnouncedForTheMap) {
  workflow.budget.tokens = 10;
  sequential({map_of("m", {1, 2}, {handler("a")})});
  begin();
  end("m[0].a", 0, {}, {.usage = {.tokens = 10}});
  EXPECT_EQ(told({"budget_reached"}), json(R"([["budget_reached", "m", {"tokens": 10, "usd": 0.0}]])"));
}

TEST_F(AnnounceTest, AChildRun) {
  sequential({step_of("c", CallWorkflow{"child.yaml", value(Json::object())})});
  begin();
  feed(fact::ChildOpened{at("c").id, "r.c"});
  EXPECT_EQ(told({"child_started"}), json(R"([["child_started", "c", {"run": "r.c"}]])"));
}

TEST_F(AnnounceTest, StepsThatAStepAdds) {
  const auto add = [&](const std::string& path, const Json& steps) {
    commands.clear();
    fact::AttemptEnded ended{.node = at(path).id, .start = at(path).record.starts};
    ended.add_steps = steps;
    feed(ended);
    return told({"steps_added", "steps_refused"});
  };
  const auto parse = [](const Json& steps, const Steps&, std::size_t after) -> Result<Steps> {
    Step made = handler(steps[0].get<std::string>());
    made.after = {after};
    if (made.id == "bad") return fail(Code::step_failed, "no such handler");
    return Steps{made};
  };
  workflow.steps = {handler("a"), handler("b"), loop_of("l", 1, {handler("c")}), handler("d")};
  begin_with_added(parse);
  EXPECT_EQ(add("a", {"new"}), json(R"([["steps_added", "a", {"steps": ["new"]}]])"));
  struct Case {
    const char* path;
    Json steps;
    const char* error;
  };
  for (const Case& example : {Case{"b", {"bad"}, "no such handler"}, Case{"d", {"a"}, "step 'a' already exists"},
                              Case{"l[1].c", {"x"}, "only a step of the workflow's own list can add steps"}}) {
    const Json refused = add(example.path, example.steps);
    ASSERT_EQ(refused.size(), 1U) << example.path;
    EXPECT_EQ(refused[0][0], "steps_refused");
    EXPECT_NE(text_in(refused[0][2], "error").find(example.error), std::string::npos) << refused;
  }
  EXPECT_EQ(recorded_count<recorded::StepsAdded>(), 1U);
}

TEST_F(AnnounceTest, AGateAndTheDecisionAboutIt) {
  for (const bool approves : {true, false}) {
    stays = true;
    sequential({gate("ok")});
    journal.clear();
    commands.clear();
    begin();
    const std::string binding = at("ok").record.binding;
    EXPECT_EQ(data_of("approval_requested"), (Json{{"prompt", "Continue?"}, {"binding", binding}}));
    const auto type = approves ? fact::MessageType::approve : fact::MessageType::reject;
    post({.type = type, .path = "ok", .binding = binding, .by = "ann", .from = "ann@host", .text = "fine"});
    EXPECT_EQ(
        data_of(approves ? "approved" : "rejected"),
        (Json{
            {"by", "ann"}, {"binding", binding}, {"prompt", "Continue?"}, {"from", "ann@host"}, {"comment", "fine"}}));
  }
}

TEST_F(AnnounceTest, AGateWithoutADecisionInTime) {
  struct Case {
    OnTimeout effect;
    const char* type;
    Json expected;
  };
  const std::vector<Case> cases{
      {OnTimeout::reject, "rejected",
       json(R"({"binding": "", "prompt": "Continue?", "timed_out": true, "by": "timeout"})")},
      {OnTimeout::go_on, "approval_timed_out", json(R"({"binding": "", "prompt": "Continue?", "timed_out": true})")},
      {OnTimeout::fail, "attempt_failed",
       json(R"({"attempt": 1, "error": "no decision within 1 min", "retryable": true})")}};
  for (const Case& example : cases) {
    SCOPED_TRACE(example.type);
    stays = true;
    Step ok = gate("ok");
    std::get<Approve>(ok.work).timeout = Milliseconds(60'000);
    std::get<Approve>(ok.work).on_timeout = example.effect;
    sequential({ok});
    journal.clear();
    commands.clear();
    begin();
    Json expected = example.expected;
    if (expected.contains("prompt")) expected["binding"] = at("ok").record.binding;
    wait(Milliseconds(60'000));
    EXPECT_EQ(data_of(example.type), expected);
  }
}

TEST_F(AnnounceTest, ASleepAndSignals) {
  stays = true;
  sequential({step_of("nap", Sleep{text("10m")}), step_of("go", WaitFor{"s", Milliseconds(60'000)})});
  begin();
  EXPECT_EQ(data_of("timer_set"), (Json{{"due", Timestamp{now.us + 600'000'000}.text()}}));
  wait(Milliseconds(600'000));
  EXPECT_EQ(data_of("waiting_for_signal"), (Json{{"signal", "s"}, {"due", Timestamp{now.us + 60'000'000}.text()}}));
  commands.clear();
  post({.type = fact::MessageType::signal, .from = "ann", .text = "unknown"});
  post({.type = fact::MessageType::signal, .from = "ann", .text = "s"});
  EXPECT_EQ(told({"signal_received", "signal_consumed", "message_refused"}), json(R"([
    ["signal_received", "", {"signal": "unknown", "from": "ann"}],
    ["signal_received", "", {"signal": "s", "from": "ann"}],
    ["signal_consumed", "go", {"signal": "s"}],
    ["message_refused", "", {"error": "no step waited for the signal 'unknown'", "signal": "unknown"}]])"));
}

TEST_F(AnnounceTest, MessagesThatAreRefused) {
  struct Case {
    fact::MessageArrived message;
    const char* error;
  };
  const std::vector<Case> cases{
      {{.type = fact::MessageType::approve, .path = "a"}, "'a' is not waiting for approval"},
      {{.type = fact::MessageType::other}, "unknown type of message"},
      {{.type = fact::MessageType::audit}, "invalid audit entry"},
      {{.type = fact::MessageType::audit, .text = "note", .payload = 1}, "invalid audit entry"}};
  sequential({handler("a")});
  begin();
  int number = 0;
  for (const Case& example : cases) {
    post(example.message);
    EXPECT_EQ(data_of("message_refused"), (Json{{"error", example.error}, {"id", fmt::format("m{}", ++number)}}));
  }
}

TEST_F(AnnounceTest, AnAuditEntryKeepsItsTypeAndAgent) {
  sequential({handler("a")});
  begin();
  post({.type = fact::MessageType::audit, .by = "bot", .from = "ann", .text = "review", .payload = {{"ok", true}}});
  const auto entry = last("review");
  ASSERT_TRUE(entry.has_value());
  EXPECT_TRUE(entry->entry && entry->lasts);
  EXPECT_EQ(entry->agent, "bot");
  EXPECT_EQ(entry->data, (Json{{"ok", true}}));
  post({.type = fact::MessageType::audit, .from = "ann", .text = "review"});
  EXPECT_EQ(last("review")->agent, "ann");
  EXPECT_EQ(last("review")->data, Json::object());
}

}  // namespace
}  // namespace pawl::machine
