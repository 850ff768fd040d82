#include "cli/command.hpp"
#include "cli/hints.hpp"
#include "cli/recovery_options.hpp"
#include "cli/workflow_session.hpp"
#include "service/run_status.hpp"

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
  std::string session;
  std::optional<RecoveryMode> mode;
  bool fallback = false;
  bool accept_rerun = false;
  bool skip_bad_events = false;
  bool automatic = false;
  bool verbose = false;
  bool fail_on_dlq = false;
  std::string working_dir;
};

Result<RunId> only_resumable(const Invocation& invocation) {
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> runs, resumable_runs(*store));
  if (runs.size() == 1) return runs.front().id;
  if (runs.empty())
    return fail(Error{Code::nothing_to_resume,
                      "no run can be resumed",
                      {},
                      "to list runs: pawl list; to start one: pawl run FILE",
                      0});
  return fail(Error{
      Code::nothing_to_resume,
      fmt::format("{} runs can be resumed; choose one:{}", runs.size(), candidates_text(invocation, *store, runs)),
      {},
      fmt::format("for example: pawl resume {}", runs.front().id.text()),
      0});
}

Result<ResumeRequest> request_for(const Invocation& invocation, const ResumeArguments& arguments, const RunId& id) {
  ResumeRequest request{.id = id};
  if (!arguments.workflow.empty()) request.workflow_file = absolute_path(invocation.context(), arguments.workflow);
  if (!arguments.working_dir.empty()) {
    request.working_dir = absolute_path(invocation.context(), arguments.working_dir);
    if (!invocation.context().workflows->files.is_folder(request.working_dir))
      return fail(Error{Code::usage,
                        fmt::format("no such directory: '{}'", arguments.working_dir),
                        {},
                        "pass the directory that the project is in now",
                        0});
  }
  request.changes = arguments.accept_changes ? Changes::accept : Changes::refuse;
  if (arguments.budget_usd || arguments.budget_tokens) {
    request.budget = Json::object();
    if (arguments.budget_usd) request.budget["usd"] = *arguments.budget_usd;
    if (arguments.budget_tokens) request.budget["tokens"] = *arguments.budget_tokens;
  }
  for (const std::string& text : arguments.vars) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Error{
          Code::invalid_variable, fmt::format("--var: not NAME=VALUE: '{}'", text), {}, "pass --var NAME=VALUE", 0});
    request.given[text.substr(0, equals)] = text.substr(equals + 1);
  }
  if (arguments.mode == RecoveryMode::point_in_time)
    return fail(
        Error{Code::usage,
              "a run continues from its newest checkpoint",
              {},
              fmt::format("to continue from an older one, run: pawl rollback {0}@SEQ (or pawl fork {0}@SEQ); to "
                          "list them: pawl show {0} --checkpoints",
                          id.text()),
              0});
  request.mode = arguments.mode.value_or(RecoveryMode::latest);
  PAWL_TRY_ASSIGN(request.fallback, fallback_of(invocation, arguments.fallback ? Fallback::allow : Fallback::refuse));
  request.reruns = arguments.accept_rerun ? Reruns::accept : Reruns::refuse;
  request.bad_events = arguments.skip_bad_events ? BadEvents::skip : BadEvents::refuse;
  if (arguments.automatic) {
    PAWL_TRY_ASSIGN(const Config* const config, invocation.config());
    request.by = ResumedBy::automatic;
    request.automatic_max = config->settings.recovery.attempts_max;
  }
  return request;
}

Result<void> resume_one(const Invocation& invocation, const ResumeArguments& arguments, const RunId& id) {
  PAWL_TRY_ASSIGN(const ResumeRequest request, request_for(invocation, arguments, id));
  const SessionOptions options{.waiting = arguments.wait ? Waiting::stay : Waiting::leave};
  ShowOptions show;
  show.view.step_output = arguments.verbose;
  show.fail_on_dlq = arguments.fail_on_dlq;
  return resume_workflow(invocation, request, options, show);
}

/// How an execution ended; empty if it was refused.
std::optional<std::string_view> end_of(const Result<void>& ended) {
  if (ended) return "completed";
  switch (ended.error().code) {
    case Code::run_failed: return "failed";
    case Code::run_waiting: return "waits";
    case Code::budget_reached: return "exceeded its budget";
    case Code::run_cancelled: return "was cancelled";
    case Code::run_interrupted: return "was interrupted";
    default: return std::nullopt;
  }
}

