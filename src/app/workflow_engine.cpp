// Workflows of a program: the engine on the adapters of this machine.
#include <unistd.h>

#include <pawl/workflow.hpp>
#include <set>

#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_local_files.hpp"
#include "adapters/posix/posix_process_runner.hpp"
#include "app/signals.hpp"
#include "base/mutex.hpp"
#include "codec/json_check.hpp"
#include "domain/lifecycle.hpp"
#include "engine/open_run.hpp"
#include "engine/run_session.hpp"
#include "service/workflow_session.hpp"
#include "workflow/parse_workflow.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kWorkflowBytesMax = 4ULL << 20;
constexpr std::uint64_t kVarsBytesMax = 8ULL << 20;

class Forwarder final : public RunObserver {
 public:
  explicit Forwarder(const std::function<void(const RunEventView&)>& to) : to_(to) {}
  void on_event(const RunEvent& event) override {
    if (!to_) return;
    const std::string data = compact(event.data);
    to_({.run = event.run, .type = event.type, .step = event.step, .at = event.at, .data = data});
  }

 private:
  const std::function<void(const RunEventView&)>& to_;
};

WorkflowStatus status_of(RunStatus status) {
  switch (status) {
    case RunStatus::completed: return WorkflowStatus::completed;
    case RunStatus::failed: return WorkflowStatus::failed;
    case RunStatus::waiting: return WorkflowStatus::waiting;
    case RunStatus::cancelled: return WorkflowStatus::cancelled;
    default: return WorkflowStatus::interrupted;
  }
}

/// Returns a summary if the run failed, waits or was interrupted. Fails if it could not be executed.
Result<WorkflowSummary> summary_of(const Executor& executor) {
  const Result<void> ended = how_it_ended(executor);
  const bool refused = executor.finish() && executor.finish()->ending == machine::Ending::refused;
  if (!ended && (executor.trouble() || refused)) return fail(ended.error());
  const RunState state = executor.state();
  WorkflowSummary summary{
      .status = status_of(state.status), .error = state.error, .steps_completed = state.completed_steps};
  if (!ended && summary.error.empty()) summary.error = ended.error().message;
  if (state.outputs.is_object()) summary.outputs = compact(state.outputs);
  return summary;
}

Result<void> check_handlers(const Workflow& workflow, const HandlerRegistry& handlers) {
  for (const std::string& name : handlers_of(workflow)) PAWL_TRY(handlers.get(name));
  return {};
}

}  // namespace

std::string_view to_text(WorkflowStatus status) {
  constexpr std::string_view kWords[] = {"completed", "failed", "waiting", "interrupted", "cancelled"};
  return kWords[static_cast<std::size_t>(status)];
}

struct WorkflowEngine::Parts {
  Pawl& pawl;
  const HandlerRegistry& handlers;
  const WorkflowOptions options;
  SystemClock clock;
  SystemRandom random;
  PosixLocalFiles files;
  WorkerPool workers{options.handler_threads};
  Mutex mutex;
  std::set<std::function<void()>*> running PAWL_GUARDED_BY(mutex);  // interrupts one execution each

  Parts(Pawl& of, const HandlerRegistry& registry, WorkflowOptions with)
      : pawl(of), handlers(registry), options(std::move(with)) {}

  ExecutionServices services(const HandlerRegistry& registry, RunObserver& observer, const std::string& text,
                             LoadFor begun) {
    ExecutionServices services{
        .store = pawl.store(), .clock = clock, .random = random, .files = files, .handlers = registry};
    services.settings = pawl.settings();
    services.observer = &observer;
    for (char** entry = environ; *entry != nullptr; ++entry) services.environment.emplace_back(*entry);
    services.store_uri = pawl.uri() == "memory:" ? pawl.uri() : files.absolute(pawl.uri(), "");
    services.load_workflow = [this, text, begun](const std::string& file) { return load(file, text, begun); };
    services.parse_added = parse_added_steps;
    services.resident_bytes = resident_bytes;
    return services;
  }

  /// A run without a file was started from a text, which the caller must pass again.
  Result<Workflow> load(const std::string& file, const std::string& text, LoadFor what) {
    const bool begun = what == LoadFor::begun_run;
    if (!text.empty()) return parse_or_fail({.text = text, .file = "", .begun = begun});
    if (file.empty()) {
      return fail(Error{Code::usage,
                        "the run was started from a workflow text, which is missing",
                        {},
                        "pass the same text as ResumeOptions::workflow_text",
                        0});
    }
    const std::string path = files.absolute(file, "");
    const auto read = [this](const std::string& other) { return files.read(other, kWorkflowBytesMax); };
    PAWL_TRY_ASSIGN(std::string yaml, read(path));
    return parse_or_fail({std::move(yaml), path, read, begun});
  }

  Result<WorkflowSummary> execute(ExecutionServices& services, OpenedRun run) {
    SessionHooks hooks{.workers = &workers};
    hooks.start_processes = [](const std::string& lock_path) -> Result<std::unique_ptr<ProcessRunner>> {
      PAWL_TRY_ASSIGN(std::unique_ptr<PosixProcessRunner> started, PosixProcessRunner::start_reaper(lock_path));
      return started;
    };
    std::function<void()> interrupt;
    hooks.begun = [&](EventLoop& loop, Executor& executor) {
      interrupt = [&loop, &executor] { loop.post([&executor] { executor.interrupt("the program"); }); };
      const Lock lock(mutex);
      running.insert(&interrupt);
    };
    hooks.over = [&] {
      const Lock lock(mutex);
      running.erase(&interrupt);
    };
    Result<WorkflowSummary> summary = WorkflowSummary{};
    PAWL_TRY(execute_run(services, std::move(run), hooks, [&](const Executor& executor) -> Result<void> {
      summary = summary_of(executor);
      return {};
    }));
    return summary;
  }

