#include "engine/open_run.hpp"

#include <algorithm>
#include <filesystem>

#include "base/hash.hpp"
#include "codec/json_check.hpp"
#include "domain/event_types.hpp"
#include "engine/changed_workflow.hpp"
#include "engine/environment_entries.hpp"
#include "engine/old_runs.hpp"
#include "engine/resume_facts.hpp"
#include "engine/run_session.hpp"
#include "engine/secret_log.hpp"
#include "engine/step_ledger.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kVariableBytesMax = 1ULL << 20;

/// For an encrypted run, outputs, inputs and reports of steps are never stored in plain text in the store's folder.
Result<void> keep_secret(const ExecutionServices& services, OpenedRun& run) {
  PAWL_TRY_ASSIGN(std::shared_ptr<LogCipher> cipher, run.writer->log_cipher());
  if (!cipher) return {};
  run.open_output = secret_output_files(services.files, std::move(cipher), run.logs);
  PAWL_TRY_ASSIGN(run.work, services.files.private_folder(run.writer->info().uuid.text()));
  return {};
}

/// Names that are available before anything has run.
class FirstNames final : public Names {
 public:
  explicit FirstNames(const Json& vars) : vars_(vars) {}
  Result<Json> find(std::span<const PathPart> path) const override {
    const auto* root = path.empty() ? nullptr : std::get_if<std::string>(&path.front());
    if (root != nullptr && *root == "vars") return follow(vars_, path.subspan(1));
    return fail(Code::unknown_name, "'{}' is not available before the run starts", to_text(path));
  }

 private:
  const Json& vars_;
};

}  // namespace

Result<std::string> working_folder(LocalFiles& files, const Workflow& workflow, const Json& vars) {
  const std::string beside = workflow.file.empty() ? files.absolute(".", "") : files.absolute("..", workflow.file);
  if (!workflow.working_dir) return beside;
  PAWL_TRY_ASSIGN(const std::string folder, workflow.working_dir->render(FirstNames(vars)));
  return files.absolute(folder, beside);
}

namespace {

/// Returns facts about the working directory: its git commit, and the files that the workflow names.
Json folder_facts(const ExecutionServices& services, const Workflow& workflow, const std::string& folder) {
  Json facts = Json::object();
  if (const auto head = git_head(services.files, folder)) facts["git"] = *head;
  Json& files = facts["files"] = Json::object();
  for (const std::string& name : named_files(workflow)) {
    const std::string path = services.files.absolute(name, folder);
    if (services.files.is_folder(path)) continue;
    const Result<std::string> text = services.files.read(path, 8ULL << 20);
    if (text) files[name] = to_hex(sha256(*text)).substr(0, 16);
  }
  return facts;
}

/// Variables are saved as they are, so they must not contain secrets.
Result<void> refuse_secrets(const ExecutionServices& services, const Workflow& workflow, const Json& vars) {
  for (const std::string& name : workflow.secrets) {
    const std::string* entry = find_entry(services.environment, name);
    const std::string secret = entry == nullptr ? std::string() : std::string(entry_value(*entry));
    for (const auto& [variable, value] : vars.items()) {
      if (secret.empty() || text_of(value).find(secret) == std::string::npos) continue;
      return fail(Error{
          Code::invalid_variable,
          fmt::format("variable '{}' contains the secret '{}', but variables are saved in the store", variable, name),
          {},
          fmt::format("remove it: steps can read ${} from their environment", name),
          0});
    }
  }
  return {};
}

Result<RunOptions> options_of(const Workflow& workflow, const std::string& session) {
  RunOptions options;
  options.workflow = workflow.file.empty() ? workflow.name : workflow.file;
  options.workflow_hash = workflow.hash;
  options.session = session;
  return options;
}

}  // namespace

Json workflow_facts(const Workflow& workflow) {
  return {{"name", workflow.name}, {"file", workflow.file}, {"hash", workflow.hash}, {"text", workflow.text}};
}

