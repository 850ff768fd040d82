#include "engine/dead_letters.hpp"

#include <gtest/gtest.h>

#include "engine/open_run.hpp"
#include "engine/save.hpp"
#include "testing/memory_under_test.hpp"

namespace pawl::testing {
namespace {

constexpr std::uint64_t kItemsStateBytesMax = 100'000;

RunId mapped(std::string_view text) { return *RunId::parse(text); }

IndexRanges ranges(std::string_view text) { return *IndexRanges::parse(text); }

StepRecord completed() {
  StepRecord record;
  record.status = StepStatus::completed;
  return record;
}

StepRecord map_record(std::string_view done, std::string_view failed) {
  StepRecord record = completed();
  record.output = "result";
  record.map =
      MapProgress{.total = 10, .items_hash = "sha256:x", .done = ranges(done), .failed = ranges(failed), .trips = 2};
  return record;
}

/// Five steps: a, pages, then left and right after pages, then last after right.
Workflow small_workflow() {
  Workflow workflow;
  workflow.hash = "sha256:w";
  const std::vector<std::pair<std::string, std::vector<std::size_t>>> steps = {
      {"a", {}}, {"pages", {0}}, {"left", {1}}, {"right", {1}}, {"last", {3}}, {"aside", {0}}};
  for (const auto& [name, after] : steps) {
    Step step;
    step.id = name;
    step.after = after;
    workflow.steps.push_back(std::move(step));
  }
  return workflow;
}

class DeadLetters : public ::testing::Test {
 protected:
  DeadLetters() {
    state_.workflow_hash = "sha256:w";
    state_.status = RunStatus::completed;
    state_.completed_steps = 15;
    state_.steps = {{"a", completed()},
                    {"pages", map_record("0-9", "3,7")},
                    {"pages[3].write", {}},
                    {"pages[4].write", {}},
                    {"pages.reduce", completed()},
                    {"left", completed()},
                    {"right", completed()},
                    {"last", completed()},
                    {"last[1].inner", completed()},
                    {"lasting", completed()},
                    {"aside", completed()}};
  }

  void save(std::vector<NewEvent> events = {}) {
    Json value = state_.to_json();
    value["events"] = 4;
    const std::string text = compact(value);
    SaveRequest request;
    request.body = text;
    request.kind = Kind::workflow_complete;
    request.status = Status::completed;
    request.events = std::move(events);
    ASSERT_TRUE(checked_save(**store_->open_run(mapped("r"), {}), request, kItemsStateBytesMax));
  }
  Result<ChangedLetters> retry(const LetterChoice& choice, Dependents dependents = Dependents::keep) {
    return retry_letters(
        *store_, mapped("r"), choice, dependents, [](const std::string&) { return Result<Workflow>(small_workflow()); },
        kItemsStateBytesMax);
  }
  RunState saved() { return *load_state(*store_, mapped("r")); }
  std::vector<std::string> paths() {
    std::vector<std::string> out;
    for (const auto& [path, record] : saved().steps) out.push_back(path);
    return out;
  }
  static Code code_of(const auto& result) { return result ? Code{} : result.error().code; }

  RunState state_;
  MemoryUnderTest memory_;
  std::unique_ptr<Store> store_ = memory_.open();
};

TEST_F(DeadLetters, TheNewestFailureOfEachIsTold) {
  save({{"item_failed", R"({"step":"pages","index":3,"item":"d","error":"old","attempts":1})"},
        {"item_failed", R"({"step":"pages","index":3,"item":"d","error":"new","attempts":2})"},
        {"item_failed", R"({"step":"pages","index":4,"item":"e","error":"since mended","attempts":1})"},
        {"item_failed", R"({"step":5,"index":"x"})"},
        {"item_failed", R"({"step":"other","index":7,"item":"x","error":"of another map"})"}});
  const auto letters = dead_letters(*store_, mapped("r"), "");
  ASSERT_EQ(letters->size(), 2U);
  EXPECT_EQ(letters->front().index, 3U);
  EXPECT_EQ(letters->front().error, "new");
  EXPECT_EQ(letters->front().attempts, 2U);
  EXPECT_EQ(letters->front().item, "d");
  EXPECT_EQ(letters->back().index, 7U);
  EXPECT_EQ(letters->back().error, "") << "its event is missing; it is listed all the same";
  EXPECT_EQ(code_of(dead_letters(*store_, mapped("r"), "left")), Code::step_not_found);
}

TEST_F(DeadLetters, ARetryReopensTheMapAndItsReduce) {
  save();
  const auto changed = retry({.indices = ranges("3")});
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->step, "pages");
  EXPECT_EQ(changed->indices, std::vector<std::uint64_t>{3});
  const RunState state = saved();
  const StepRecord& map = *state.find("pages");
  EXPECT_EQ(map.status, StepStatus::interrupted);
  EXPECT_EQ(map.map->done.text(), "0-2,4-9");
  EXPECT_EQ(map.map->failed.text(), "7");
  EXPECT_EQ(map.map->trips, 0U);
  EXPECT_TRUE(map.output.is_null());
  EXPECT_EQ(state.status, RunStatus::interrupted);
  EXPECT_EQ(paths(), std::vector<std::string>({"a", "pages", "pages[3].write", "pages[4].write", "left", "right",
                                               "last", "last[1].inner", "lasting", "aside"}));
  EXPECT_EQ(state.completed_steps, 13U) << "without the map and its reduce";
  EXPECT_EQ(store_->run(mapped("r"))->status, Status::active);
  EXPECT_EQ(Json::parse(store_->restore(mapped("r"), {})->state)["events"], 5);
  const Event event = store_->events(mapped("r"), 0, 10)->back();
  EXPECT_EQ(event.type, "dlq_retried");
  EXPECT_EQ(Json::parse(event.data)["indices"], Json({3}));
}

TEST_F(DeadLetters, DependentsAreForgottenOnRequest) {
  save();
  const auto changed = retry({.scope = LetterChoice::Scope::all}, Dependents::rerun);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->indices, std::vector<std::uint64_t>({3, 7}));
  EXPECT_EQ(changed->dependents, std::vector<std::string>({"left", "right", "last", "last[1].inner"}));
  EXPECT_EQ(paths(), std::vector<std::string>({"a", "pages", "pages[3].write", "pages[4].write", "lasting", "aside"}));
}

