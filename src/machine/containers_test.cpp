#include "machine/names.hpp"
#include "machine/progress.hpp"
#include "machine/results.hpp"
#include "testing/machine_fixture.hpp"

namespace pawl::machine {
namespace {

using Paths = std::vector<std::string>;

Step with_until(Step loop, const std::string& until) {
  std::get<Loop>(loop.work).until = expression(until);
  return loop;
}

TEST_F(MachineTest, ALoopRepeatsUntilItsConditionIsMet) {
  sequential({with_until(loop_of("l", 5, {handler("a")}), "steps.a.output == 2")});
  begin();
  end("l[1].a", 0, 1);
  end("l[2].a", 0, 2);
  EXPECT_EQ(started(), (Paths{"l[1].a", "l[2].a"}));
  EXPECT_EQ(at("l").record.output, Json(2));
}

TEST_F(MachineTest, AResumedLoopGetsNoMoreIterationsThanItsMaximum) {
  sequential({with_until(loop_of("l", 2, {handler("a")}), "false")});
  begin();
  end("l[1].a");
  end("l[2].a");
  EXPECT_EQ(finish()->status, RunStatus::failed);
  EXPECT_EQ(at("l").record.reason, StepReason::exhausted);
  crash_and_resume();
  EXPECT_EQ(started(), Paths{});
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, AnIterationSeesTheOutputsOfTheOneBefore) {
  Step a = step_of("a", CallHandler{"a", value({{"before", "${default(loop.previous.a.output, 'none')}"}})});
  sequential({loop_of("l", 2, {a})});
  begin();
  end("l[1].a", 0, "first");
  const Node& second = at("l[2].a");
  const StateNames names(s, scope_at(s, second.scope), &second);
  EXPECT_EQ(*std::get<CallHandler>(second.step->work).with.evaluate(names), (Json{{"before", "first"}}));
}

TEST_F(MachineTest, ALoopContinuesInItsIterationAfterACrash) {
  sequential({loop_of("l", 3, {handler("a"), handler("b")})});
  begin();
  end("l[1].a");
  end("l[1].b");
  end("l[2].a");
  crash_and_resume(true);
  EXPECT_EQ(started(), Paths{"l[2].b"});
}

TEST_F(MachineTest, AFailedItemsInnerLoopContinuesWhereItWas) {
  sequential({map_of("m", {1}, {loop_of("l", 3, {handler("a"), handler("b")})})});
  begin();
  end("m[0].l[1].a");
  end("m[0].l[1].b");
  end("m[0].l[2].a");
  end("m[0].l[2].b", 1);
  EXPECT_EQ(finish()->status, RunStatus::failed);
  crash_and_resume();
  EXPECT_EQ(started(), Paths{"m[0].l[2].b"});
}

TEST_F(MachineTest, AnItemThatHasNotStartedCostsNothing) {
  Json items = Json::array();
  for (int i = 0; i < 10'000; ++i) items.push_back(i);
  sequential({map_of("m", items, {handler("a")})});
  begin();
  EXPECT_EQ(s.nodes.size(), 2U);
  end("m[0].a");
  EXPECT_EQ(s.nodes.size(), 2U);
}

TEST_F(MachineTest, ItemsStartInParallelUpToTheLimit) {
  Step m = map_of("m", {1, 2, 3}, {handler("a")});
  std::get<Map>(m.work).parallel = 2;
  sequential({m});
  begin();
  EXPECT_EQ(started(), (Paths{"m[0].a", "m[1].a"}));
  end("m[1].a");
  EXPECT_EQ(started().back(), "m[2].a");
}

TEST_F(MachineTest, OneMoreFailureThanAllowedStopsTheMap) {
  Step m = map_of("m", {1, 2, 3}, {handler("a")});
  std::get<Map>(m.work).on_item_failure = Map::OnItemFailure::dlq;
  std::get<Map>(m.work).max_failures = 1;
  sequential({m});
  begin();
  end("m[0].a", 1);
  EXPECT_EQ(started().back(), "m[1].a");
  end("m[1].a", 1);
  EXPECT_EQ(started().size(), 2U);
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, ALimitInPercentCountsAllItems) {
  Step m = map_of("m", {1, 2, 3, 4}, {handler("a")});
  std::get<Map>(m.work).on_item_failure = Map::OnItemFailure::dlq;
  std::get<Map>(m.work).max_failures_percent = 25.0;
  sequential({m});
  begin();
  end("m[0].a", 1);
  EXPECT_FALSE(finish().has_value());
  end("m[1].a", 1);
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, TheCircuitBreakerPausesTheMapAndTriesOneItem) {
  Step m = map_of("m", {1, 2, 3}, {handler("a")});
  std::get<Map>(m.work).on_item_failure = Map::OnItemFailure::dlq;
  std::get<Map>(m.work).circuit_breaker = CircuitBreaker{.failures = 1, .cool_down = Milliseconds(1'000), .trips = 3};
  sequential({m});
  begin();
  end("m[0].a", 1);
  EXPECT_EQ(started().size(), 1U);
  wait(Milliseconds(1'000));
  EXPECT_EQ(started().back(), "m[1].a");
}

TEST_F(MachineTest, ARetryOfDeadLettersReopensTheMapAndItsReduce) {
  Step m = map_of("m", {1, 2}, {handler("a"), handler("b")});
  std::get<Map>(m.work).on_item_failure = Map::OnItemFailure::dlq;
  std::get<Map>(m.work).reduce = std::make_shared<const Step>(handler("reduce"));
  sequential({m, handler("after")});
  begin();
  end("m[0].a");
  end("m[0].b", 1);
  end("m[1].a");
  end("m[1].b");
  end("m.reduce");
  end("after");
  EXPECT_EQ(finish()->status, RunStatus::completed);
  commands.clear();
  s = parsed(restore(definition(), saved()));
  s.saving.durable = journal.size();
  post({.type = fact::MessageType::retry_items, .path = "m"});
  feed(fact::RunResumed{});
  EXPECT_EQ(started(), Paths{"m[0].b"});
  end("m[0].b");
  EXPECT_EQ(started().back(), "m.reduce");
  end("m.reduce");
  EXPECT_EQ(finish()->status, RunStatus::completed);
}

TEST_F(MachineTest, ChangedItemsAreRefusedUnlessChangesAreAccepted) {
  sequential({map_of("m", {"x", "y"}, {handler("a")})});
  begin();
  end("m[0].a");
  wait(Milliseconds(10));
  Step changed = map_of("m", {"x", "z"}, {handler("a")});
  sequential({changed});
  crash_and_resume();
  EXPECT_EQ(finish()->ending, Ending::refused);
  crash_and_resume(false, true);
  EXPECT_EQ(started(), Paths{"m[1].a"});
}

TEST_F(MachineTest, ResultsOfItemsThatNoLongerExistAreDropped) {
  sequential({map_of("m", {"x", "y"}, {handler("a")}), handler("b")});
  begin();
  end("m[0].a", 0, "of x");
  end("m[1].a", 0, "of y");
  RunState state = saved();
  for (auto& [path, record] : state.steps) {
    if (path == "m") record.status = StepStatus::running;
  }
  durable = text_of(state);
  sequential({map_of("m", {"y"}, {handler("a")}), handler("b")});
  crash_and_resume(false, true);
  EXPECT_EQ(started(), Paths{"m[0].a"});
  end("m[0].a", 0, "of y again");
  const Json results = results_of(at("m"), journal);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0]["output"], Json("of y again"));
}

TEST_F(MachineTest, AChildIsIdentifiedByItsRecordedKey) {
  Step c = step_of("c", CallWorkflow{"c.yaml", value({{"n", 1}})});
  sequential({c});
  begin();
  const std::string key = all<command::StartChild>().back().key;
  feed(fact::ChildOpened{at("c").id, "r.c"});
  crash_and_resume();
  EXPECT_EQ(all<command::StartChild>().back().key, key);
  EXPECT_EQ(all<command::StartChild>().back().run, "r.c");
}

TEST_F(MachineTest, AChildWhoseValuesChangedIsANewChild) {
  sequential({step_of("c", CallWorkflow{"c.yaml", value({{"n", 1}})})});
  begin();
  const std::string key = all<command::StartChild>().back().key;
  feed(fact::ChildOpened{at("c").id, "r.c"});
  sequential({step_of("c", CallWorkflow{"c.yaml", value({{"n", 2}})})});
  crash_and_resume(false, true);
  EXPECT_NE(all<command::StartChild>().back().key, key);
  EXPECT_EQ(all<command::StartChild>().back().run, "");
}

TEST_F(MachineTest, TheCostOfAChildCountsOnce) {
  sequential({step_of("c", CallWorkflow{"c.yaml", value(Json::object())})});
  begin();
  feed(fact::ChildOpened{at("c").id, "r.c"});
  feed(fact::ChildReported{.node = at("c").id, .usage = {.tokens = 5}});
  crash_and_resume();
  feed(fact::ChildOpened{at("c").id, "r.c"});
  feed(fact::ChildEnded{.node = at("c").id, .outputs = {{"x", 1}}, .usage = {.tokens = 8}});
  EXPECT_EQ(s.usage.tokens, 8U);
  EXPECT_EQ(finish()->status, RunStatus::completed);
}

TEST_F(MachineTest, AChildPausesWhenTheBudgetOfItsParentIsUsedUp) {
  workflow.budget.tokens = 5;
  sequential({step_of("c", CallWorkflow{"c.yaml", value(Json::object())})});
  begin();
  feed(fact::ChildOpened{at("c").id, "r.c"});
  feed(fact::ChildReported{.node = at("c").id, .usage = {.tokens = 5}});
  EXPECT_EQ(all<command::PauseChild>().size(), 1U);
}

TEST_F(MachineTest, ADeadlineStopsALoopAndFailsIt) {
  Step l = loop_of("l", 3, {handler("a")});
  l.deadline = Milliseconds(5'000);
  sequential({l});
  begin();
  wait(Milliseconds(5'000));
  ASSERT_EQ(all<command::StopAttempt>().size(), 1U);
  end("l[1].a", 143);
  EXPECT_EQ(at("l").record.reason, StepReason::timed_out);
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

TEST_F(MachineTest, AMapWhoseDeadlinePassedCanContinueTheRun) {
  Step m = map_of("m", {1, 2}, {handler("a")});
  m.deadline = Milliseconds(5'000);
  m.on_deadline = OnTimeout::go_on;
  sequential({m, handler("b")});
  begin();
  wait(Milliseconds(5'000));
  end("m[0].a", 143);
  EXPECT_EQ(status("m"), StepStatus::completed);
  EXPECT_EQ(started().back(), "b");
}

TEST_F(MachineTest, RunsOfOlderProgramsResume) {
  sequential({handler("a"), map_of("m", {"x", "y"}, {handler("w")}), handler("b")});
  RunState old;
  StepRecord done;
  done.status = StepStatus::completed;
  done.attempts = 1;
  done.output = "text";
  StepRecord map;
  map.status = StepStatus::interrupted;
  map.map = MapProgress{.total = 2, .items_hash = "", .done = {}, .failed = {}};
  map.map->done.add(0);
  old.steps = {{"a", done}, {"m", map}};
  old.usage.tokens = 9;
  durable = text_of(old);
  crash_and_resume(false, true);
  EXPECT_EQ(started(), Paths{"m[1].w"});
  EXPECT_EQ(s.usage.tokens, 9U);
}

/// An output that is loaded when the end of the run is recorded leads to nothing more.
TEST_F(MachineTest, NothingIsRecordedAfterTheEndOfTheRun) {
  Step m = map_of("m", {0}, {handler("a")});
  sequential({m, handler("b")});
  begin();
  end("m[0].a");
  feed(fact::Interrupted{"SIGTERM"});
  end("b", 143);
  ASSERT_TRUE(finish());
  const std::size_t before = journal.size();
  feed(fact::OutputLoaded{.node = at("m").id, .output = json("[]")});
  EXPECT_EQ(journal.size(), before);
}

/// What was begun before the map had too many failures continues after a crash, and nothing else does.
TEST_F(MachineTest, AStoppedMapFinishesTheItemsThatWereBegun) {
  Step m = map_of("m", {1, 2, 3}, {handler("a"), handler("b")});
  std::get<Map>(m.work).parallel = 2;
  std::get<Map>(m.work).max_failures = 0;
  sequential({m});
  begin();
  end("m[1].a");
  end("m[0].a", 1);
  wait(Milliseconds(10));  // until the failure is saved
  crash_and_resume(true);
  EXPECT_EQ(started(), Paths{"m[1].b"});
}

TEST_F(MachineTest, ARunThatFailsDoesNotWaitForALargerBudget) {
  workflow.budget.tokens = 10;
  sequential({handler("a"), handler("b")});
  begin();
  end("a", 1, {}, {.usage = {.tokens = 20}});
  ASSERT_TRUE(finish());
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

/// Results of a map are loaded when something uses them. What a gate shows must not depend on that.
TEST_F(MachineTest, TheBindingOfAGateDoesNotDependOnWhatIsInMemory) {
  stays = true;
  Step uses = handler("h");
  uses.when = expression("steps.m.output != null");
  workflow.steps = {map_of("m", {1}, {handler("a")}), uses, gate("g")};
  workflow.steps[1].after = {0};
  workflow.steps[2].after = {0, 1};
  begin();
  end("m[0].a");
  for (const auto& load : all<command::LoadOutput>())
    feed(fact::OutputLoaded{.node = load.node, .output = json(R"([{"index":0}])")});
  end("h");
  ASSERT_EQ(all<command::Ask>().size(), 1U);
  const std::string before = all<command::Ask>()[0].binding;
  crash_and_resume();
  ASSERT_EQ(all<command::Ask>().size(), 1U);
  EXPECT_EQ(all<command::Ask>()[0].binding, before);
}

}  // namespace
}  // namespace pawl::machine
