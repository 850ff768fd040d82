#include "engine/control.hpp"

#include <gtest/gtest.h>

#include "engine/open_run.hpp"
#include "engine/save.hpp"
#include "engine/state_edit.hpp"
#include "testing/memory_under_test.hpp"

namespace pawl::testing {
namespace {

constexpr std::uint64_t kControlStateBytesMax = 100'000;

RunId controlled(std::string_view text) { return *RunId::parse(text); }

StepRecord gate(std::string prompt, std::string binding) {
  StepRecord record;
  record.status = StepStatus::waiting;
  record.set_reason(StepReason::approval, std::move(prompt));
  record.binding = std::move(binding);
  return record;
}

StepRecord call(std::string child, StepStatus status) {
  StepRecord record;
  record.status = status;
  record.child_run = std::move(child);
  return record;
}

RunState waiting_state(std::vector<std::pair<std::string, StepRecord>> steps) {
  RunState state;
  state.status = RunStatus::waiting;
  state.steps = std::move(steps);
  return state;
}

class Control : public ::testing::Test {
 protected:
  void save(const std::string& run, const RunState& state, std::uint64_t events = 7) {
    Json value = state.to_json();
    value["events"] = events;
    const std::string text = compact(value);
    SaveRequest request;
    request.body = text;
    ASSERT_TRUE(checked_save(**store_->open_run(controlled(run), {}), request, kControlStateBytesMax));
  }
  std::vector<Json> inbox(const std::string& run) {
    std::vector<Json> bodies;
    const auto messages = store_->inbox(controlled(run));
    for (const Message& message : *messages) bodies.push_back(Json::parse(message.body));
    return bodies;
  }
  RunState state(const std::string& run) { return *load_state(*store_, controlled(run)); }
  static Code code_of(const auto& result) { return result ? Code{} : result.error().code; }

