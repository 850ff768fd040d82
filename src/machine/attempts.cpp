// Attempts of commands and handlers.
#include <algorithm>
#include <utility>

#include "base/error_line.hpp"
#include "domain/event_types.hpp"
#include "domain/retry_policy.hpp"
#include "machine/turn.hpp"

namespace pawl::machine {
namespace {

constexpr std::uint32_t kMachineTriesMax = 12;  // about 20 s

/// A fraction between 0 and 1 that differs between steps and attempts.
double jitter_of(const Node& node) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : node.path + std::to_string(node.record.starts)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return static_cast<double>(hash >> 11U) * 0x1.0p-53;
}

std::size_t places(const State& s) {
  const std::uint32_t wanted = s.workflow().parallel;
  return wanted > 0 ? std::min(wanted, s.definition->parallel_max) : s.definition->parallel_max;
}

std::size_t used_places(const State& s) { return s.busy_attempts(); }

Node* running_node(Turn& t, NodeId id, std::uint32_t start) {
  Node* node = find_node(t.s, id);
  if (node == nullptr || node->record.starts != start) return nullptr;
  const bool runs = node->activity == Activity::running || node->activity == Activity::stopping;
  return runs ? node : nullptr;
}

void arm_timeouts(Turn& t, Node& node) {
  if (node.step->timeout)
    node.attempt_timer = set_timer(t, TimerKind::attempt_timeout, node.id, after(t, *node.step->timeout));
  arm_total_timeout(t, node);
}

void launch(Turn& t, Node& node) {
  const Scope& scope = scope_at(t.s, node.scope);
  const auto used = t.s.starts_used.find(node.path);
  if (used != t.s.starts_used.end()) node.record.starts = std::max(node.record.starts, used->second);
  ++node.record.starts;
  touch(t.s, node);
  const bool item_begins = scope.kind == ScopeKind::item && node.index == 0 && node.record.attempts == 0;
  const command::StartAttempt start{node.id, node.path, node.record.starts, node.record.attempts + 1,
                                    t.s.definition->run_uuid + "/" + node.path};
  arm_timeouts(t, node);
  const bool is_durable = t.s.saving.durable > 0;  // the run: otherwise, another one with its name may begin it again
  if ((item_begins && is_durable) || all_durable(t.s)) {
    set_activity(t.s, node, Activity::running);
    t.out.push_back(start);
    return;
  }
  set_activity(t.s, node, Activity::starting);
  when_durable(t, start);
}

bool retries(const Turn& t, const Node& node, const std::string& error, int exit_code) {
  const RetrySettings settings = retry_of(node);
  const auto listed = [exit_code](const std::optional<std::vector<int>>& codes) {
    return codes && std::ranges::find(*codes, exit_code) != codes->end();
  };
  if (exit_code == 126 || exit_code == 127 || listed(settings.no_retry_codes)) return false;
  if (settings.on_codes && !listed(settings.on_codes)) return false;
  if (!settings.when) return true;
  const StateNames names(t.s, scope_at(t.s, node.scope), &node);
  return settings.when->test(AttemptNames(names, error, exit_code, node.record.attempts + 1)).value_or(false);
}

void label_report(Turn& t, const Node& node, const Report& report) {
  for (std::size_t i = 0; i < report.evaluations; ++i)
    label(t, Kind::step_complete, Reason::evaluation_completed, &node);
  announce_confidence(t, node, node.record.starts, report);
  if (report.confidence && crosses(node, *report.confidence))
    label(t, Kind::step_complete, Reason::confidence_crossed, &node);
}

void add_steps(Turn& t, Node& node, const Json& steps) {
  Scope& scope = scope_at(t.s, node.scope);
  if (scope.kind != ScopeKind::top)
    return announce_refused_steps(t, node, "only a step of the workflow's own list can add steps");
  if (const Result<void> valid = can_grow(t.s, node.index, steps); !valid)
    return announce_refused_steps(t, node, describe_in_line(valid.error()));
  record(t, recorded::StepsAdded{.path = node.path, .steps = steps});
  announce_added_steps(t, node, steps);
  enter(t, scope);
}

void succeed(Turn& t, Node& node, const fact::AttemptEnded& f) {
  if (!f.add_steps.is_null()) add_steps(t, node, f.add_steps);
  const auto& confidence = node.step->confidence;  // of the grown list
  if (confidence && f.report.confidence && *f.report.confidence < confidence->below && confidence->then) {
    record(t, recorded::AttemptReported{
                  .path = node.path, .start = f.start, .usage = f.report.usage, .confidence = f.report.confidence});
    announce_low_confidence(t, node);
    node.record.error.clear();
    node.record.output = f.output;
    return begin_aside(t, node, Aside::low_confidence);
  }
  settle(t, node,
         {.status = StepStatus::completed, .output = f.output, .start = f.start, .report = f.report, .ms = f.ms});
}

void fail_attempt(Turn& t, Node& node, const fact::AttemptEnded& f, std::string error, bool may_retry) {
  if (may_retry) may_retry = retries(t, node, error, f.exit_code);
  record(t, recorded::AttemptEnded{.path = node.path,
                                   .start = f.start,
                                   .error = error,
                                   .exit_code = f.exit_code,
                                   .retryable = may_retry,
                                   .usage = f.report.usage,
                                   .progress = f.report.progress,
                                   .confidence = f.report.confidence,
                                   .ms = f.ms});
  const std::optional<Milliseconds> delay =
      may_retry ? next_attempt_in(t, node, error, f.exit_code, f.retry_after) : std::nullopt;
  announce_failed_attempt(t, node, delay);
  // Whether computed attempts are used up is known only now: an automatic resume must not start another one.
  const bool used_up = node.own != nullptr && node.record.spent >= retry_of(node).attempts.value_or(1);
  if (!delay) return fail_step(t, node, std::move(error), may_retry && !used_up, StepReason::none, f.output);
  label(t, Kind::error, Reason::step_failed, &node);
  set_activity(t.s, node, Activity::backoff);
  record(t, recorded::RetryPlanned{.path = node.path, .due = after(t, *delay)});
  node.wait_timer = set_timer(t, TimerKind::backoff, node.id, node.record.due);
}

void interrupt_attempt(Turn& t, Node& node, Stop why, const fact::AttemptEnded& f) {
  record(t, recorded::AttemptEnded{.path = node.path,
                                   .start = f.start,
                                   .how = recorded::AttemptEnd::interrupted,
                                   .usage = f.report.usage,
                                   .progress = f.report.progress,
                                   .confidence = f.report.confidence,
                                   .ms = f.ms});
  announce_interrupted_attempt(t, node, why, f.error);
}

/// An attempt that was told to stop did not complete, whatever its exit code.
void end_stopped(Turn& t, Node& node, const fact::AttemptEnded& f) {
  const Stop why = std::exchange(node.stop, Stop::none);
  if (why == Stop::timeout || why == Stop::total_timeout) {
    set_activity(t.s, node, Activity::idle);
    const bool total = why == Stop::total_timeout;
    return fail_attempt(t, node, f, timeout_text(node, total), !total);
  }
  interrupt_attempt(t, node, why, f);
  cancel_timer(t, node.total_timer);
  set_activity(t.s, node, Activity::idle);
  node.stop = why;
  stopped(t, node);
}

}  // namespace