void note_lines(const Invocation& invocation, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    invocation.note(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Resumes one run after the other, oldest first. The first error gives the exit status; only an interrupt
/// keeps the remaining runs from being resumed.
Result<void> resume_session(const Invocation& invocation, const ResumeArguments& arguments) {
  std::vector<RunId> ids;
  {
    PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
    PAWL_TRY_ASSIGN(const std::vector<RunInfo> runs, resumable_runs(*store));
    for (const RunInfo& run : runs) {
      if (run.session == arguments.session) ids.insert(ids.begin(), run.id);
    }
  }
  if (ids.empty())
    return fail(Error{Code::nothing_to_resume,
                      fmt::format("no run of session '{}' can be resumed", arguments.session),
                      {},
                      fmt::format("to list its runs: pawl list --session {}", arguments.session),
                      0});
  std::vector<std::string> outcomes;
  std::size_t resumed = 0;
  std::optional<Error> trouble;
  for (const RunId& id : ids) {
    invocation.note(fmt::format("resuming {}", id.text()));
    const Result<void> ended = resume_one(invocation, arguments, id);
    const std::optional<std::string_view> how = end_of(ended);
    if (how) ++resumed;
    outcomes.push_back(
        fmt::format("{} {}", id.text(),
                    how ? std::string(*how) : fmt::format("was not resumed ({})", code_text(ended.error().code))));
    if (ended) continue;
    if (!trouble) trouble = ended.error();
    if (ended.error().code == Code::run_interrupted) break;
    if (ids.size() > 1) note_lines(invocation, describe(with_rendered_hint(ended.error())));
  }
  invocation.note(fmt::format("session {}: {} of {} runs resumed: {}", printable(arguments.session), resumed,
                              ids.size(), fmt::join(outcomes, ", ")));
  if (trouble) return fail(*trouble);
  return {};
}

/// A run continues from its newest checkpoint only.
Error not_a_run(const std::string& checkpoint) {
  return Error{
      Code::usage,
      fmt::format("can't resume a checkpoint: '{}'; a run continues from its newest one", checkpoint),
      {},
      fmt::format("to continue from it in a new run: pawl fork {0}; to take the run back to it: pawl rollback {0}",
                  checkpoint),
      0};
}

Result<void> resume(const Invocation& invocation, const ResumeArguments& arguments) {
  if (!arguments.session.empty()) {
    if (!arguments.run.empty())
      return fail(Error{Code::usage, "RUN and --session can't be used together", {}, "pawl resume --session NAME", 0});
    return resume_session(invocation, arguments);
  }
  if (arguments.run.find('@') != std::string::npos) return fail(not_a_run(arguments.run));
  PAWL_TRY_ASSIGN(const RunId id, arguments.run.empty() ? only_resumable(invocation) : RunId::parse(arguments.run));
  return resume_one(invocation, arguments, id);
}

}  // namespace

Command add_resume(Options& root) {
  const auto arguments = std::make_shared<ResumeArguments>();
  Options& app = root.command("resume", "Continue a run that crashed, failed, waits or was interrupted");
  app.group(kWorkflowGroup).when_output_closes(ClosedOutput::ignored);
  app.text("RUN", arguments->run, "Run id (default: the only run that can be resumed)");
  app.text("--workflow", arguments->workflow, "New location of the workflow file").value("FILE");
  app.parsed("--working-dir", "New directory of a project that was moved",
             [arguments](const std::string& text) {
               arguments->working_dir = text;
               return text.empty() ? std::string("must not be empty") : std::string();
             })
      .value("DIR");
  app.flag("-v,--verbose", arguments->verbose, "Show the output of steps as it comes");
  app.flag("--fail-on-dlq", arguments->fail_on_dlq, "Exit with 1 if the run completes but items of a map failed");
  app.flag("--accept-changes", arguments->accept_changes,
           "Continue with the changed workflow; unchanged completed steps are kept");
  app.flag("--wait", arguments->wait, "Wait for approvals and signals (default: exit with 3)");
  app.list("--var", arguments->vars, "Value of a variable that is not saved (secrets.state_keys); can be repeated")
      .value("KEY=VALUE");
  app.amount("--budget-usd", arguments->budget_usd, "New limit for the whole run (default: the workflow's)")
      .value("USD");
  app.number("--budget-tokens", arguments->budget_tokens, "New limit for the whole run (default: the workflow's)")
      .value("N");
  app.text("--session", arguments->session, "Resume all runs of this session, one after the other").value("NAME");
  app.word("--mode", arguments->mode, "latest, or full: rebuild and check everything first (default: latest)",
           RecoveryMode::full, parse_recovery_mode);
  app.flag("--fallback", arguments->fallback,
           "If the newest checkpoint is damaged, continue from the newest undamaged one");
  app.flag("--accept-rerun", arguments->accept_rerun,
           "Re-run completed steps that the older checkpoint does not contain");
  app.flag("--skip-bad-events", arguments->skip_bad_events, "Continue despite unreadable later events");
  app.flag("--automatic", arguments->automatic, "Count as an automatic resume, limited by recovery.max_attempts");
  app.footer(
      "Examples:\n"
      "  pawl resume                   the only run that can be resumed, or a list\n"
      "  pawl resume notes-k3f9\n"
      "  pawl resume --session night   all unfinished runs of a session\n"
      "  pawl resume notes-k3f9 --fallback --accept-rerun   if damaged\n"
      "\n"
      "Completed steps are not run again. A step that was interrupted runs again with\n"
      "the same $PAWL_IDEMPOTENCY_KEY.");
  return {&app, [arguments](const Invocation& invocation) { return resume(invocation, *arguments); }};
}

}  // namespace pawl::cli
