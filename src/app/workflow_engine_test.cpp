// Workflows run by programs on a real store, and every refusal of the recovery decision tree.
#include <gtest/gtest.h>
#include <pawl/workflow.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "app/compose.hpp"
#include "base/result.hpp"
#include "ports/store.hpp"

namespace pawl {
namespace {

constexpr const char* kTwoSteps =
    "name: two\n"
    "retry: { attempts: 1 }\n"
    "steps:\n"
    "  - { id: first, handler: first }\n"
    "  - { id: second, handler: second, with: { of: \"${steps.first.output}\" } }\n"
    "outputs: { sum: \"${steps.second.output}\" }\n";

Handler answers(std::string output, std::atomic<int>* calls = nullptr) {
  return [output = std::move(output), calls](const HandlerCall&) -> Result<HandlerResult> {
    if (calls != nullptr) ++*calls;
    return HandlerResult{.output = output};
  };
}

Handler fails() {
  return [](const HandlerCall&) -> Result<HandlerResult> {
    return std::unexpected(Error{Code::step_failed, "broken", {}, {}, 0});
  };
}

class Engine : public ::testing::Test {
 protected:
  Engine() {
    handlers_.add("first", answers("1", &first_calls_));
    handlers_.add("second", answers("2"));
  }
  ~Engine() override { std::filesystem::remove_all(folder_); }

  /// Leaves a run whose second step failed.
  void leave_failed() {
    handlers_.add("second", fails());
    EXPECT_EQ(engine_.run_text("r", kTwoSteps)->status, WorkflowStatus::failed);
  }
  [[nodiscard]] Code refusal(const ResumeOptions& options) {
    const Result<WorkflowSummary> summary = engine_.resume("r", options);
    return summary ? Code{} : summary.error().code;
  }

  static std::string fresh_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-engine-XXXXXX").string();
    return ::mkdtemp(pattern.data());
  }

