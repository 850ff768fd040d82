#include "service/workflow_session.hpp"

#include <csignal>

#include "base/mutex.hpp"
#include "engine/run_session.hpp"
#include "workflow/parse_workflow.hpp"

namespace pawl {
namespace {

/// Everything that an execution needs. Members are destroyed in reverse order, which is the required one.
class WorkflowSession {
 public:
  /// Signals are watched from here on, because threads that start later must not receive them.
  WorkflowSession(const SessionHost& host, const SessionOptions& options, const SessionListener& listener, LoadFor what)
      : host_(host),
        options_(options),
        told_(listener),
        load_for_(what),
        signals_(host.world.watch_signals([this](int signal) { on_signal(signal); })) {}

  Result<void> open() {
    PAWL_TRY_ASSIGN(store_, host_.open_store());
    WorkflowWorld& world = host_.world;
    services_.reset(new ExecutionServices{.store = *store_,
                                          .clock = host_.clock,
                                          .random = world.random,
                                          .files = world.files,
                                          .handlers = world.handlers});
    services_->observer = &host_.view;
    services_->environment = world.environment;
    services_->store_uri = host_.store_uri;
    services_->load_workflow = [this](const std::string& file) {
      return load_workflow(host_.world.files, host_.read_file, file, load_for_);
    };
    services_->parse_added = parse_added_steps;
    services_->resident_bytes = world.resident_bytes;
    services_->waiting = options_.waiting;
    services_->settings = host_.settings;
    services_->prompt = host_.prompt;
    services_->person = host_.person;
    return {};
  }

  [[nodiscard]] ExecutionServices& services() { return *services_; }

  Result<void> execute_new(OpenedRun run) {
    if (told_.started) told_.started(run);
    return execute(std::move(run));
  }

  Result<void> execute_resumed(Resumption resumption) {
    if (told_.resumed) told_.resumed(resumption);
    services_->moved = resumption.moved;
    return execute(std::move(resumption.run));
  }

 private:
  Result<void> execute(OpenedRun run) {
    host_.view.begin(run.id, *run.workflow, run.state);
    SessionHooks hooks{.start_processes = host_.world.start_processes};
    hooks.begun = [this](EventLoop& loop, Executor& executor) {
      listen([&loop, &executor](int signal) { pass_on(loop, executor, signal); });
      if (!options_.timeout) return;
      loop.after(std::chrono::microseconds(*options_.timeout).count(), [this, &executor] {
        if (options_.on_timeout) options_.on_timeout();
        executor.interrupt("the time limit of automatic recoveries");
      });
    };
    hooks.over = [this] {
      listen({});
      host_.view.end();
    };
    return execute_run(*services_, std::move(run), hooks, [this](const Executor& executor) {
      if (told_.items) told_.items(count_items(*store_, executor.records()));
      return how_it_ended(executor);
    });
  }

  void listen(std::function<void(int)> listener) {
    const Lock lock(mutex_);
    listener_ = std::move(listener);
  }

  /// The second request to stop takes effect immediately: saved data stays saved, and the reaper kills the steps.
  void on_signal(int signal) {
    const Lock lock(mutex_);
    if (signal != SIGUSR1 && (++stops_requested_ > 1 || !listener_)) return host_.world.leave();
    if (listener_) listener_(signal);
  }

  static void pass_on(EventLoop& loop, Executor& executor, int signal) {
    if (signal == SIGUSR1) return loop.post([&executor] { executor.checkpoint_now(Reason::manual); });
    const std::string name = signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGHUP";
    loop.post([&executor, name] { executor.interrupt(name); });
  }

  const SessionHost& host_;
  const SessionOptions& options_;
  const SessionListener& told_;
  const LoadFor load_for_;
  Mutex mutex_;
  std::function<void(int)> listener_ PAWL_GUARDED_BY(mutex_);
  int stops_requested_ PAWL_GUARDED_BY(mutex_) = 0;
  const std::unique_ptr<SignalWatch> signals_;  // destroyed before what its callback uses
  std::unique_ptr<Store> store_;
  std::unique_ptr<ExecutionServices> services_;
};

}  // namespace

Result<Workflow> load_workflow(LocalFiles& files, const ReadFile& read_file, const std::string& file, LoadFor what) {
  const std::string path = files.absolute(file, "");
  PAWL_TRY_ASSIGN(std::string text, read_file(path, kWorkflowFileBytesMax));
  const auto read = [&](const std::string& other) { return read_file(other, kWorkflowFileBytesMax); };
  return parse_or_fail({std::move(text), path, read, what == LoadFor::begun_run});
}

std::string fresh_run_id(const std::string& workflow, Random& random) {
  constexpr std::string_view kLetters = "abcdefghijkmnpqrstuvwxyz23456789";  // no characters that look alike
  std::string id;
  for (const char c : workflow) {
    const bool fine =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (id.size() < 60 && (fine || !id.empty())) id += fine ? c : '-';
  }
  if (id.empty() || id.front() == '.' || id.front() == '-' || id.front() == '_') id = "run" + id;
  id += '-';
  std::uint64_t chance = random.next();
  for (int i = 0; i < 4; ++i, chance /= kLetters.size()) id += kLetters[chance % kLetters.size()];
  return id;
}

Result<void> start_workflow(const SessionHost& host, const NewRun& run, const SessionOptions& options,
                            const SessionListener& listener) {
  WorkflowSession session(host, options, listener, LoadFor::new_run);
  PAWL_TRY(session.open());
  PAWL_TRY_ASSIGN(OpenedRun opened, open_new(session.services(), run));
  return session.execute_new(std::move(opened));
}

Result<void> resume_workflow(const SessionHost& host, const ResumeRequest& request, const SessionOptions& options,
                             const SessionListener& listener) {
  WorkflowSession session(host, options, listener, LoadFor::begun_run);
  PAWL_TRY(session.open());
  session.services().child_changes = request.changes;
  session.services().given = request.given;
  PAWL_TRY_ASSIGN(Resumption resumption, open_resume(session.services(), request));
  return session.execute_resumed(std::move(resumption));
}

Result<std::optional<FinishedRun>> start_or_resume_workflow(const SessionHost& host, const NewRun& run,
                                                            const SessionOptions& options,
                                                            const SessionListener& listener) {
  WorkflowSession session(host, options, listener, LoadFor::begun_run);
  PAWL_TRY(session.open());
  PAWL_TRY_ASSIGN(RunOrResumption found, open_or_resume(session.services(), run, host.settings.recovery.attempts_max));
  if (auto* finished = std::get_if<FinishedRun>(&found)) return std::move(*finished);
  if (auto* opened = std::get_if<OpenedRun>(&found)) {
    PAWL_TRY(session.execute_new(std::move(*opened)));
  } else {
    PAWL_TRY(session.execute_resumed(std::get<Resumption>(std::move(found))));
  }
  return std::optional<FinishedRun>();
}

}  // namespace pawl
