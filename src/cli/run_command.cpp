#include "cli/command.hpp"
#include "cli/recovery.hpp"
#include "cli/workflow_session.hpp"
#include "codec/json_check.hpp"
#include "workflow/parse_workflow.hpp"

namespace pawl::cli {
namespace {

struct RunArguments {
  std::string file = "workflow.yaml";
  std::string id;
  std::vector<std::string> vars;
  std::vector<std::string> json_vars;
  std::string session;
  bool wait = false;
  bool dry_run = false;
  bool resume = false;
  bool verbose = false;
  bool detach = false;
  bool fail_on_dlq = false;
};

Error resume_needs_an_id() {
  return Error{Code::usage, "--resume requires --run-id", {}, "run: pawl run --run-id nightly --resume", 0};
}

Result<std::pair<std::string, std::string>> split_variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return fail(Error{
        Code::invalid_variable, fmt::format("--var: not NAME=VALUE: '{}'", text), {}, "pass --var NAME=VALUE", 0});
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Result<Json> given_vars(const RunArguments& arguments, const Workflow& workflow) {
  Json vars = Json::object();
  for (const std::string& text : arguments.vars) {
    PAWL_TRY_ASSIGN(const auto variable, split_variable(text));
    if (const Result<void> checked = check_json(compact(Json(variable.second)), 1ULL << 20); !checked)
      return fail(checked.error());
    PAWL_TRY_ASSIGN(vars[variable.first], value_from_text(workflow, variable.first, variable.second));
  }
  for (const std::string& text : arguments.json_vars) {
    PAWL_TRY_ASSIGN(const auto variable, split_variable(text));
    if (const Result<void> checked = check_json(variable.second, 1ULL << 20); !checked)
      return fail(at(checked.error(), fmt::format("--var-json {}", variable.first)));
    vars[variable.first] = Json::parse(variable.second, nullptr, false);
  }
  return vars;
}

Result<void> show_plan(const Invocation& invocation, const Workflow& workflow, const Json& vars) {
  PAWL_TRY_ASSIGN(const Json resolved, resolve_vars(workflow, vars));
  if (invocation.json()) {
    Json steps = Json::array();
    for (const Step& step : workflow.steps)
      steps.push_back({{"id", step.id}, {"layer", step.layer}, {"stage", step.stage}});
    invocation.print(
        compact({{"workflow", workflow.name}, {"hash", workflow.hash}, {"vars", resolved}, {"steps", steps}}) + "\n");
    return {};
  }
  invocation.print(draw_workflow(
      workflow, invocation.context().workflows->columns ? invocation.context().workflows->columns() : kColumnsDefault));
  invocation.print(fmt::format("vars: {}\nNothing was run.\n", compact(resolved)));
  return {};
}

/// The background process had nothing to do. Its own output is not shown.
void tell_already_completed(const Invocation& invocation, const RunId& id) {
  if (invocation.json()) return invocation.print(compact({{"run", id.text()}, {"log", nullptr}}) + "\n");
  invocation.print(id.text() + "\n");
  invocation.note(fmt::format("run {} has already completed", id.text()));
}

/// Says that a session can't be changed.
Result<void> note_ignored_session(const Invocation& invocation, const RunId& id, const std::string& session) {
  const Result<std::unique_ptr<Store>> store = invocation.open_store(StoreAccess::read);
  const Result<RunInfo> known = store ? (*store)->run(id) : fail(store.error());
  if (!known || known->session == session) return {};  // a new run, or the resume reports what is wrong
  invocation.note(fmt::format("--session is ignored: run {} already belongs to {}", id.text(),
                              known->session.empty() ? "no session" : fmt::format("session '{}'", known->session)));
  return {};
}

/// Returns null in the process that stays in the foreground. By then the run is durable, or could not be started.
Result<std::unique_ptr<BackgroundProcess>> go_to_background(const Invocation& invocation, const RunId& id) {
  CliContext& context = invocation.context();
  PAWL_TRY(invocation.need_checkpoints());
  PAWL_TRY(context.out.flush());
  PAWL_TRY_ASSIGN(Detached detached, context.workflows->detach());
  if (detached.background) {
    context.in_is_terminal = context.out_is_terminal = context.err_is_terminal = false;
    return std::move(detached.background);
  }
  context.status = detached.status;
  if (detached.log_path.empty()) {
    if (detached.status == 0) tell_already_completed(invocation, id);
    return nullptr;
  }
  if (invocation.json()) {
    invocation.print(compact({{"run", id.text()}, {"log", detached.log_path}}) + "\n");
  } else {
    invocation.print(id.text() + "\n");
    invocation.note(fmt::format("running in the background; output: {}", detached.log_path));
  }
  return nullptr;
}

Result<void> run(const Invocation& invocation, const RunArguments& arguments) {
  CliContext& context = invocation.context();
  if (arguments.resume && arguments.id.empty()) return fail(resume_needs_an_id());
  const LoadFor what = arguments.resume ? LoadFor::begun_run : LoadFor::new_run;
  PAWL_TRY_ASSIGN(Workflow workflow, load_workflow(context, arguments.file, what));
  PAWL_TRY_ASSIGN(Json vars, given_vars(arguments, workflow));
  if (arguments.dry_run) return show_plan(invocation, workflow, vars);
  const std::string name = arguments.id.empty() ? fresh_run_id(workflow.name, context.workflows->random) : arguments.id;
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(name));
  if (arguments.resume && !arguments.session.empty()) PAWL_TRY(note_ignored_session(invocation, id, arguments.session));
  std::vector<std::string> warnings = warnings_of(context, workflow, arguments.file);
  std::unique_ptr<BackgroundProcess> background;
  if (arguments.detach) {
    tell_warnings(invocation, std::exchange(warnings, {}));
    PAWL_TRY_ASSIGN(background, go_to_background(invocation, id));
    if (background == nullptr) return {};
  }
  PAWL_TRY(recover_crashed_runs(invocation));
  NewRun wanted{.id = id, .workflow = std::make_shared<const Workflow>(std::move(workflow)), .vars = std::move(vars)};
  wanted.session = arguments.session;
  const SessionOptions options{.waiting = arguments.wait ? Waiting::stay : Waiting::leave};
  ShowOptions show;
  show.view.step_output = arguments.verbose;
  show.fail_on_dlq = arguments.fail_on_dlq;
  show.name_resumed = arguments.resume;
  show.warnings = std::move(warnings);
  show.background = background.get();
  return arguments.resume ? start_or_resume_workflow(invocation, wanted, options, show)
                          : start_workflow(invocation, wanted, options, show);
}

}  // namespace

