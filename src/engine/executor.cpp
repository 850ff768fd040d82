#include "engine/executor.hpp"

#include <algorithm>
#include <csignal>

#include "base/error_line.hpp"
#include "domain/event_types.hpp"
#include "engine/environment_entries.hpp"
#include "machine/names.hpp"
#include "machine/snapshot.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kPoll_us = 150'000;
constexpr std::int64_t kMemoryCheck_us = 500'000;
constexpr std::int64_t kNotifyMax_us = 30'000'000;

using machine::TimerKind;

/// Sleeps and waits end at a time of the wall clock, also if the machine slept meanwhile.
bool is_wall_time(TimerKind kind) { return kind == TimerKind::sleep || kind == TimerKind::wait_deadline; }

RunState without_steps(RunState state) {
  state.steps.clear();
  return state;
}

}  // namespace

Executor::Executor(const ExecutionServices& services, EventLoop& loop, OpenedRun run)
    : context_{.services = services,
               .loop = loop,
               .id = run.id,
               .uuid = run.writer->info().uuid,
               .workflow = run.workflow,
               .base = without_steps(run.state),
               .logs = run.logs,
               .work = run.work.empty() ? run.logs : run.work,
               .open_output = run.open_output,
               .masks = RunMasks(services.settings.secrets, run.state.masked_keys, std::move(run.key_values))},
      recorder_(context_, std::move(run.writer), run.events, std::move(run.first_events)),
      trees_(context_, recorder_),
      items_(context_, recorder_),
      launcher_(context_, recorder_, trees_, items_),
      children_(context_),
      inbox_(context_, recorder_),
      prompts_(context_),
      shared_(context_, recorder_),
      resume_(std::move(run.resume)),
      loaded_(std::move(run.state)) {
  context_.feed = [this](machine::Fact fact) { feed(std::move(fact)); };
  context_.read_inbox = [this] { inbox_.poll(); };
  context_.tell = [this](const char* type, const std::string& step, Json data) {
    recorder_.tell({.type = type, .path = step, .data = std::move(data), .lasts = true});
  };
}

Executor::~Executor() { *context_.alive = false; }

std::shared_ptr<const machine::Definition> Executor::make_definition() {
  auto made = std::make_shared<machine::Definition>();
  const ExecutionServices& services = context_.services;
  made->workflow = context_.workflow;
  made->run_id = context_.id.text();
  made->run_uuid = context_.uuid.text();
  made->vars = context_.base.vars;
  for (const std::string& entry : context_.environment.empty() ? services.environment : context_.environment)
    made->environment[entry.substr(0, entry.find('='))] = std::string(entry_value(entry));
  if (services.parse_added) {
    made->parse_added = [&services, workflow = context_.workflow](const Json& steps, const Steps& siblings,
                                                                  std::size_t after) {
      return services.parse_added(steps, *workflow, siblings, after);
    };
  }
  made->parallel_max = services.parallel_max;
  made->stays_while_waiting = services.waiting == Waiting::stay;
  made->asks_a_person = services.prompt != nullptr;
  return made;
}

/// The environment of the process, then the env files, then the workflow's own entries.
Result<void> Executor::make_environment() {
  const ExecutionServices& services = context_.services;
  std::vector<std::string> entries = services.environment;
  for (const std::string& file : context_.workflow->env_files) {
    const std::string path = services.files.absolute(file, context_.base.working_dir);
    PAWL_TRY_ASSIGN(const std::string text, services.files.read(path, 1U << 20U));
    PAWL_TRY_ASSIGN(std::vector<std::string> read, parse_env_file(text, path));
    for (std::string& entry : read) set_entry(entries, std::move(entry));
  }
  const machine::State& state = context_.state;
  const machine::StateNames names(state, machine::scope_at(state, state.top), nullptr);
  for (const auto& [name, value] : context_.workflow->env) {
    PAWL_TRY_ASSIGN(const std::string text, value.render(names));
    set_entry(entries, name + "=" + text);
  }
  context_.environment = std::move(entries);
  return context_.masks.learn(services.settings.secrets, context_.workflow->secrets, context_.environment,
                              context_.base.vars);
}

Result<void> Executor::begin() {
  PAWL_TRY(make_environment());
  context_.state.definition = make_definition();  // with that environment
  recorder_.mask_first_events();
  if (!resume_) {
    feed(machine::fact::RunBegan{});
    return {};
  }
  launcher_.report_left();
  feed(machine::fact::RunResumed{
      .automatic = resume_->automatic, .changes_accepted = resume_->changes_accepted, .budget = resume_->budget});
  return {};
}