Result<Json> resolve_vars(const Workflow& workflow, const Json& given) {
  for (const auto& [name, value] : given.items()) {
    if (std::ranges::find(workflow.vars, name, &Variable::name) != workflow.vars.end()) continue;
    std::string names;
    for (const Variable& variable : workflow.vars) names += (names.empty() ? "" : ", ") + variable.name;
    return fail(Error{Code::invalid_variable,
                      fmt::format("unknown variable '{}': not declared in the workflow", name),
                      {},
                      names.empty() ? std::string("the workflow declares none; add it under `vars:`")
                                    : fmt::format("declared variables: {}", names),
                      0});
  }
  Json vars = Json::object();
  for (const Variable& variable : workflow.vars) {
    if (given.contains(variable.name)) {
      vars[variable.name] = given[variable.name];
    } else if (variable.required) {
      return fail(Error{Code::invalid_variable,
                        fmt::format("missing variable '{}'", variable.name),
                        {},
                        fmt::format("add --var {}=VALUE", variable.name),
                        0});
    } else {
      vars[variable.name] = variable.value;
    }
  }
  return vars;
}

Result<Json> value_from_text(const Workflow& workflow, const std::string& name, const std::string& text) {
  const auto known = std::ranges::find(workflow.vars, name, &Variable::name);
  if (known == workflow.vars.end() || known->value.is_null() || known->value.is_string()) return Json(text);
  const Json& usual = known->value;
  const std::string_view kind = usual.is_boolean()  ? "true or false"
                                : usual.is_number() ? "a number"
                                : usual.is_array()  ? "a list in JSON"
                                                    : "an object in JSON";
  Json value;
  if (check_json(text, kVariableBytesMax)) value = Json::parse(text, nullptr, false);
  const bool fits = usual.is_number() ? value.is_number() : value.type() == usual.type();
  if (fits) return value;
  return fail(
      Error{Code::invalid_variable,
            fmt::format("variable '{}' must be {}, like its default {}; not '{}'", name, kind,
                        compact(usual).substr(0, 60), text.substr(0, 60)),
            {},
            usual.is_number() || usual.is_boolean()
                ? fmt::format("for example: --var {}={}", name, compact(usual))
                : fmt::format("for example: --var '{}={}'", name, usual.is_array() ? "[1, 2]" : R"({"key": 1})"),
            0});
}

Result<OpenedRun> open_new(const ExecutionServices& services, const NewRun& run) {
  const Workflow& workflow = *run.workflow;
  PAWL_TRY_ASSIGN(Json vars, resolve_vars(workflow, run.vars));
  PAWL_TRY(refuse_secrets(services, workflow, vars));
  const Result<RunInfo> known = services.store.run(run.id);
  if (known) {
    return fail(Error{Code::run_exists,
                      fmt::format("run '{}' already exists", run.id.text()),
                      {},
                      {},
                      0,
                      Advice::run_or_resume,
                      {.run = run.id.text()}});
  }
  if (known.error().code != Code::run_not_found && known.error().code != Code::store_not_found)
    return fail(known.error());
  PAWL_TRY_ASSIGN(const std::string folder, working_folder(services.files, workflow, vars));
  if (!services.files.is_folder(folder))
    return fail(Error{Code::folder_changed, "the working directory does not exist", folder, {}, 0});
  for (const std::string& handler : handlers_of(workflow)) PAWL_TRY(services.handlers.get(handler));
  PAWL_TRY_ASSIGN(const RunOptions options, options_of(workflow, run.session));
  PAWL_TRY_ASSIGN(std::unique_ptr<RunWriter> writer, services.store.open_run(run.id, options));
  if (writer->info().latest)
    return fail(Error{Code::run_exists, fmt::format("run '{}' already exists", run.id.text()), {}, {}, 0});
  RunState state;
  state.workflow_name = workflow.name;
  state.workflow_file = workflow.file;
  state.workflow_hash = workflow.hash;
  state.working_dir = folder;
  state.folder = folder_facts(services, workflow, folder);
  state.vars = std::move(vars);
  state.parent_run = run.parent_run;
  state.parent_step = run.parent_step;
  state.parent_key = run.parent_key;
  state.depth = run.depth;
  PAWL_TRY_ASSIGN(std::string logs, services.store.local_folder(run.id));
  OpenedRun opened{.id = run.id,
                   .workflow = run.workflow,
                   .state = std::move(state),
                   .writer = std::move(writer),
                   .logs = std::move(logs)};
  PAWL_TRY(keep_secret(services, opened));
  opened.first_events.push_back(
      {event_type::kRunStarted, compact({{"workflow", workflow_facts(workflow)}, {"vars", opened.state.vars}})});
  return opened;
}

