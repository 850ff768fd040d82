#include "cli/workflow_session.hpp"

#include <csignal>

#include "cli/recovery_options.hpp"
#include "cli/run_view.hpp"
#include "cli/terminal_text.hpp"
#include "engine/run_or_resume.hpp"
#include "engine/run_session.hpp"
#include "workflow/parse_workflow.hpp"

namespace pawl::cli {
namespace {

GateAnswer ask_person(const Invocation& invocation, RunView& view, const Gate& gate) {
  CliContext& context = invocation.context();
  view.pause();
  context.out.write(
      fmt::format("{}: {}\nApprove? [y]es, [n]o, [l]ater: ", printable(gate.step), printable(gate.prompt)));
  static_cast<void>(context.out.flush());
  std::string line;
  while (std::getline(context.in, line)) {
    if (line == "y" || line == "yes") return GateAnswer::approve;
    if (line == "n" || line == "no") return GateAnswer::reject;
    if (line.empty() || line == "l" || line == "later") return GateAnswer::later;
    context.out.write("[y]es, [n]o or [l]ater: ");
    static_cast<void>(context.out.flush());
  }
  return GateAnswer::later;
}

/// Everything that an execution stands on, in the order in which it must be destroyed from the end.
class Session {
 public:
  /// Signals are taken from here on: threads that come later must not get them.
  Session(const Invocation& invocation, const SessionOptions& options)
      : invocation_(invocation),
        view_(make_view(invocation)),
        options_(options),
        signals_(invocation.context().workflows->watch_signals([this](int signal) { on_signal(signal); })) {}

  Result<void> open() {
    CliContext& context = invocation_.context();
    PAWL_TRY_ASSIGN(const Config* const config, invocation_.config());
    if (config->settings.checkpoint.enabled) {
      PAWL_TRY_ASSIGN(store_, invocation_.open_store(StoreAccess::serve));
    } else {
      PAWL_TRY_ASSIGN(store_, context.open_store("memory:", StoreAccess::serve, config->settings));
    }
    WorkflowWorld& world = *context.workflows;
    services_.reset(new ExecutionServices{.store = *store_,
                                          .clock = context.clock,
                                          .random = world.random,
                                          .files = world.files,
                                          .handlers = world.handlers});
    services_->observer = view_.get();
    services_->environment = world.environment;
    services_->store_uri = absolute_path(context, invocation_.store_uri());
    services_->load_workflow = [&context](const std::string& file) { return load_workflow(context, file); };
    services_->parse_added = parse_added_steps;
    services_->resident_bytes = world.resident_bytes;
    services_->waiting = options_.waiting;
    services_->settings = config->settings;
    if (context.in_is_terminal && context.out_is_terminal && !invocation_.json()) {
      services_->ask = [this](const Gate& gate) { return ask_person(invocation_, *view_, gate); };
    }
    return {};
  }

  [[nodiscard]] ExecutionServices& services() { return *services_; }

  Result<void> execute(OpenedRun run) {
    view_->begin(run.id, *run.workflow, run.state);
    const WorkflowWorld& world = *invocation_.context().workflows;
    SessionHooks hooks{.start_processes = world.start_processes};
    hooks.begun = [this](EventLoop& loop, Execution& execution) {
      listen([&loop, &execution](int signal) { pass_on(loop, execution, signal); });
      if (!options_.timeout) return;
      loop.after(std::chrono::microseconds(*options_.timeout).count(), [this, &execution] {
        if (options_.on_timeout) options_.on_timeout();
        execution.interrupt("the time limit of automatic recoveries");
      });
    };
    hooks.over = [this] {
      listen({});
      view_->end();
    };
    return execute_run(*services_, std::move(run), hooks, how_it_ended);
  }

 private:
  void listen(std::function<void(int)> listener) {
    const Lock lock(mutex_);
    listener_ = std::move(listener);
  }

  /// The second one that asks to end is obeyed at once: what is saved stays saved, and the reaper ends the steps.
  void on_signal(int signal) {
    const Lock lock(mutex_);
    if (signal != SIGUSR1 && (++ends_wanted_ > 1 || !listener_)) return invocation_.context().workflows->leave(130);
    if (listener_) listener_(signal);
  }

  static void pass_on(EventLoop& loop, Execution& execution, int signal) {
    if (signal == SIGUSR1) return loop.post([&execution] { execution.checkpoint_now(Reason::manual); });
    const std::string name = signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGHUP";
    loop.post([&execution, name] { execution.interrupt(name); });
  }