void Executor::start() {
  inbox_.unseal();
  if (resume_) {
    Result<machine::State> restored = machine::restore(make_definition(), std::exchange(loaded_, {}));
    if (!restored) {
      trouble_ = restored.error();
      finish_ = machine::command::Finish{machine::Ending::machine_trouble, RunStatus::interrupted,
                                         restored.error().message, false};
      return;
    }
    context_.state = std::move(*restored);
  } else {
    context_.state = machine::empty_state(make_definition());
  }
  if (const Result<void> begun = begin(); !begun)
    feed(machine::fact::RunRefused{.error = describe_in_line(begun.error())});
  watch();
}

/// Facts are handled one at a time: what commands of one lead to waits until all of its commands are done.
void Executor::feed(machine::Fact fact) {
  facts_.push_back(std::move(fact));
  if (feeding_) return;
  feeding_ = true;
  while (!facts_.empty()) {
    const machine::Fact next = std::move(facts_.front());
    facts_.pop_front();
    for (machine::Command& command : machine::step(context_.state, next, context_.services.clock.now()))
      perform(std::move(command));
  }
  feeding_ = false;
  const std::uint64_t before = std::exchange(progress_, context_.state.completed_steps);
  if (when_progress_ && before != progress_) when_progress_();
}

void Executor::perform(machine::Command&& command) {
  namespace c = machine::command;
  std::visit(
      [this](auto& it) {
        using T = std::remove_cvref_t<decltype(it)>;
        if constexpr (std::is_same_v<T, c::StartAttempt>) launcher_.start(it);
        if constexpr (std::is_same_v<T, c::StopAttempt>) launcher_.stop(it);
        if constexpr (std::is_same_v<T, c::SetTimer>) set_timer(it);
        if constexpr (std::is_same_v<T, c::CancelTimer>) {
          const auto timer = timers_.extract(it.timer);
          if (!timer.empty()) context_.loop.cancel(timer.mapped());
        }
        if constexpr (std::is_same_v<T, c::Save>) recorder_.save(*it.batch);
        if constexpr (std::is_same_v<T, c::LoadItems>) items_.load_items(it);
        if constexpr (std::is_same_v<T, c::LoadItem>) items_.load_item(it);
        if constexpr (std::is_same_v<T, c::LoadOutput>) items_.load_output(it);
        if constexpr (std::is_same_v<T, c::LoadFinished>) items_.load_finished(it);
        if constexpr (std::is_same_v<T, c::MergeItems>) trees_.merge_items(it);
        if constexpr (std::is_same_v<T, c::Tell>) recorder_.tell(std::move(it));
        if constexpr (std::is_same_v<T, c::Ask>) prompts_.open(it);
        if constexpr (std::is_same_v<T, c::ClosePrompt>) prompts_.close(it);
        if constexpr (std::is_same_v<T, c::StartChild>) children_.start(it);
        if constexpr (std::is_same_v<T, c::StopChild>) children_.stop(it);
        if constexpr (std::is_same_v<T, c::PauseChild>) children_.pause(it);
        if constexpr (std::is_same_v<T, c::AcquirePermits>) shared_.acquire(it);
        if constexpr (std::is_same_v<T, c::ReleasePermits>) shared_.release(it);
        if constexpr (std::is_same_v<T, c::LookUpCache>) shared_.look_up(it);
        if constexpr (std::is_same_v<T, c::StoreCache>) shared_.store(it);
        if constexpr (std::is_same_v<T, c::TakeMessage>) inbox_.take(it);
        if constexpr (std::is_same_v<T, c::ReadInbox>) inbox_.read(it);
        if constexpr (std::is_same_v<T, c::UnsealInbox>) inbox_.unseal();
        if constexpr (std::is_same_v<T, c::Notify>) notify();
        if constexpr (std::is_same_v<T, c::Finish>) finished(it);
      },
      command);
}

void Executor::set_timer(const machine::command::SetTimer& command) {
  const auto due = [this, alive = context_.alive, timer = command.timer] {
    if (!*alive) return;
    timers_.erase(timer);
    feed(machine::fact::TimerDue{timer});
  };
  if (is_wall_time(command.kind)) {
    timers_[command.timer] = context_.loop.at(command.due, due);
  } else {
    const Timestamp from = std::max(context_.services.clock.now(), context_.state.last_at);
    timers_[command.timer] = context_.loop.after(command.due.us - from.us, due);
  }
}

void Executor::checkpoint_now(Reason reason) {
  launcher_.read_reports();
  feed(machine::fact::CheckpointWanted{reason});
}

