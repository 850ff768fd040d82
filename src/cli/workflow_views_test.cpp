// How runs of workflows are shown: show, list and logs.
#include <algorithm>

#include "testing/workflow_cli_fixture.hpp"

namespace pawl::testing {
namespace {

class WorkflowViews : public WorkflowCliTest {};

constexpr const char* kFailing =
    "name: notes\n"
    "steps:\n"
    "  - { id: gather, run: 'echo gathered; echo careful >&2', capture: { format: text } }\n"
    "  - { id: maybe, run: 'true', when: 'false' }\n"
    "  - { id: deploy, run: 'echo trying; exit 4', retry: { attempts: 2, backoff: 1ms } }\n"
    "  - { id: publish, run: 'true' }\n";

constexpr const char* kMap =
    "name: book\n"
    "steps:\n"
    "  - id: pages\n"
    "    map: { items: [10, 20, 30], parallel: 3, on_item_failure: dlq }\n"
    "    steps: [ { id: write, run: 'echo page ${item}; test ${index} -ne 1' } ]\n"
    "  - id: improve\n"
    "    loop: { max: 2 }\n"
    "    steps: [ { id: score, run: 'echo better' } ]\n";

nlohmann::json step_of(const nlohmann::json& shown, const std::string& id) {
  for (const nlohmann::json& step : shown.at("steps")) {
    if (step.at("id") == id) return step;
  }
  return nullptr;
}

TEST_F(WorkflowViews, ShowTellsEachStepAndWhatToTypeNext) {
  EXPECT_EQ(run_workflow("r1", kFailing).status, 1);
  const CliResult shown = pawl({"show", "r1"});
  EXPECT_NE(shown.out.find("Run:       r1\n"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("Status:    failed\n"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("\n✓ gather   "), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("\n– maybe    skipped: `when: false` is false\n"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("2 attempts, exit status 4\n"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("\n· publish  pending\n"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("Next:      pawl logs r1 deploy\n           pawl resume r1\n"), std::string::npos)
      << shown.out;
  EXPECT_LT(shown.out.find("gather"), shown.out.find("maybe"));
}

TEST_F(WorkflowViews, ShowAsJsonIsOneDocument) {
  EXPECT_EQ(run_workflow("r1", kFailing).status, 1);
  const nlohmann::json shown = pawl({"show", "r1", "--json"}).json();
  EXPECT_EQ(shown.at("run"), "r1");
  EXPECT_EQ(shown.at("workflow"), "notes");
  EXPECT_EQ(shown.at("status"), "failed");
  EXPECT_EQ(shown.at("waiting_for"), nlohmann::json::array());
  EXPECT_EQ(shown.at("latest").at("sequence"), shown.at("sequence"));
  ASSERT_EQ(shown.at("steps").size(), 4U);
  EXPECT_EQ(shown.at("steps")[0].at("id"), "gather");
  EXPECT_EQ(step_of(shown, "gather").at("output"), "gathered");
  EXPECT_EQ(step_of(shown, "gather").at("status"), "completed");
  EXPECT_EQ(step_of(shown, "maybe").at("status"), "skipped");
  EXPECT_EQ(step_of(shown, "deploy").at("attempts"), 2);
  EXPECT_EQ(step_of(shown, "deploy").at("exit_code"), 4);
  EXPECT_EQ(step_of(shown, "deploy").at("error"), "exit status 4");
  EXPECT_EQ(step_of(shown, "publish").at("status"), "pending");
  EXPECT_TRUE(step_of(shown, "publish").at("started").is_null());
}

TEST_F(WorkflowViews, ShowCountsItemsAndListsThemOnlyWithAll) {
  EXPECT_EQ(run_workflow("r1", kMap).status, 0);
  const nlohmann::json shown = pawl({"show", "r1", "--json"}).json();
  EXPECT_EQ(step_of(shown, "pages").at("total"), 3);
  EXPECT_EQ(step_of(shown, "pages").at("succeeded"), 2);
  EXPECT_EQ(step_of(shown, "pages").at("failed"), 1);
  EXPECT_TRUE(step_of(shown, "pages[1]").is_null());
  EXPECT_TRUE(step_of(shown, "improve[1].score").is_null());
  const nlohmann::json all = pawl({"show", "r1", "--json", "--all"}).json();
  EXPECT_EQ(step_of(all, "pages[1]").at("status"), "failed");
  EXPECT_EQ(step_of(all, "pages[2]").at("status"), "completed");
  EXPECT_EQ(step_of(all, "improve[1].score").at("status"), "completed");
  EXPECT_NE(pawl({"show", "r1"}).out.find("2 succeeded, 1 failed (3 items)"), std::string::npos);
  EXPECT_NE(pawl({"show", "r1"}).out.find("Next:      pawl dlq list r1\n"), std::string::npos);
  EXPECT_NE(pawl({"show", "r1", "--events"}).out.find("run_completed"), std::string::npos);
}

TEST_F(WorkflowViews, AGateThatWaitsIsShownWithItsPrompt) {
  EXPECT_EQ(run_workflow("r1", "name: g\nsteps:\n  - { id: review, approve: 'Publish?' }\n").status, 3);
  const CliResult shown = pawl({"show", "r1"});
  EXPECT_NE(shown.out.find("needs approval: Publish?"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("pawl approve r1 review\n"), std::string::npos) << shown.out;
  const nlohmann::json json = pawl({"show", "r1", "--json"}).json();
  EXPECT_EQ(json.at("status"), "waiting");
  EXPECT_EQ(json.at("waiting_for")[0].at("what"), "approval");
  EXPECT_EQ(json.at("waiting_for")[0].at("prompt"), "Publish?");
  EXPECT_NE(pawl({"list"}).out.find("waiting"), std::string::npos);
}

TEST_F(WorkflowViews, ABreakpointWaitsForAResume) {
  EXPECT_EQ(run_workflow("before", "name: g\nsteps:\n  - { id: a, run: 'true', break: before }\n").status, 3);
  EXPECT_EQ(pawl({"show", "before", "--json"}).json().at("waiting_for")[0].at("what"), "breakpoint");
  EXPECT_NE(pawl({"show", "before"}).out.find("\n◷ a  breakpoint\n\nNext:      pawl resume before\n"),
            std::string::npos)
      << pawl({"show", "before"}).out;
  EXPECT_EQ(
      run_workflow("after", "name: g\nsteps:\n  - { id: a, run: 'true', break: after }\n  - { id: b, run: 'true' }\n")
          .status,
      3);
  EXPECT_EQ(pawl({"show", "after", "--json"}).json().at("waiting_for")[0].at("what"), "breakpoint");
}

TEST_F(WorkflowViews, ABudgetIsShownWithItsLimits) {
  const char* const spends =
      "name: g\nbudget: { usd: 1, tokens: 90000 }\nsteps:\n"
      "  - { id: a, run: 'echo \"{\\\"cost_usd\\\": 1.5, \\\"tokens\\\": 1200}\" >> $PAWL_RESULT' }\n"
      "  - { id: b, run: 'true' }\n";
  const CliResult stopped = run_workflow("r1", spends);
  EXPECT_EQ(stopped.status, 3);
  EXPECT_NE(stopped.err.find("budget exceeded: 1.50 of 1.00 USD (1,200 tokens)"), std::string::npos) << stopped.err;
  EXPECT_NE(pawl({"show", "r1"}).out.find("1.50 of 1.00 USD, 1,200 of 90,000 tokens\n"), std::string::npos);
  EXPECT_EQ(pawl({"resume", "r1", "--budget-usd", "8"}).status, 0);
  const nlohmann::json shown = pawl({"show", "r1", "--json"}).json();
  EXPECT_EQ(shown.at("budget"), nlohmann::json({{"usd", 8}, {"tokens", 90'000}}));
}

TEST_F(WorkflowViews, ResumingACheckpointNamesTheCommandsThatWereMeant) {
  EXPECT_EQ(run_workflow("r1", kFailing).status, 1);
  const CliResult refused = pawl({"resume", "r1@step:gather"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("pawl fork r1@step:gather"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("pawl rollback r1@step:gather"), std::string::npos) << refused.err;
}

TEST_F(WorkflowViews, TheLabelsOfACheckpointFitATerminal) {
  std::string steps;
  for (int i = 10; i < 60; ++i) steps += "  - { id: step" + std::to_string(i) + ", needs: [], run: 'true' }\n";
  EXPECT_EQ(run_workflow("r1", "name: g\nsteps:\n" + steps).status, 0);
  const std::string piped = pawl({"show", "r1", "--checkpoints"}).out;
  EXPECT_NE(piped.find("step10, step11, step12, step13"), std::string::npos) << piped;
  terminal_ = true;
  const std::string table = pawl({"show", "r1", "--checkpoints"}).out;
  EXPECT_NE(table.find("  step10, step11 +48\n"), std::string::npos) << table;
  const std::string first = pawl({"show", "r1@1"}).out;
  EXPECT_NE(first.find("\nAlso:        step_start of steps step10, step11, "), std::string::npos) << first;
  const std::size_t end = first.find("\nState:");
  ASSERT_NE(end, std::string::npos) << first;
  for (std::size_t at = 0; at < end; at = first.find('\n', at) + 1)
    EXPECT_LE(first.find('\n', at) - at, columns_) << first;
}

TEST_F(WorkflowViews, ACrashedRunIsInterrupted) {
  RunState state;
  state.workflow_name = "left";
  StepRecord running;
  running.status = StepStatus::running;
  state.steps = {{"gather", running}};
  leave_behind("r1", state);
  const nlohmann::json shown = pawl({"show", "r1", "--json"}).json();
  EXPECT_EQ(shown.at("status"), "interrupted");
  EXPECT_EQ(shown.at("steps")[0].at("status"), "interrupted");
  EXPECT_EQ(pawl({"list", "--json"}).json()[0].at("status"), "interrupted");
  EXPECT_NE(pawl({"show", "r1"}).out.find("pawl resume r1"), std::string::npos);
  // While a process owns the run, it is shown as running.
  const std::unique_ptr<Store> store = other_handle();
  const auto writer = store->open_run(*RunId::parse("r1"), {});
  ASSERT_TRUE(writer.has_value());
  EXPECT_EQ(pawl({"show", "r1", "--json"}).json().at("status"), "running");
  EXPECT_EQ(pawl({"list", "--resumable", "--json"}).json(), nlohmann::json::array());
}

TEST_F(WorkflowViews, ListGivesTheStatusOfWorkflowsAndWhatCanBeResumed) {
  EXPECT_EQ(run_workflow("good", "name: g\nsteps:\n  - { id: a, run: 'true' }\n").status, 0);
  EXPECT_EQ(run_workflow("bad", "name: g\nsteps:\n  - { id: a, run: 'false' }\n").status, 1);
  pawl({"save", "plain"}, "{}");
  const nlohmann::json all = pawl({"list", "--json"}).json();
  ASSERT_EQ(all.size(), 3U);
  for (const nlohmann::json& row : all) {
    const std::string wanted = row.at("run") == "good" ? "completed" : row.at("run") == "bad" ? "failed" : "active";
    EXPECT_EQ(row.at("status"), wanted) << row;
  }
  const nlohmann::json resumable = pawl({"list", "--resumable", "--json"}).json();
  ASSERT_EQ(resumable.size(), 1U);
  EXPECT_EQ(resumable[0].at("run"), "bad");
}

TEST_F(WorkflowViews, LogsOfOneStepAreAsTheyWerePrinted) {
  EXPECT_EQ(run_workflow("r1", kFailing).status, 1);
  EXPECT_EQ(pawl({"logs", "r1", "deploy"}).out, "trying\ntrying\n");
  EXPECT_EQ(pawl({"logs", "r1", "deploy", "--attempt", "2"}).out, "trying\n");
  const CliResult all = pawl({"logs", "r1"});
  EXPECT_NE(all.out.find("gather | gathered\n"), std::string::npos) << all.out;
  EXPECT_NE(all.out.find("gather | careful\n"), std::string::npos) << all.out;
  EXPECT_EQ(pawl({"logs", "r1", "-f", "deploy"}).out, "trying\ntrying\n");
}

TEST_F(WorkflowViews, LogsOfAMapAreThoseOfItsItems) {
  EXPECT_EQ(run_workflow("r1", kMap).status, 0);
  const CliResult pages = pawl({"logs", "r1", "pages"});
  for (const char* line : {"pages[0].write | page 10\n", "pages[1].write | page 20\n", "pages[2].write | page 30\n"})
    EXPECT_NE(pages.out.find(line), std::string::npos) << pages.out;
  EXPECT_EQ(pages.out.find("better"), std::string::npos);
  EXPECT_EQ(pawl({"logs", "r1", "pages[1].write"}).out, "page 20\n");
  EXPECT_EQ(pawl({"logs", "r1", "pages[1]"}).out, "page 20\n");
  const nlohmann::json line = pawl({"logs", "r1", "pages[2]", "--json"}).json();
  EXPECT_EQ(line.at("step"), "pages[2].write");
  EXPECT_EQ(line.at("line"), "page 30");
  EXPECT_EQ(line.at("attempt"), 1);
}

TEST_F(WorkflowViews, LogsSayWhatIsMissing) {
  EXPECT_EQ(run_workflow("r1", kFailing).status, 1);
  const CliResult unknown = pawl({"logs", "r1", "deplyo"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("PAWL-0104"), std::string::npos) << unknown.err;
  EXPECT_NE(unknown.err.find("pawl logs r1 deploy"), std::string::npos) << unknown.err;
  const CliResult nothing = pawl({"logs", "r1", "publish"});
  EXPECT_EQ(nothing.status, 0);
  EXPECT_EQ(nothing.out, "");
  EXPECT_NE(nothing.err.find("it has not run"), std::string::npos) << nothing.err;
  EXPECT_NE(pawl({"logs", "other"}).err.find("PAWL-0101"), std::string::npos);
  pawl({"save", "plain"}, "{}");
  EXPECT_NE(pawl({"logs", "plain"}).err.find("PAWL-0106"), std::string::npos);
}

TEST_F(WorkflowViews, LogsCannotSteerATerminal) {
  EXPECT_EQ(run_workflow("r1", "name: g\nsteps:\n  - { id: a, run: \"printf '\\\\033[2Jx\\\\ty'\" }\n").status, 0);
  EXPECT_EQ(pawl({"logs", "r1"}).out, "\x1b[2Jx\ty\n");
  terminal_ = true;
  EXPECT_EQ(pawl({"logs", "r1"}).out, "\\x1b[2Jx\ty\n");
}

TEST_F(WorkflowViews, ATerminalGetsTheLivePictureUnlessItIsDumb) {
  terminal_ = true;
  environment_["TERM"] = "xterm";
  const CliResult live = run_workflow("r1", "name: g\nsteps:\n  - { id: a, run: 'true' }\n");
  EXPECT_EQ(live.status, 0);
  EXPECT_NE(live.out.find("\x1b[J"), std::string::npos) << live.out;
  EXPECT_NE(live.out.find("r1 completed"), std::string::npos) << live.out;
  EXPECT_EQ(live.out.find("run r1 completed in"), std::string::npos) << live.out;
  environment_["TERM"] = "dumb";
  const CliResult plain = run_workflow("r2", "name: g\nsteps:\n  - { id: a, run: 'true' }\n");
  EXPECT_EQ(plain.out.find('\x1b'), std::string::npos) << plain.out;
  EXPECT_TRUE(plain.out.starts_with("r2\n")) << plain.out;
}

}  // namespace
}  // namespace pawl::testing