namespace {

Result<RunState> state_in(const Json& value, const RunId& id) {
  Result<RunState> state = RunState::from_json(value);
  if (state) return state;
  Error error = at(state.error(), id.text());
  if (error.code == Code::not_a_workflow_run && is_ledger(value)) {
    error = with_other_advice(std::move(error), Advice::show_run, {.run = id.text()});
    error.message = "this run belongs to a script, not to a workflow";
    error.hint = "to continue, run the script again: completed steps are not run again";
  } else if (error.code == Code::not_a_workflow_run) {
    error = with_other_advice(std::move(error), Advice::show_state, {.run = id.text()});
    error.hint = "this works for runs of workflows only";
  }
  return fail(std::move(error));
}

}  // namespace

Result<RunState> load_state(Store& store, const RunId& id) {
  PAWL_TRY_ASSIGN(const Restored restored, store.restore(id, {}));
  return state_in(parse_json(restored.state), id);
}

Result<RunState> load_whole_state(Store& store, const RunId& id) {
  Result<RunState> newest = load_state(store, id);
  if (newest || !is_refusal(newest.error().code)) return newest;
  const Result<Recovered> older = store.recover(id, {});
  if (!older) return newest;
  return state_in(parse_json(older->checkpoint.state), id);
}

namespace {

Result<void> refuse_ended(const RunState& state, const RunId& id) {
  if (state.status == RunStatus::completed) {
    const bool has_failed_items = std::ranges::any_of(
        state.steps, [](const auto& entry) { return entry.second.map && !entry.second.map->failed.empty(); });
    return fail(Error{Code::run_ended,
                      fmt::format("run '{}' is completed", id.text()),
                      {},
                      {},
                      0,
                      has_failed_items ? Advice::retry_dead_letters : Advice::show_run,
                      {.run = id.text()}});
  }
  if (state.status == RunStatus::cancelled)
    return fail(Error{Code::run_ended, fmt::format("run '{}' was cancelled", id.text()), {}, "start a new run", 0});
  return {};
}

bool is_path_within(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder.ends_with('/') ? folder : folder + "/");
}

std::string stopped_steps(const ResumePlan& plan) {
  std::vector<std::string> names;
  for (const StepPlan& step : plan.steps) {
    if (step.action == StepPlan::Action::stop) names.push_back(fmt::format("{} ({})", step.path, step.why));
  }
  return joined_list(names);
}

Result<void> check_folder(const ExecutionServices& services, const ResumeRequest& request, const Workflow& workflow,
                          RunState& state, Resumption& resumption) {
  if (!services.files.is_folder(state.working_dir)) {
    return fail(Error{Code::folder_changed,
                      "the working directory of the run is missing",
                      state.working_dir,
                      "restore it",
                      0,
                      Advice::name_working_dir,
                      {.run = request.id.text()}});
  }
  const Json now = folder_facts(services, workflow, state.working_dir);
  const std::vector<std::string> changes = folder_changes(state.folder, now);
  if (changes.empty()) return {};
  if (workflow.checkpoint.folder == FolderCheck::refuse && request.changes == Changes::refuse) {
    return fail(Error{Code::folder_changed, fmt::format("the working directory has changed: {}", joined_list(changes)),
                      state.working_dir, "undo the changes, or resume with --accept-changes", 0});
  }
  for (const std::string& change : changes) resumption.notes.push_back(change);
  resumption.run.first_events.push_back({event_type::kFolderChanged, compact({{"changes", changes}})});
  state.folder = now;
  return {};
}