std::string timeout_text(const Node& node, bool total) {
  if (total) return fmt::format("all attempts together timed out after {}", duration_text(*node.step->total_timeout));
  return fmt::format("timed out after {}", duration_text(*node.step->timeout));
}

RetrySettings retry_of(const Node& node) { return node.step->retry; }

void arm_total_timeout(Turn& t, Node& node) {
  if (!node.step->total_timeout || node.total_timer != TimerId::none) return;
  const std::int64_t from_us = node.record.driven_from_us < 0 ? driven_us(t) : node.record.driven_from_us;
  const std::int64_t used_us = driven_us(t) - from_us;
  const std::int64_t left_us = std::chrono::microseconds(*node.step->total_timeout).count() - used_us;
  node.total_timer =
      set_timer(t, TimerKind::total_timeout, node.id, Timestamp{t.now.us + std::max<std::int64_t>(left_us, 0)});
}

std::optional<Milliseconds> next_attempt_in(const Turn& t, const Node& node, const std::string&, int,
                                            std::optional<Milliseconds> retry_after) {
  const RetrySettings settings = retry_of(node);
  RetryPolicy policy;
  policy.attempts = settings.attempts.value_or(1);
  policy.base_delay_ms = static_cast<std::uint64_t>(settings.backoff.value_or(Milliseconds(1000)).count());
  policy.max_delay_ms = static_cast<std::uint64_t>(settings.max_backoff.value_or(Milliseconds(60'000)).count());
  policy.factor = settings.factor.value_or(2.0);
  policy.jitter = settings.jitter.value_or(false) ? 0.5 : 0.0;
  const Scope& scope = scope_at(t.s, node.scope);
  const bool scope_goes_on = !scope.failed || overrides_skipping(*node.step);
  if (!policy.allows_after(node.record.spent) || !scope_goes_on || scope.stopping) return std::nullopt;
  const Milliseconds delay(policy.delay_ms(node.record.spent, jitter_of(node)));
  return std::max(delay, retry_after.value_or(Milliseconds(0)));
}

void begin_attempts(Turn& t, Node& node) {
  node.machine_failures = 0;
  if (node.own != nullptr && node.record.spent > 0 && node.record.spent >= retry_of(node).attempts.value_or(1))
    return fail_step(t, node, node.record.error.empty() ? "all attempts are used up" : node.record.error, true);
  if (node.record.due > t.now && node.record.attempts > 0) {
    set_activity(t.s, node, Activity::backoff);
    node.wait_timer = set_timer(t, TimerKind::backoff, node.id, node.record.due);
    return;
  }
  if (node.step->cache && !node.looked_up) {
    const Result<std::string> key = node.step->cache->key.render(StateNames(t.s, scope_at(t.s, node.scope), &node));
    if (!key) return fail_step(t, node, key.error().message, false);
    node.cache_key = *key;
    set_activity(t.s, node, Activity::looking_up);
    t.out.push_back(command::LookUpCache{node.id, *key, node.step->cache->ttl});
    return;
  }
  want_attempt(t, node);
}

void handle(Turn& t, const fact::CacheAnswered& f) {
  Node* node = find_node(t.s, f.node);
  if (node == nullptr || node->activity != Activity::looking_up) return;
  set_activity(t.s, *node, Activity::idle);
  if (f.hit) {
    node->cache_key.clear();
    return settle(t, *node, {.status = StepStatus::completed, .output = f.output, .cached_from = f.from});
  }
  node->looked_up = true;
  want_attempt(t, *node);
}

void want_attempt(Turn& t, Node& node) {
  set_activity(t.s, node, Activity::queued);
  t.s.queue.push_back(node.id);
  t.tasks.push_back({Task::What::pump, NodeId::none, ScopeId::none});
}

void postpone(Turn& t, Node& node) {
  cancel_timer(t, node.attempt_timer);
  release_permits(t, node);
  --node.record.starts;
  touch(t.s, node);
  want_attempt(t, node);
}

/// A step that waits for a place does not start after a failure beside it.
void leave_queue(Turn& t, Node& node) {
  std::erase(t.s.queue, node.id);
  set_activity(t.s, node, Activity::idle);
  cancel_timer(t, node.total_timer);
  if (node.record.spent > 0 && node.record.attempts > 0) return fail_step(t, node, node.record.error, true);
  node.active = false;
  --scope_at(t.s, node.scope).active;
  t.tasks.push_back({Task::What::check_scope, NodeId::none, node.scope});
}

void pump(Turn& t) {
  std::size_t rounds = t.s.queue.size();
  while (rounds-- > 0 && used_places(t.s) < places(t.s)) {
    const NodeId id = t.s.queue.front();
    Node* node = find_node(t.s, id);
    if (node == nullptr || node->activity != Activity::queued) {
      t.s.queue.pop_front();
      continue;
    }
    const Scope& scope = scope_at(t.s, node->scope);
    t.s.queue.pop_front();
    if (scope.failed && !overrides_skipping(*node->step)) {
      leave_queue(t, *node);
    } else if (!may_start(t, scope)) {
      announce_budget(t, *node);
      t.s.queue.push_back(id);
    } else if (!node->step->uses.empty()) {
      set_activity(t.s, *node, Activity::acquiring);
      t.out.push_back(command::AcquirePermits{id, node->step->uses});
      node->holds_permits = true;
    } else {
      launch(t, *node);
    }
  }
}

void handle(Turn& t, const fact::PermitsGranted& f) {
  Node* node = find_node(t.s, f.node);
  if (node == nullptr || node->activity != Activity::acquiring) return;
  if (may_launch(t, *node)) return launch(t, *node);
  release_permits(t, *node);
  want_attempt(t, *node);
}

void handle(Turn& t, const fact::AttemptStarted& f) {
  if (const Node* node = running_node(t, f.node, f.start)) announce_attempt(t, *node);
}

void handle(Turn& t, const fact::AttemptReported& f) {
  Node* node = running_node(t, f.node, f.start);
  if (node == nullptr) return;
  label_report(t, *node, f.report);
  record(t, recorded::AttemptReported{.path = node->path,
                                      .start = f.start,
                                      .usage = f.report.usage,
                                      .progress = f.report.progress,
                                      .confidence = f.report.confidence,
                                      .decisions = f.report.decisions});
}

void handle(Turn& t, const fact::AttemptEnded& f) {
  Node* node = running_node(t, f.node, f.start);
  if (node == nullptr) return;
  cancel_timer(t, node->attempt_timer);
  release_permits(t, *node);
  node->machine_failures = 0;
  label_report(t, *node, f.report);
  t.tasks.push_back({Task::What::pump, NodeId::none, ScopeId::none});
  if (node->activity == Activity::stopping) return end_stopped(t, *node, f);
  set_activity(t.s, *node, Activity::idle);
  if (f.error.empty() && f.exit_code == 0) return succeed(t, *node, f);
  const std::string error = f.error.empty() ? fmt::format("exit status {}", f.exit_code) : f.error;
  fail_attempt(t, *node, f, error, f.retryable);
}

/// Never counts as an attempt: the step is tried again, and in the end the run pauses.
void pause_for_machine(Turn& t, Node& node, const std::string& error) {
  ++node.machine_failures;
  if (node.machine_failures >= kMachineTriesMax) {
    set_activity(t.s, node, Activity::idle);
    return hold_run(t, Hold::machine, error);
  }
  const RetryPolicy policy{
      .attempts = kMachineTriesMax, .base_delay_ms = 100, .max_delay_ms = 3'000, .factor = 2.0, .jitter = 0.0};
  set_activity(t.s, node, Activity::machine_backoff);
  node.wait_timer = set_timer(t, TimerKind::machine_backoff, node.id,
                              after(t, Milliseconds(policy.delay_ms(node.machine_failures, 0.0))));
  tell(t, event_type::kStorageTrouble, &node,
       {{"error", error}, {"try", node.machine_failures}, {"tries", kMachineTriesMax}});
}

void handle(Turn& t, const fact::AttemptNotStarted& f) {
  Node* node = running_node(t, f.node, f.start);
  if (node == nullptr) return;
  cancel_timer(t, node->attempt_timer);
  release_permits(t, *node);
  t.tasks.push_back({Task::What::pump, NodeId::none, ScopeId::none});
  const fact::AttemptEnded ended{
      .node = f.node, .start = f.start, .error = f.error, .exit_code = f.retryable ? 1 : 127};
  if (node->activity == Activity::stopping) return end_stopped(t, *node, ended);
  if (f.party == fact::Party::machine) return pause_for_machine(t, *node, f.error);
  set_activity(t.s, *node, Activity::idle);
  fail_attempt(t, *node, ended, f.error, f.retryable);
}

void handle(Turn& t, const fact::AttemptLost& f) {
  Node* node = running_node(t, f.node, f.start);
  if (node == nullptr) return;
  cancel_timer(t, node->attempt_timer);
  release_permits(t, *node);
  t.tasks.push_back({Task::What::pump, NodeId::none, ScopeId::none});
  const std::string error = "the process that watches the steps is gone";
  const fact::AttemptEnded ended{.node = f.node, .start = f.start, .error = error, .report = f.report};
  if (node->activity == Activity::stopping) return end_stopped(t, *node, ended);
  interrupt_attempt(t, *node, Stop::none, ended);
  pause_for_machine(t, *node, error);
}

void handle(Turn& t, const fact::AttemptLeft& f) {
  const auto used = t.s.starts_used.find(f.path);
  if (used != t.s.starts_used.end() && f.start <= used->second) return;  // a rollback took it back
  const Node* node = resolve_open(t.s, f.path);
  if (node == nullptr) {
    // It may be of `on_failure` steps that ran again in an execution that could not save anything.
    const Node* over = find_node(t.s, f.path);
    if (over != nullptr && f.start > over->record.starts)
      record(t, recorded::AttemptReported{.path = f.path, .start = f.start, .usage = f.report.usage});
    return;
  }
  announce_confidence(t, *node, f.start, f.report);
  record(t, recorded::AttemptEnded{.path = f.path,
                                   .start = f.start,
                                   .how = recorded::AttemptEnd::interrupted,
                                   .usage = f.report.usage,
                                   .progress = f.report.progress,
                                   .confidence = f.report.confidence,
                                   .left = true});
}

}  // namespace pawl::machine