/// Tells a person or a program outside that the run waits, failed or finished.
void Executor::notify() {
  if (context_.loop.processes() == nullptr || !context_.workflow->notify) return;
  ProcessSpec spec;
  spec.environment = context_.environment;
  const RunState now = state();
  const std::vector<std::string> waits = waiting_for();
  set_entry(spec.environment, "PAWL_RUN=" + context_.id.text());
  set_entry(spec.environment, "PAWL_STORE=" + context_.services.store_uri);
  set_entry(spec.environment, fmt::format("PAWL_STATUS={}", to_text(now.status)));
  set_entry(spec.environment, "PAWL_ERROR=" + now.error.substr(0, 4096));
  set_entry(spec.environment, fmt::format("PAWL_WAITING_FOR={}", fmt::join(waits, ", ")).substr(0, 4096));
  const machine::State& state = context_.state;
  const machine::StateNames names(state, machine::scope_at(state, state.top), nullptr);
  const Result<Json> values = set_arguments(spec.environment, *context_.workflow->notify, names);
  if (!values)
    return recorder_.tell({.type = event_type::kNotifyFailed, .data = {{"error", describe_in_line(values.error())}}});
  spec.working_dir = context_.base.working_dir;
  spec.argv = shell_words_of(*context_.workflow->notify, context_.workflow->shell);
  const auto output = context_.make_output(context_.logs + "/notify.log", {.tail_bytes = kTailBytes});
  spec.output = output;
  spec.errors = output;
  ++notifying_;
  const ProcessRunner::Number number = context_.loop.start_process(spec, [this, alive = context_.alive,
                                                                          output](const ProcessEnd& end) {
    if (!*alive) return;
    --notifying_;
    if (end.how == ProcessEnd::How::exited && end.exit_code == 0) return;
    recorder_.tell({.type = event_type::kNotifyFailed,
                    .data = {{"error", end.error.empty() ? fmt::format("exit status {}", end.exit_code) : end.error},
                             {"log", readable_tail(std::string(output->tail()))}}});
  });
  context_.loop.after(kNotifyMax_us, [this, alive = context_.alive, number] {
    if (*alive && notifying_ > 0) context_.loop.signal_process(number, SIGKILL);
  });
}

void Executor::finished(const machine::command::Finish& command) {
  finish_ = command;
  prompts_.close_all();
  launcher_.remove_spares();
  if (context_.work != context_.logs) context_.services.files.remove_folder(context_.work);
  if (command.ending == machine::Ending::machine_trouble || !command.everything_saved) {
    recorder_.dump_if_degraded();
    trouble_ = recorder_.error() ? recorder_.error() : launcher_.trouble();
    if (!trouble_) trouble_ = Error{Code::process_failed, command.error, {}, {}, 0};
  }
}

void Executor::round() {
  if (over_) return;
  children_.round();
  if (!finish_ || notifying_ > 0 || recorder_.saving()) return;
  over_ = true;
  if (when_ended_) when_ended_();
}

/// What happens again and again while the run is driven.
void Executor::watch() {
  const auto repeat = [this](std::int64_t period_us, auto task) {
    auto again = std::make_shared<std::function<void()>>();
    *again = [this, alive = context_.alive, period_us, task, again] {
      if (!*alive || finish_) return;
      task();
      context_.loop.after(period_us, *again);
    };
    context_.loop.after(period_us, *again);
  };
  inbox_.poll();
  repeat(kPoll_us, [this] {
    inbox_.poll();
    children_.poll();
    launcher_.read_reports();
    if (context_.services.observer != nullptr) context_.services.observer->on_tick();
  });
  const CheckpointTriggers& triggers = context_.workflow->checkpoint;
  if (triggers.interval)
    repeat(std::max<std::int64_t>(std::chrono::microseconds(*triggers.interval).count(), 10'000),
           [this] { checkpoint_now(Reason::time_interval); });
  if (!triggers.memory_limit_bytes || !context_.services.resident_bytes) return;
  repeat(kMemoryCheck_us, [this, limit = *triggers.memory_limit_bytes] {
    const std::uint64_t resident = context_.services.resident_bytes();
    if (resident <= limit) return;
    context_.tell(event_type::kMemoryPressure, "", {{"resident_bytes", resident}});
    checkpoint_now(Reason::memory_pressure);
  });
}

RunState Executor::state() const { return machine::head_of(context_.state, context_.base); }

std::vector<std::pair<std::string, StepRecord>> Executor::records() const {
  const auto event = [this](std::uint64_t record) { return recorder_.event_of(record); };
  return machine::snapshot(context_.state, context_.base, event).steps;
}

bool Executor::rejected() const {
  const machine::Scope& top = machine::scope_at(context_.state, context_.state.top);
  return top.failed && top.rejected;
}

bool Executor::exhausted() const {
  return std::ranges::any_of(context_.state.nodes, [](const auto& entry) {
    const machine::Node& node = entry.second;
    return node.record.status == StepStatus::failed && node.record.reason == StepReason::exhausted &&
           !node.step->continue_on_error;
  });
}

std::vector<Gate> Executor::gates() const {
  std::vector<Gate> gates;
  for (const auto& [id, node] : context_.state.nodes) {
    if (node.activity == machine::Activity::asking)
      gates.push_back({context_.id.text(), node.path, node.record.detail, node.record.binding});
  }
  std::ranges::sort(gates, {}, &Gate::step);
  children_.add_gates(gates);
  return gates;
}

}  // namespace pawl