/// Names the steps that would run again. Refuses unless --accept-rerun is given.
Result<void> check_reruns(const ResumeRequest& request, const RecoveryResult& recovery, const RunState& state) {
  if (request.reruns == Reruns::accept) return {};
  const std::string back =
      recovery.fell_back
          ? fmt::format("{}. Run '{}' can only continue from checkpoint {}", recovery.warnings.front(),
                        request.id.text(), recovery.checkpoint.info.sequence.value)
          : fmt::format("the newest state of run '{}' is older than its events, because only the events could be saved",
                        request.id.text());
  Error error{Code::fallback_reruns, back, {}, {}, 0};
  error.advice = recovery.fell_back ? Advice::fall_back_and_rerun : Advice::accept_rerun;
  error.subject = {.run = request.id.text(), .value = recovery.events_known ? "" : "skip bad events"};
  if (!recovery.events_known) {
    error.message += "; the steps completed after it are unknown";
    return fail(std::move(error));
  }
  const std::vector<std::string> steps = steps_to_run_again(recovery, state);
  if (steps.empty()) return {};
  error.message += ", which would run completed steps again:";
  for (const std::string& step : steps) error.message += "\n  " + step;
  return fail(std::move(error));
}

/// Takes the run's lock. If its holder is recovering the run, the message says so.
Result<std::unique_ptr<RunWriter>> take_run(Store& store, const RunId& id, const RunState& state,
                                            const RecoveryResult& recovery) {
  RunOptions options;
  if (recovery.fell_back) options.fall_back_to = recovery.checkpoint.info.sequence;
  Result<std::unique_ptr<RunWriter>> writer = store.open_run(id, options);
  if (writer || writer.error().code != Code::run_busy || state.resumes == 0) return writer;
  const Error error = std::move(writer).error();
  const Result<std::optional<std::string>> owner = store.owner(id);
  return fail(Error{Code::recovery_in_progress,
                    fmt::format("another process is already resuming run '{}'{}", id.text(),
                                owner && *owner ? fmt::format(": {}", **owner) : ""),
                    error.where,
                    {},
                    0,
                    Advice::wait_for_run,
                    {.run = id.text()}});
}

void tell_fallback(const ExecutionServices& services, const RunState& state, Resumption& resumption) {
  const RecoveryResult& recovery = resumption.recovery;
  for (const std::string& warning : recovery.warnings) resumption.notes.push_back(warning);
  // Event numbers continue after the last event, even if the state is older.
  resumption.run.events = std::max(resumption.run.events, recovery.last_event);
  const std::vector<std::string> again = steps_to_run_again(recovery, state);
  const std::uint64_t whole = recovery.checkpoint.info.sequence.value;
  if (!again.empty()) resumption.run.first_events.push_back({event_type::kStepsRunAgain, compact({{"steps", again}})});
  for (const std::string& step : again)
    resumption.notes.push_back(fmt::format("step {} was completed and will run again", step));
  if (!recovery.fell_back) return;
  resumption.run.first_events.push_back(
      {event_type::kRecoveryFallback,
       compact({{"from", recovery.highest.value}, {"to", whole}, {"why", recovery.warnings}, {"run_again", again}})});
  note_failure(services.store, resumption.run.id,
               Error{Code::checkpoint_set_aside,
                     fmt::format("fallback from checkpoint {} to {}: {}", recovery.highest.value, whole,
                                 recovery.warnings.front()),
                     {},
                     {},
                     0});
}

/// A run that waits or was stopped by a signal did not fail, so resuming it does not count as a recovery.
bool counts_as_recovery(const RunState& state) {
  return state.status == RunStatus::running || state.status == RunStatus::failed;
}

/// The costs of a child count towards the budget of its parent.
Result<void> check_parents_budget(Store& store, const ResumeRequest& request, const RunState& state) {
  if (request.by_parent || request.cancel || state.parent_run.empty()) return {};
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(state.parent_run));
  const Result<RunState> parent = load_whole_state(store, id);
  if (!parent || !parent->limits.reached(parent->usage)) return {};
  return fail(
      Error{Code::budget_reached,
            fmt::format("the budget of run {}, which run {} belongs to, is exceeded", id.text(), request.id.text()),
            {},
            {},
            0,
            Advice::raise_budget,
            {.run = id.text()}});
}