Command add_run(Options& root) {
  const auto arguments = std::make_shared<RunArguments>();
  Options& app = root.command("run", "Run a workflow; completed steps survive crashes");
  app.group(kWorkflowGroup).when_output_closes(ClosedOutput::ignored);
  app.text("FILE", arguments->file, "Workflow file (default: workflow.yaml)");
  app.text("--run-id", arguments->id, "Run id (default: generated); printed first").value("ID");
  app.list("--var", arguments->vars,
           "Set a variable; can be repeated. JSON, if its default is a number, boolean, list or object")
      .value("NAME=VALUE");
  app.list("--var-json", arguments->json_vars, "Set a variable to a JSON value; can be repeated").value("NAME=JSON");
  app.text("--session", arguments->session, "Session: a label that groups runs (default: none)").value("NAME");
  app.flag("--resume", arguments->resume,
           "Start the run if it does not exist, otherwise resume it; if it completed, failed or was cancelled, run "
           "nothing and exit with its status (requires --run-id)");
  app.flag("-v,--verbose", arguments->verbose, "Show the output of steps as it comes");
  app.flag("--detach", arguments->detach, "Print the run id once the run is saved, and continue in the background");
  app.flag("--fail-on-dlq", arguments->fail_on_dlq, "Exit with 1 if the run completes but items of a map failed");
  app.flag("--wait", arguments->wait, "Wait for approvals and signals (default: exit with 3)");
  app.flag("--dry-run", arguments->dry_run, "Check the workflow and show the plan; run nothing");
  app.footer(
      "Examples:\n"
      "  pawl run                                        workflow.yaml in this folder\n"
      "  pawl run notes.yaml --var topic=tides\n"
      "  pawl run notes.yaml --run-id notes-1            choose the run id\n"
      "  pawl run notes.yaml --run-id notes-1 --resume   start or resume, for cron jobs\n"
      "\n"
      "With --resume, a run that has finished keeps its status, even if the workflow\n"
      "file has changed since; --session applies to a new run only.\n"
      "\n"
      "Exit status:\n"
      "  0    completed\n"
      "  1    failed or cancelled\n"
      "  2    wrong usage or invalid workflow file; nothing was run\n"
      "  3    waiting for a person, a signal, a timer or a budget\n"
      "  4    refused: another process is running it (PAWL-0201, PAWL-0602), the\n"
      "       workflow has changed (PAWL-0208), Pawl gave up after repeated crashes\n"
      "       (PAWL-0603), or the run is damaged\n"
      "  5    storage error\n"
      "  130  interrupted\n"
      "After 1, 3, 5 and 130, continue with: pawl resume ID");
  return {&app, [arguments](const Invocation& invocation) { return run(invocation, *arguments); }};
}

}  // namespace pawl::cli