TEST_F(DeadLetters, StepsThatDependentsAddedAreForgottenWithThem) {
  state_.added = {{"right", Json::array({{{"id", "lasting"}, {"run", "true"}}})},
                  {"a", Json::array({{{"id", "aside"}, {"run", "true"}}})}};
  save();
  ASSERT_TRUE(retry({.scope = LetterChoice::Scope::all}, Dependents::rerun));
  EXPECT_EQ(paths(), std::vector<std::string>({"a", "pages", "pages[3].write", "pages[4].write", "aside"}));
  ASSERT_EQ(saved().added.size(), 1U);
  EXPECT_EQ(saved().added.front().after, "a");
}

TEST_F(DeadLetters, WithAChangedWorkflowDependentsAreNotKnown) {
  state_.workflow_hash = "sha256:other";
  save();
  EXPECT_EQ(code_of(retry({.scope = LetterChoice::Scope::all}, Dependents::rerun)), Code::workflow_changed);
  EXPECT_EQ(saved().status, RunStatus::completed);
}

TEST_F(DeadLetters, OnlyDeadLettersCanBeRetried) {
  save();
  EXPECT_EQ(code_of(retry({.indices = ranges("3-4")})), Code::not_waiting);
  EXPECT_EQ(code_of(retry({.step = "left", .indices = ranges("3")})), Code::step_not_found);
  EXPECT_EQ(store_->run(mapped("r"))->latest, Sequence{1});
  state_.steps.push_back({"more", map_record("0-9", "1")});
  save();
  EXPECT_EQ(code_of(retry({.scope = LetterChoice::Scope::all})), Code::usage) << "two maps have some";
  state_.status = RunStatus::cancelled;
  save();
  EXPECT_EQ(code_of(retry({.step = "pages", .indices = ranges("3")})), Code::run_ended);
}

TEST_F(DeadLetters, ARunThatIsExecutedIsLeftAlone) {
  save();
  const auto other = memory_.open();
  const auto held = other->open_run(mapped("r"), {});
  EXPECT_EQ(code_of(retry({.scope = LetterChoice::Scope::all})), Code::run_busy);
}

TEST_F(DeadLetters, ADroppedLetterStaysDone) {
  save();
  const auto changed = drop_letters(*store_, mapped("r"), {.indices = ranges("7")}, kItemsStateBytesMax);
  ASSERT_TRUE(changed);
  const RunState state = saved();
  EXPECT_EQ(state.find("pages")->map->failed.text(), "3");
  EXPECT_EQ(state.find("pages")->map->done.text(), "0-9");
  EXPECT_EQ(state.find("pages")->status, StepStatus::completed);
  EXPECT_EQ(state.status, RunStatus::completed);
  EXPECT_EQ(store_->run(mapped("r"))->status, Status::completed);
  EXPECT_EQ(store_->run(mapped("r"))->kind, Kind::workflow_complete);
  EXPECT_EQ(store_->events(mapped("r"), 0, 10)->back().type, "dlq_dropped");
  EXPECT_EQ(code_of(drop_letters(*store_, mapped("r"), {.indices = ranges("7")}, kItemsStateBytesMax)),
            Code::not_waiting);
}

}  // namespace
}  // namespace pawl::testing