Result<void> check_automatic(const ResumeRequest& request, const RunState& state) {
  if (request.by != ResumedBy::automatic || !counts_as_recovery(state)) return {};
  if (state.automatic_resumes < request.automatic_max) return {};
  return fail(Error{Code::retries_exhausted,
                    fmt::format("run '{}' was resumed automatically {} times in a row; the limit is {}",
                                request.id.text(), state.automatic_resumes, request.automatic_max),
                    {},
                    {},
                    0,
                    Advice::fix_failed_step,
                    {.run = request.id.text()}});
}

/// Returns the old and the new working directory if the run has been moved.
std::optional<MovedFolder> moved_folder(const ExecutionServices& services, const ResumeRequest& request,
                                        const RunState& state) {
  MovedFolder moved{.from = state.working_dir, .to = request.working_dir};
  // A child that worked inside its parent's folder has moved with it.
  if (moved.to.empty() && services.moved && is_path_within(state.working_dir, services.moved->from))
    moved.to = services.moved->to + state.working_dir.substr(services.moved->from.size());
  if (moved.to.empty() || moved.to == moved.from) return std::nullopt;
  return moved;
}

/// Returns the path of the workflow's file relative to the new working directory. If it does not exist there, returns
/// the recorded one.
std::string moved_workflow_file(LocalFiles& files, const MovedFolder& moved, const std::string& recorded) {
  const std::string relative = std::filesystem::path(recorded).lexically_relative(moved.from).string();
  const std::string there = relative.empty() ? recorded : files.absolute(relative, moved.to);
  return files.exists(there) || !files.exists(recorded) ? there : recorded;
}

void move_run(const MovedFolder& moved, const Workflow& workflow, RunState& state, Resumption& resumption) {
  state.working_dir = moved.to;
  state.workflow_file = workflow.file;
  resumption.moved = moved;
  resumption.run.first_events.push_back(
      {event_type::kWorkingDirMoved, compact({{"from", moved.from}, {"to", moved.to}, {"workflow", workflow.file}})});
  resumption.notes.push_back(fmt::format("working directory: {} (before: {})", moved.to, moved.from));
}

/// Says how the run continues, and records that it does. What follows from it is up to the machine.
void count_resume(const ResumeRequest& request, RunState& state, Resumption& resumption) {
  resumption.run.resume = ResumeFacts{.automatic = request.by == ResumedBy::automatic,
                                      .changes_accepted = request.changes == Changes::accept,
                                      .budget = request.budget};
  state.origin.clear();
  resumption.run.first_events.push_back(
      {event_type::kRunResumed, compact({{"was", to_text(state.status)},
                                         {"resume", state.resumes + 1},
                                         {"automatic", resumption.run.resume->automatic}})});
  if (!request.cancel) return;
  state.cancelled = *request.cancel;
  resumption.run.first_events.push_back({event_type::kCancelRequested, compact({{"reason", *request.cancel}})});
}