  MemoryUnderTest memory_;
  std::unique_ptr<Store> store_ = memory_.open();
};

TEST_F(Control, ADecisionCarriesTheBindingOfTheGate) {
  save("r", waiting_state({{"review", gate("Publish?", "sha256:1")}}));
  const Result<Decided> decided = decide(*store_, memory_.clock(), controlled("r"), {.by = "ada", .comment = "fine"});
  ASSERT_TRUE(decided);
  EXPECT_EQ(decided->gate.step, "review");
  EXPECT_FALSE(decided->to.owner);
  EXPECT_EQ(decided->to.resume, "r");
  const Json expected = {
      {"type", "approve"}, {"step", "review"}, {"binding", "sha256:1"}, {"by", "ada"}, {"comment", "fine"}};
  EXPECT_EQ(inbox("r"), std::vector<Json>{expected});
}

TEST_F(Control, TheOwnerOfARunIsNamed) {
  save("r", waiting_state({{"review", gate("Publish?", "sha256:1")}}));
  const auto other = memory_.open();
  const auto held = other->open_run(controlled("r"), {});
  const Result<Decided> decided = decide(*store_, memory_.clock(), controlled("r"), {.answer = GateAnswer::reject});
  ASSERT_TRUE(decided);
  EXPECT_TRUE(decided->to.owner);
  EXPECT_EQ(inbox("r").front()["type"], "reject");
}

TEST_F(Control, ASecondDecisionOnTheSameGateIsRefused) {
  save("r", waiting_state({{"review", gate("Publish?", "sha256:1")}}));
  ASSERT_TRUE(decide(*store_, memory_.clock(), controlled("r"), {.by = "ada"}));
  const Result<Decided> second =
      decide(*store_, memory_.clock(), controlled("r"), {.answer = GateAnswer::reject, .by = "bob"});
  ASSERT_EQ(code_of(second), Code::not_waiting);
  EXPECT_NE(second.error().message.find("already approved by ada"), std::string::npos) << second.error().message;
  EXPECT_EQ(inbox("r").size(), 1U);
}

TEST_F(Control, AMessageAboutAnotherBindingIsNotInTheWay) {
  save("r", waiting_state({{"review", gate("Publish?", "sha256:2")}}));
  ASSERT_TRUE(checked_post(*store_, controlled("r"), R"({"type":"approve","step":"review","binding":"sha256:1"})"));
  EXPECT_TRUE(decide(*store_, memory_.clock(), controlled("r"), {}));
}

TEST_F(Control, AConsumedMessageIsNotInTheWay) {
  RunState state = waiting_state({{"review", gate("Publish?", "sha256:1")}});
  save("r", state);
  const Result<std::string> message =
      checked_post(*store_, controlled("r"), R"({"type":"approve","step":"review","binding":"sha256:1"})");
  state.consumed.push_back(*message);
  save("r", state);
  EXPECT_TRUE(decide(*store_, memory_.clock(), controlled("r"), {}));
}

TEST_F(Control, SeveralGatesAreListedAndOneMustBeNamed) {
  save("r", waiting_state({{"left", gate("Left?", "sha256:1")}, {"right", gate("Right?", "sha256:2")}}));
  const Result<Decided> unnamed = decide(*store_, memory_.clock(), controlled("r"), {});
  ASSERT_EQ(code_of(unnamed), Code::usage);
  EXPECT_NE(unnamed.error().message.find("left: Left?"), std::string::npos);
  EXPECT_NE(unnamed.error().message.find("right: Right?"), std::string::npos);
  EXPECT_EQ(code_of(decide(*store_, memory_.clock(), controlled("r"), {.step = "middle"})), Code::not_waiting);
  EXPECT_EQ(decide(*store_, memory_.clock(), controlled("r"), {.step = "right"})->gate.binding, "sha256:2");
}

TEST_F(Control, ARunWithoutAGateSaysWhatItDoes) {
  RunState state = waiting_state({{"gather", {}}});
  state.status = RunStatus::running;
  state.steps.front().second.status = StepStatus::running;
  save("r", state);
  const Result<Decided> decided = decide(*store_, memory_.clock(), controlled("r"), {});
  ASSERT_EQ(code_of(decided), Code::not_waiting);
  EXPECT_NE(decided.error().message.find("runs gather"), std::string::npos) << decided.error().message;
  EXPECT_EQ(code_of(decide(*store_, memory_.clock(), controlled("missing"), {})), Code::run_not_found);
}

TEST_F(Control, TheGateOfAChildIsFoundThroughItsParent) {
  save("p",
       waiting_state({{"call", call("p.call", StepStatus::waiting)}, {"done", call("p.done", StepStatus::completed)}}));
  RunState child = waiting_state({{"ask", gate("Really?", "sha256:1")}});
  child.parent_run = "p";
  child.parent_step = "call";
  save("p.call", child);
  for (const std::string& step : {std::string("call"), std::string("call.ask"), std::string("ask"), std::string()}) {
    const Result<Decided> decided = decide(*store_, memory_.clock(), controlled("p"), {.step = step});
    ASSERT_TRUE(decided) << step;
    EXPECT_EQ(decided->gate.run, "p.call");
    EXPECT_EQ(decided->to.resume, "p");
    const auto messages = store_->inbox(controlled("p.call"));
    for (const Message& message : *messages) ASSERT_TRUE(store_->take(controlled("p.call"), message.id));
  }
}

TEST_F(Control, ARunsOwnGateComesBeforeThoseOfItsChildren) {
  save("p", waiting_state({{"call", call("p.call", StepStatus::running)}, {"own", gate("Own?", "sha256:2")}}));
  save("p.call", waiting_state({{"ask", gate("Really?", "sha256:1")}}));
  EXPECT_EQ(decide(*store_, memory_.clock(), controlled("p"), {})->gate.step, "own");
}

TEST_F(Control, TextThatIsNotUtf8IsRefused) {
  save("r", waiting_state({{"review", gate("Publish?", "sha256:1")}}));
  EXPECT_EQ(code_of(decide(*store_, memory_.clock(), controlled("r"), {.comment = "\xff"})), Code::invalid_utf8);
  EXPECT_EQ(code_of(decide(*store_, memory_.clock(), controlled("r"), {.by = "a\nb"})), Code::invalid_label);
  EXPECT_TRUE(inbox("r").empty());
}

TEST_F(Control, ASignalIsPostedWhetherOrNotSomethingWaits) {
  RunState state = waiting_state({});
  state.status = RunStatus::failed;
  save("r", state);
  ASSERT_TRUE(send_signal(*store_, memory_.clock(), controlled("r"), "go", {{"n", 1}}));
  const Json expected = {{"type", "signal"}, {"signal", "go"}, {"payload", {{"n", 1}}}};
  EXPECT_EQ(inbox("r"), std::vector<Json>{expected});
  EXPECT_EQ(code_of(send_signal(*store_, memory_.clock(), controlled("r"), "", {})), Code::invalid_label);
}

TEST_F(Control, AnEndedRunTakesNoSignalAndCantBeCancelled) {
  for (const RunStatus status : {RunStatus::completed, RunStatus::cancelled}) {
    RunState state = waiting_state({});
    state.status = status;
    save("r", state);
    EXPECT_EQ(code_of(send_signal(*store_, memory_.clock(), controlled("r"), "go", {})), Code::run_ended);
    EXPECT_EQ(code_of(cancel_run(*store_, memory_.clock(), controlled("r"), "why", kControlStateBytesMax)),
              Code::run_ended);
  }
  EXPECT_TRUE(inbox("r").empty());
}

TEST_F(Control, AnOwnerIsAskedToCancel) {
  save("r", waiting_state({}));
  const auto other = memory_.open();
  const auto held = other->open_run(controlled("r"), {});
  const Result<Cancelled> cancelled =
      cancel_run(*store_, memory_.clock(), controlled("r"), "enough", kControlStateBytesMax);
  ASSERT_TRUE(cancelled);
  EXPECT_TRUE(cancelled->asked);
  EXPECT_EQ(inbox("r"), std::vector<Json>({{{"type", "cancel"}, {"reason", "enough"}}}));
  EXPECT_EQ(state("r").status, RunStatus::waiting);
}

TEST_F(Control, ARunWithoutAnOwnerIsCancelledWithItsChildren) {
  save("p", waiting_state({{"first", {}},
                           {"call", call("p.call", StepStatus::waiting)},
                           {"never", call("p.never", StepStatus::running)}}));
  save("p.call", waiting_state({{"ask", gate("Really?", "sha256:1")}}));
  const Result<Cancelled> cancelled =
      cancel_run(*store_, memory_.clock(), controlled("p"), "enough", kControlStateBytesMax);
  ASSERT_TRUE(cancelled);
  EXPECT_FALSE(cancelled->asked);
  EXPECT_EQ(cancelled->runs, std::vector<std::string>({"p.call", "p"}));
  for (const std::string run : {"p", "p.call"}) {
    EXPECT_EQ(state(run).status, RunStatus::cancelled);
    EXPECT_EQ(state(run).error, "enough");
    EXPECT_EQ(store_->run(controlled(run))->status, Status::failed);
    EXPECT_EQ(store_->run(controlled(run))->kind, Kind::interrupted);
    EXPECT_EQ(store_->events(controlled(run), 0, 10)->back().type, "run_cancelled");
    EXPECT_EQ(Json::parse(store_->restore(controlled(run), {})->state)["events"], 8) << "the event counts";
  }
  EXPECT_EQ(code_of(decide(*store_, memory_.clock(), controlled("p"), {})), Code::not_waiting);
}

TEST_F(Control, ARunThatNoWorkflowMadeIsRefused) {
  SaveRequest request;
  request.body = "{}";
  ASSERT_TRUE(checked_save(**store_->open_run(controlled("r"), {}), request, kControlStateBytesMax));
  EXPECT_EQ(code_of(decide(*store_, memory_.clock(), controlled("r"), {})), Code::not_a_workflow_run);
  EXPECT_EQ(code_of(cancel_run(*store_, memory_.clock(), controlled("r"), "", kControlStateBytesMax)),
            Code::not_a_workflow_run);
  EXPECT_EQ(code_of(StateEdit::open(*store_, controlled("missing"))), Code::run_not_found);
}

}  // namespace
}  // namespace pawl::testing