  const std::string folder_ = fresh_folder();
  Pawl pawl_ = std::move(*Pawl::open(folder_ + "/store"));
  HandlerRegistry handlers_;
  std::atomic<int> first_calls_ = 0;
  std::vector<std::string> heard_;
  WorkflowEngine engine_{pawl_, handlers_, {.observer = [this](const RunEventView& event) {
                           heard_.push_back(fmt::format("{} {}", event.type, event.step));
                         }}};
};

TEST_F(Engine, RunsATextWithHandlers) {
  const Result<WorkflowSummary> summary = engine_.run_text("r", kTwoSteps);
  ASSERT_TRUE(summary) << describe(summary.error());
  EXPECT_EQ(summary->status, WorkflowStatus::completed) << summary->error;
  EXPECT_EQ(summary->outputs, R"({"sum":2})");
  EXPECT_EQ(summary->steps_completed, 2U);
  EXPECT_NE(std::ranges::find(heard_, "step_completed second"), heard_.end());
  EXPECT_EQ(heard_.back(), "run_completed ");
}

TEST_F(Engine, RunsAFileWithVariablesAndCommands) {
  std::ofstream(folder_ + "/w.yaml") << "name: w\nvars: { who: null }\nsteps:\n  - { id: say, run: \"echo hello "
                                        "${vars.who}\", capture: { format: text } }\n"
                                        "outputs: { said: \"${steps.say.output}\" }\n";
  const Result<WorkflowSummary> summary = engine_.run_file("r", folder_ + "/w.yaml", R"({"who":"world"})");
  ASSERT_TRUE(summary) << describe(summary.error());
  EXPECT_EQ(summary->outputs, R"({"said":"hello world"})");
  EXPECT_EQ(engine_.run_file("s", folder_ + "/w.yaml").error().code, Code::invalid_variable);
  EXPECT_EQ(engine_.run_file("s", folder_ + "/w.yaml", "[]").error().code, Code::invalid_variable);
  EXPECT_EQ(engine_.run_file("r", folder_ + "/w.yaml", R"({"who":"x"})").error().code, Code::run_exists);
}

TEST_F(Engine, AResumeKeepsWhatIsDone) {
  leave_failed();
  handlers_.add("second", answers("7"));
  const Result<WorkflowSummary> summary = engine_.resume("r", {.workflow_text = kTwoSteps});
  ASSERT_TRUE(summary) << describe(summary.error());
  EXPECT_EQ(summary->status, WorkflowStatus::completed);
  EXPECT_EQ(summary->outputs, R"({"sum":7})");
  EXPECT_EQ(summary->steps_kept, 1U);
  EXPECT_EQ(first_calls_, 1);
}

TEST_F(Engine, AnOverrideCountsForOneResume) {
  leave_failed();
  ResumeOptions options{.workflow_text = kTwoSteps};
  options.handlers_override["second"] = fails();
  EXPECT_EQ(engine_.resume("r", options)->status, WorkflowStatus::failed);
  options.handlers_override["second"] = answers("9");
  EXPECT_EQ(engine_.resume("r", options)->outputs, R"({"sum":9})");
}

TEST_F(Engine, CanBeInterruptedFromItsObserver) {
  WorkflowEngine* engine = nullptr;
  WorkflowEngine own(pawl_, handlers_, {.observer = [&](const RunEventView& event) {
                       if (event.type == "step_completed") engine->interrupt();
                     }});
  engine = &own;
  EXPECT_EQ(own.run_text("r", kTwoSteps)->status, WorkflowStatus::interrupted);
  EXPECT_EQ(engine_.resume("r", {.workflow_text = kTwoSteps})->status, WorkflowStatus::completed);
  EXPECT_EQ(first_calls_, 1);
}

TEST_F(Engine, ATextOfAnotherWorkflowIsRefused) {
  leave_failed();
  EXPECT_EQ(refusal({.workflow_text = "name: two\nsteps:\n  - { id: first, handler: first }\n"}),
            Code::workflow_changed);
  EXPECT_EQ(refusal({}), Code::usage) << "the store's copy must not be executed";
}

TEST_F(Engine, RecoveryRefusesWhatDoesNotExist) {
  EXPECT_EQ(refusal({.workflow_text = kTwoSteps}), Code::checkpoint_not_found);
}

TEST_F(Engine, RecoveryRefusesWhatIsCompleted) {
  ASSERT_TRUE(engine_.run_text("r", kTwoSteps));
  EXPECT_EQ(refusal({.workflow_text = kTwoSteps}), Code::recover_completed);
}

TEST_F(Engine, RecoveryRefusesWhatIsRunning) {
  Code while_running{};
  handlers_.add("first", [&](const HandlerCall&) -> Result<HandlerResult> {
    while_running = refusal({.workflow_text = kTwoSteps});
    return HandlerResult{};
  });
  handlers_.add("second", fails());
  ASSERT_TRUE(engine_.run_text("r", kTwoSteps));
  EXPECT_EQ(while_running, Code::run_busy);
}

TEST_F(Engine, RecoveryRefusesWhatIsBeingRecovered) {
  leave_failed();
  Code while_recovering{};
  handlers_.add("second", [&](const HandlerCall&) -> Result<HandlerResult> {
    while_recovering = refusal({.workflow_text = kTwoSteps});
    return HandlerResult{};
  });
  ASSERT_TRUE(engine_.resume("r", {.workflow_text = kTwoSteps}));
  EXPECT_EQ(while_recovering, Code::recovery_in_progress);
}

TEST_F(Engine, RecoveryRefusesWhenRetriesAreExhausted) {
  leave_failed();
  ResumeOptions options{.workflow_text = kTwoSteps, .by = ResumeBy::automatic, .retries_max = 0};
  EXPECT_EQ(refusal(options), Code::retries_exhausted);
  options.by = ResumeBy::person;
  handlers_.add("second", answers("2"));
  const Result<WorkflowSummary> summary = engine_.resume("r", options);
  ASSERT_TRUE(summary) << describe(summary.error());
  EXPECT_EQ(summary->status, WorkflowStatus::completed);
}

TEST_F(Engine, RecoveryRefusesWithoutItsHandler) {
  leave_failed();
  HandlerRegistry fewer;
  fewer.add("first", answers("1"));
  WorkflowEngine engine(pawl_, fewer);
  EXPECT_EQ(engine.resume("r", {.workflow_text = kTwoSteps}).error().code, Code::handler_not_registered);
  EXPECT_EQ(engine.run_text("s", kTwoSteps).error().code, Code::handler_not_registered);
}

TEST_F(Engine, RecoveryRefusesABrokenChain) {
  // A clean close publishes everything, so removing the journal loses nothing. Then the differences are removed.
  {
    Pawl other = std::move(*Pawl::open(folder_ + "/broken"));
    WorkflowEngine engine(other, handlers_);
    handlers_.add("second", fails());
    ASSERT_TRUE(engine.run_text("r", kTwoSteps));
  }
  std::filesystem::remove_all(folder_ + "/broken/journal");
  ASSERT_TRUE(std::filesystem::remove(folder_ + "/broken/runs/r/checkpoints/checkpoint_00001.jsonl"));
  Pawl other = std::move(*Pawl::open(folder_ + "/broken"));
  WorkflowEngine engine(other, handlers_);
  const Result<WorkflowSummary> summary = engine.resume("r", {.workflow_text = kTwoSteps});
  ASSERT_FALSE(summary);
  // The remaining checkpoint would run recorded steps again, which was not allowed.
  EXPECT_EQ(summary.error().code, Code::fallback_reruns) << describe(summary.error());
  EXPECT_NE(summary.error().message.find("are missing"), std::string::npos) << describe(summary.error());
}

}  // namespace
}  // namespace pawl