Result<Resumption> try_resume(const ExecutionServices& services, const ResumeRequest& request) {
  // Checked before taking the lock, for a clearer message, and again with the lock.
  RecoveryRequest wanted{
      .run = request.id, .mode = request.mode, .fallback = request.fallback, .bad_events = request.bad_events};
  if (services.settings.recovery.fallback_to_previous) wanted.fallback = Fallback::allow;
  PAWL_TRY_ASSIGN(RecoveryResult recovery, recover_run(services.store, services.clock, wanted));
  Json value = parse_json(recovery.checkpoint.state);
  PAWL_TRY_ASSIGN(RunState state, state_in(value, request.id));
  PAWL_TRY(refuse_ended(state, request.id));
  PAWL_TRY(check_automatic(request, state));
  PAWL_TRY(check_parents_budget(services.store, request, state));
  if (recovery.fell_back) PAWL_TRY(check_reruns(request, recovery, state));
  PAWL_TRY_ASSIGN(std::unique_ptr<RunWriter> writer, take_run(services.store, request.id, state, recovery));
  if (!recovery.fell_back) {
    PAWL_TRY_ASSIGN(const Restored restored, services.store.restore(request.id, {}));
    if (restored.state != recovery.checkpoint.state) {  // somebody continued the run meanwhile
      value = parse_json(restored.state);
      PAWL_TRY_ASSIGN(state, RunState::from_json(value));
    }
    PAWL_TRY(refuse_ended(state, request.id));
    const Result<void> read =
        read_events_after(services.store, request.id, value.value("events", std::uint64_t{0}), recovery);
    if (!read && request.bad_events == BadEvents::refuse) return fail(read.error());
    if (!read) recovery.warnings.push_back(read.error().message);
    recovery.events_known = read.has_value();
    PAWL_TRY(check_reruns(request, recovery, state));
  }
  recovery.checkpoint.state = std::string();
  PAWL_TRY_ASSIGN(KeyValues key_values,
                  given_key_values(state.masked_keys, services.given, services.environment, request.id.text()));
  unmask_keys(state.vars, key_values);
  for (auto& [path, record] : state.steps) {
    unmask_keys(record.output, key_values);
    unmask_keys(record.partial, key_values);
  }
  const std::optional<MovedFolder> moved = moved_folder(services, request, state);
  std::string file = request.workflow_file.empty() ? state.workflow_file : request.workflow_file;
  if (moved && request.workflow_file.empty()) file = moved_workflow_file(services.files, *moved, file);
  Result<Workflow> loaded = services.load_workflow(file);
  if (!loaded) return fail(with_advice(loaded.error(), Advice::name_workflow, {.run = request.id.text()}));
  const auto workflow = std::make_shared<const Workflow>(std::move(*loaded));
  PAWL_TRY_ASSIGN(std::string logs, services.store.local_folder(request.id));
  Resumption resumption{.run = {.id = request.id,
                                .workflow = workflow,
                                .state = {},
                                .writer = std::move(writer),
                                .logs = std::move(logs)},
                        .plan = {},
                        .notes = {}};
  for (const Remark& remark : workflow->remarks) {
    if (remark.about == Remark::About::ignored_key)
      resumption.notes.push_back(fmt::format("{}:{}: {}", file, remark.place.line, remark.message));
  }
  PAWL_TRY(keep_secret(services, resumption.run));
  resumption.run.key_values = std::move(key_values);
  resumption.run.first_kind = Kind::step_start;
  resumption.run.first_reason = Reason::before_step;
  resumption.run.events = value.value("events", std::uint64_t{0});
  resumption.recovery = std::move(recovery);
  for (const std::string& handler : handlers_of(*workflow)) PAWL_TRY(services.handlers.get(handler));
  tell_fallback(services, state, resumption);
  PAWL_TRY(check_workflow(services, request, *workflow, state, resumption));
  if (moved) move_run(*moved, *workflow, state, resumption);
  PAWL_TRY(check_folder(services, request, *workflow, state, resumption));
  resumption.plan = plan_resume(state, {}, *workflow, request.by);
  if (request.by == ResumedBy::automatic && resumption.plan.verdict == ResumePlan::Verdict::stopped)
    return fail(Error{
        Code::retries_exhausted,
        fmt::format("run '{}' can't continue automatically: {}", request.id.text(), stopped_steps(resumption.plan)),
        {},
        {},
        0,
        Advice::fix_and_resume,
        {.run = request.id.text()}});
  PAWL_TRY(add_failed_items(services.store, request.id, state));
  count_resume(request, state, resumption);
  resumption.run.state = std::move(state);
  return resumption;
}

bool is_failed_recovery(Code code) {
  if (code == Code::run_ended || code == Code::run_busy || code == Code::recovery_in_progress) return false;
  return is_refusal(code);
}

}  // namespace

Result<Resumption> open_resume(const ExecutionServices& services, const ResumeRequest& request) {
  Result<Resumption> opened = try_resume(services, request);
  if (!opened && is_failed_recovery(opened.error().code)) note_failure(services.store, request.id, opened.error());
  return opened;
}

}  // namespace pawl
