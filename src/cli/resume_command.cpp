#include "cli/command.hpp"
#include "cli/run_status.hpp"
#include "cli/workflow_session.hpp"

namespace pawl::cli {
namespace {

struct ResumeArguments {
  std::string run;
  std::string workflow;
  bool accept_changes = false;
  bool wait = false;
  std::vector<std::string> vars;
  std::optional<double> budget_usd;
  std::optional<std::uint64_t> budget_tokens;
};

Result<RunId> only_resumable(const Invocation& invocation) {
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> runs, resumable_runs(*store));
  if (runs.size() == 1) return runs.front().id;
  if (runs.empty())
    return fail(Error{Code::nothing_to_resume, "no run of this store can be resumed", {}, "`pawl list` shows all runs; `pawl run FILE` starts one", 0});
  std::string names;
  for (const RunInfo& run : runs) names += fmt::format("\n  {}  {}", run.id.text(), age(run.updated, invocation.context().clock.now()));
  return fail(Error{Code::nothing_to_resume, fmt::format("{} runs can be resumed; name one:{}", runs.size(), names), {}, fmt::format("pawl resume {}", runs.front().id.text()), 0});
}

Result<void> resume(const Invocation& invocation, const ResumeArguments& arguments) {
  Result<RunId> id = arguments.run.empty() ? only_resumable(invocation) : RunId::parse(arguments.run);
  if (!id) return fail(id.error());
  ResumeRequest request{.id = *id};
  if (!arguments.workflow.empty()) request.workflow_file = absolute_path(invocation.context(), arguments.workflow);
  request.changes = arguments.accept_changes ? Changes::accept : Changes::refuse;
  if (arguments.budget_usd || arguments.budget_tokens) {
    request.budget = Json::object();
    if (arguments.budget_usd) request.budget["usd"] = *arguments.budget_usd;
    if (arguments.budget_tokens) request.budget["tokens"] = *arguments.budget_tokens;
  }
  for (const std::string& text : arguments.vars) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Error{Code::invalid_variable, fmt::format("'{}' is not of the form NAME=VALUE", text), {}, "write --var NAME=VALUE", 0});
    request.given[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return resume_workflow(invocation, request, {.waiting = arguments.wait ? Waiting::stay : Waiting::leave});
}

}  // namespace

Command add_resume(CLI::App& root) {
  const auto arguments = std::make_shared<ResumeArguments>();
  CLI::App* app = root.add_subcommand("resume", "Go on with a run that crashed, failed, waited or was interrupted");
  app->group(kWorkflowGroup);
  app->add_option("RUN", arguments->run, "The run; without it, the only one that can be resumed")->type_name("");
  app->add_option("--workflow", arguments->workflow, "The workflow's file, where it has moved")->type_name("FILE");
  app->add_flag("--accept-changes", arguments->accept_changes, "Go on although the workflow has changed; unchanged completed steps are kept");
  app->add_flag("--wait", arguments->wait, "Stay while approvals or signals are missing");
  app->add_option("--var", arguments->vars, "The value of a key that is not saved (secrets.state_keys)")->type_name("KEY=VALUE")->expected(1)->take_all();
  app->add_option("--budget-usd", arguments->budget_usd, "A new limit for the whole run")->type_name("USD")->check(CLI::NonNegativeNumber);
  add_number(*app, "--budget-tokens", arguments->budget_tokens, "A new limit for the whole run")->type_name("N");
  app->footer(
      "Examples:\n"
      "  pawl resume                   the only run that can be resumed, or a list of them\n"
      "  pawl resume notes-k3f9\n"
      "\n"
      "Completed steps are not run again; one that was running is, with the same $PAWL_IDEMPOTENCY_KEY.");
  return {app, [arguments](const Invocation& invocation) { return resume(invocation, *arguments); }};
}

}  // namespace pawl::cli