  Result<WorkflowSummary> start(std::string_view run, Workflow workflow, std::string_view vars) {
    PAWL_TRY_ASSIGN(const RunId id, RunId::parse(run));
    PAWL_TRY(pawl.need_checkpoints());
    PAWL_TRY(check_json(vars, kVarsBytesMax));
    NewRun fresh{.id = id,
                 .workflow = std::make_shared<const Workflow>(std::move(workflow)),
                 .vars = Json::parse(vars, nullptr, false)};
    if (!fresh.vars.is_object()) return fail(Code::invalid_variable, "the variables are not a JSON object");
    PAWL_TRY(check_handlers(*fresh.workflow, handlers));
    Forwarder observer(options.observer);
    ExecutionServices using_these = services(handlers, observer, "", LoadFor::new_run);
    PAWL_TRY_ASSIGN(OpenedRun opened, open_new(using_these, fresh));
    return execute(using_these, std::move(opened));
  }

  Result<void> check_resume(const RunId& id, const ResumeOptions& with, const HandlerRegistry& registry);
};

WorkflowEngine::WorkflowEngine(Pawl& pawl, const HandlerRegistry& handlers, WorkflowOptions options)
    : parts_(std::make_unique<Parts>(pawl, handlers, std::move(options))) {}
WorkflowEngine::~WorkflowEngine() = default;

Result<WorkflowSummary> WorkflowEngine::run_file(std::string_view run, const std::string& file, std::string_view vars) {
  if (file.empty()) return fail(Code::usage, "missing workflow file");
  PAWL_TRY_ASSIGN(Workflow workflow, parts_->load(file, "", LoadFor::new_run));
  return parts_->start(run, std::move(workflow), vars);
}

Result<WorkflowSummary> WorkflowEngine::run_text(std::string_view run, std::string_view yaml, std::string_view vars) {
  PAWL_TRY_ASSIGN(Workflow workflow, parse_or_fail({std::string(yaml), ""}));
  return parts_->start(run, std::move(workflow), vars);
}

/// Applies the decision tree of recovery before anything is locked or changed.
Result<void> WorkflowEngine::Parts::check_resume(const RunId& id, const ResumeOptions& with,
                                                 const HandlerRegistry& registry) {
  RecoveryFacts facts{.address = id.text() + "@latest",
                      .lifecycle = {},
                      .retries_max = with.retries_max,
                      .missing_parent = {},
                      .handler = {}};
  const bool fallback = pawl.settings().recovery.fallback_to_previous;
  const Result<RunState> state = fallback ? load_whole_state(pawl.store(), id) : load_state(pawl.store(), id);
  if (!state) {
    if (state.error().code == Code::run_not_found || state.error().code == Code::store_not_found)
      return check_recoverable(facts);
    return fail(state.error());  // including chain_broken
  }
  PAWL_TRY_ASSIGN(const std::optional<std::string> owner, pawl.store().owner(id));
  facts.owner = owner ? RunOwner::alive : RunOwner::dead;
  facts.lifecycle =
      Lifecycle{.status = Status::active, .retry_count = with.by == ResumeBy::automatic ? state->automatic_resumes : 0};
  if (with.by == ResumeBy::person) facts.retries_max = UINT32_MAX;
  if (state->status == RunStatus::completed) facts.lifecycle->status = Status::completed;
  if (state->status == RunStatus::failed) facts.lifecycle->status = Status::failed;
  // A live owner that resumed the run is recovering it; otherwise it is the one that started it.
  if (owner && state->status != RunStatus::completed)
    facts.lifecycle->status = state->resumes > 0 ? Status::recovering : Status::active;
  PAWL_TRY(check_recoverable(facts));
  if (state->status == RunStatus::cancelled) return {};  // open_resume has a better message
  PAWL_TRY_ASSIGN(const Workflow workflow, load(with.workflow_file.empty() ? state->workflow_file : with.workflow_file,
                                                with.workflow_text, LoadFor::begun_run));
  return check_handlers(workflow, registry);
}

Result<WorkflowSummary> WorkflowEngine::resume(std::string_view run, const ResumeOptions& options) {
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(run));
  PAWL_TRY(parts_->pawl.need_checkpoints());
  HandlerRegistry registry;
  for (const std::string& name : parts_->handlers.list()) {
    PAWL_TRY_ASSIGN(Handler handler, parts_->handlers.get(name));
    registry.add(name, std::move(handler));
  }
  for (const auto& [name, handler] : options.handlers_override) registry.add(name, handler);
  PAWL_TRY(parts_->check_resume(id, options, registry));
  Forwarder observer(parts_->options.observer);
  ExecutionServices services = parts_->services(registry, observer, options.workflow_text, LoadFor::begun_run);
  ResumeRequest request{.id = id, .workflow_file = options.workflow_file};
  request.changes = options.changed == ChangedWorkflow::accept ? Changes::accept : Changes::refuse;
  request.by = options.by == ResumeBy::automatic ? ResumedBy::automatic : ResumedBy::person;
  PAWL_TRY_ASSIGN(Resumption resumption, open_resume(services, request));
  const std::uint64_t kept = resumption.plan.kept_steps;
  std::vector<std::string> notes = std::move(resumption.notes);
  PAWL_TRY_ASSIGN(WorkflowSummary summary, parts_->execute(services, std::move(resumption.run)));
  summary.steps_kept = kept;
  summary.notes = std::move(notes);
  return summary;
}

void WorkflowEngine::interrupt() {
  const Lock lock(parts_->mutex);
  for (const std::function<void()>* interrupt : parts_->running) (*interrupt)();
}

}  // namespace pawl