  const Invocation& invocation_;
  std::unique_ptr<RunView> view_;
  const SessionOptions options_;
  Mutex mutex_;
  std::function<void(int)> listener_ PAWL_GUARDED_BY(mutex_);
  int ends_wanted_ PAWL_GUARDED_BY(mutex_) = 0;
  const std::unique_ptr<SignalWatch> signals_;  // after what it calls with
  std::unique_ptr<Store> store_;
  std::unique_ptr<ExecutionServices> services_;
};

std::string spent_text(const Resumption& resumption) {
  std::string text = fmt::format("{} step{}", resumption.plan.kept_steps, resumption.plan.kept_steps == 1 ? "" : "s");
  if (resumption.plan.kept_ms > 0) text += ", " + duration_text(Milliseconds(resumption.plan.kept_ms));
  if (resumption.plan.kept_usage.usd > 0) text += fmt::format(", {:.2f} USD", resumption.plan.kept_usage.usd);
  if (resumption.plan.kept_usage.tokens > 0) text += fmt::format(", {} tokens", resumption.plan.kept_usage.tokens);
  return text + " not spent again";
}

}  // namespace

std::string absolute_path(const CliContext& context, const std::string& file) {
  return context.workflows->files.absolute(file, "");
}

Result<Workflow> load_workflow(const CliContext& context, const std::string& file) {
  const std::string path = absolute_path(context, file);
  PAWL_TRY_ASSIGN(std::string text, context.read_file(path, kWorkflowBytesMax));
  return parse_or_fail({std::move(text), path});
}

std::string fresh_run_id(const std::string& workflow, Random& random) {
  constexpr std::string_view kLetters = "abcdefghijkmnpqrstuvwxyz23456789";  // none that look alike
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

namespace {

/// To standard error with and without --json: nothing of the run is kept.
void say_checkpoints_are_off(const Invocation& invocation, const Config& config) {
  CliContext& context = invocation.context();
  context.err.write(
      fmt::format("pawl: checkpoints are off (checkpoint.enabled: false in {}): this run can't be resumed\n",
                  printable(config.origin("checkpoint", "enabled"))));
  static_cast<void>(context.err.flush());
}

Result<void> start_kept(const Invocation& invocation, const NewRun& run, const SessionOptions& options);

}  // namespace

Result<void> start_workflow(const Invocation& invocation, const NewRun& run, const SessionOptions& options) {
  PAWL_TRY_ASSIGN(const Config* const config, invocation.config());
  if (config->settings.checkpoint.enabled) return start_kept(invocation, run, options);
  say_checkpoints_are_off(invocation, *config);
  Result<void> ended = start_kept(invocation, run, options);
  say_checkpoints_are_off(invocation, *config);
  if (ended) return ended;
  Error error = std::move(ended).error();
  error.hint = "nothing of it was kept: set checkpoint.enabled to true to be able to resume, then run it again";
  return fail(error);
}

namespace {

/// A line of its own before the events.
void tell_recovery(const Invocation& invocation, const RunId& run, const RecoveryResult& recovery) {
  if (!invocation.json()) return invocation.note(recovery_text(recovery));
  Json line = {{"event", "recovery"}, {"run", run.text()}, {"at", invocation.context().clock.now().text()}};
  line.update(to_json(recovery));
  invocation.print(compact(line) + "\n");
}

Result<void> execute_new(const Invocation& invocation, Session& session, OpenedRun opened) {
  const std::string id = opened.id.text();
  const bool plain = !invocation.json() && !shows_live(invocation);  // the live picture says these itself
  if (plain) {
    invocation.print(id + "\n");
    static_cast<void>(invocation.context().out.flush());
  }
  const std::int64_t began_us = invocation.context().clock.monotonic_us();
  PAWL_TRY(session.execute(std::move(opened)));
  const std::int64_t took_us = invocation.context().clock.monotonic_us() - began_us;
  if (plain) invocation.print(fmt::format("run {} completed in {}\n", id, elapsed_text(took_us / 1000)));
  return {};
}

Result<void> execute_resumed(const Invocation& invocation, Session& session, Resumption resumption) {
  const RunId id = resumption.run.id;
  for (const std::string& note : resumption.notes) invocation.note(note);
  if (resumption.recovery.mode != RecoveryMode::latest || resumption.recovery.fell_back)
    tell_recovery(invocation, id, resumption.recovery);
  const std::string spared = spent_text(resumption);
  const Result<void> ended = session.execute(std::move(resumption.run));
  if (!invocation.json()) {
    if (ended && !shows_live(invocation)) invocation.print(fmt::format("run {} completed\n", id.text()));
    invocation.print(spared + "\n");
  }
  return ended;
}

Result<void> tell_finished(const Invocation& invocation, const RunId& id, const FinishedRun& run) {
  PAWL_TRY(how_it_finished(id, run.state));
  if (!invocation.json()) {
    invocation.print(
        fmt::format("run {} already completed {}\n", id.text(), age(run.at, invocation.context().clock.now())));
  } else {
    invocation.print(compact({{"event", "run_completed"}, {"run", id.text()}, {"at", run.at.text()}}) + "\n");
  }
  return {};
}

Result<void> start_kept(const Invocation& invocation, const NewRun& run, const SessionOptions& options) {
  Session session(invocation, options);
  PAWL_TRY(session.open());
  PAWL_TRY_ASSIGN(OpenedRun opened, open_new(session.services(), run));
  return execute_new(invocation, session, std::move(opened));
}

}  // namespace

Result<void> resume_workflow(const Invocation& invocation, const ResumeRequest& request,
                             const SessionOptions& options) {
  PAWL_TRY(invocation.need_checkpoints());
  Session session(invocation, options);
  PAWL_TRY(session.open());
  session.services().child_changes = request.changes;
  session.services().given = request.given;
  PAWL_TRY_ASSIGN(Resumption resumption, open_resume(session.services(), request));
  return execute_resumed(invocation, session, std::move(resumption));
}

Result<void> start_or_resume_workflow(const Invocation& invocation, const NewRun& run, const SessionOptions& options) {
  PAWL_TRY(invocation.need_checkpoints());
  PAWL_TRY_ASSIGN(const Config* const config, invocation.config());
  Session session(invocation, options);
  PAWL_TRY(session.open());
  PAWL_TRY_ASSIGN(RunOrResumption found,
                  open_or_resume(session.services(), run, config->settings.recovery.attempts_max));
  if (auto* opened = std::get_if<OpenedRun>(&found)) return execute_new(invocation, session, std::move(*opened));
  if (auto* resumed = std::get_if<Resumption>(&found)) return execute_resumed(invocation, session, std::move(*resumed));
  return tell_finished(invocation, run.id, std::get<FinishedRun>(found));
}

}  // namespace pawl::cli
