// Gates, sleeps, signals and deadlines.
#include <algorithm>

#include "base/hash.hpp"
#include "machine/turn.hpp"

namespace pawl::machine {
namespace {

void wait_until(Turn& t, Node& node, TimerKind kind, Timestamp due) {
  if (due.us == 0) return;
  node.wait_timer = set_timer(t, kind, node.id, std::max(due, t.now));
}

/// A gate whose deadline passed without an answer.
void gate_timed_out(Turn& t, Node& node, const Approve& gate) {
  t.out.push_back(command::ClosePrompt{node.id, node.path});
  set_activity(t.s, node, Activity::idle);
  const std::string error = fmt::format("no decision within {}", duration_text(*gate.timeout));
  switch (gate.on_timeout) {
    case OnTimeout::reject:
      record(t, recorded::Decided{.path = node.path, .timed_out = true, .binding = node.record.binding});
      announce_timed_out_gate(t, node, gate.on_timeout);
      return fail_step(t, node, "rejected: " + error, false, StepReason::rejected);
    case OnTimeout::go_on:
      record(t, recorded::Decided{.path = node.path, .timed_out = true, .binding = node.record.binding});
      announce_timed_out_gate(t, node, gate.on_timeout);
      return complete(t, node, {{"approved", false}, {"timed_out", true}});
    case OnTimeout::fail: break;
  }
  record(t, recorded::AttemptEnded{.path = node.path, .error = error});
  const auto delay = next_attempt_in(t, node, error, 0, std::nullopt);
  announce_failed_attempt(t, node, delay);
  if (!delay) return fail_step(t, node, error, true, StepReason::timed_out);
  set_activity(t.s, node, Activity::backoff);
  node.wait_timer = set_timer(t, TimerKind::backoff, node.id, after(t, *delay));
}

}  // namespace

/// Covers the run, the gate, its prompt and inputs, and the workflow, but nothing that changes while the gate waits.
Result<std::string> gate_binding(const State& s, const Node& node, std::string& prompt) {
  const Scope& scope = scope_at(s, node.scope);
  PAWL_TRY_ASSIGN(prompt, std::get<Approve>(node.step->work).prompt.render(StateNames(s, scope, &node)));
  Json inputs = Json::object();
  for (const std::size_t before : node.step->after) {
    const Node& other = node_at(s, scope.nodes[before]);
    // The results of a map are not always in memory. The binding must not depend on that.
    const auto* map = std::get_if<Map>(&other.step->work);
    if (map != nullptr && map->reduce == nullptr && other.record.map) {
      inputs[other.step->id] = {other.record.map->items_hash, other.record.map->failed.text()};
    } else {
      PAWL_TRY_ASSIGN(inputs[other.step->id], output_of(other));
    }
  }
  Json shown = {{"run", s.definition->run_uuid},
                {"gate", node.path},
                {"prompt", prompt},
                {"inputs", inputs},
                {"vars", s.definition->vars},
                {"workflow", s.workflow().hash}};
  if (s.rollbacks > 0) shown["rollbacks"] = s.rollbacks;  // a decision counts once
  if (const auto used = s.starts_used.find(node.path); used != s.starts_used.end()) shown["before"] = used->second;
  if (node.record.attempts > 0) shown["attempt"] = node.record.attempts + 1;
  return "sha256:" + to_hex(sha256(compact(shown)));
}

void begin_gate(Turn& t, Node& node) {
  std::string prompt;
  const Result<std::string> binding = gate_binding(t.s, node, prompt);
  if (!binding) return fail_step(t, node, binding.error().message, false);
  if (node.record.status != StepStatus::waiting || node.record.binding != *binding) {
    const auto& timeout = std::get<Approve>(node.step->work).timeout;
    record(t, recorded::WaitBegan{.path = node.path,
                                  .reason = StepReason::approval,
                                  .detail = prompt,
                                  .binding = *binding,
                                  .due = timeout ? after(t, *timeout) : Timestamp{}});
    announce_gate(t, node);
    label(t, Kind::waiting, Reason::before_step, &node);
  }
  set_activity(t.s, node, Activity::asking);
  wait_until(t, node, TimerKind::wait_deadline, node.record.due);
  when_durable(t, command::Ask{node.id, node.path, prompt, *binding});
  if (const auto early = t.s.early_decisions.extract(node.id)) {
    for (const fact::MessageArrived& decision : early.mapped()) decide(t, decision);
  }
}

void begin_sleep(Turn& t, Node& node) {
  if (node.record.due.us == 0) {
    const StateNames names(t.s, scope_at(t.s, node.scope), &node);
    const Result<Json> value = std::get<Sleep>(node.step->work).duration.evaluate(names);
    if (!value) return fail_step(t, node, value.error().message, false);
    std::optional<Milliseconds> duration;
    if (value->is_string()) duration = parse_duration(value->get<std::string>());
    if (value->is_number() && value->get<double>() >= 0 && value->get<double>() < 1e10)
      duration = Milliseconds(static_cast<std::int64_t>(value->get<double>() * 1000));
    if (!duration)
      return fail_step(t, node, fmt::format("invalid duration '{}' (for example: 30s, 5m, 2h)", text_of(*value)),
                       false);
    record(t, recorded::WaitBegan{.path = node.path, .reason = StepReason::timer, .due = after(t, *duration)});
    announce_timer(t, node);
    label(t, Kind::waiting, Reason::before_step, &node);
  }
  set_activity(t.s, node, Activity::sleeping);
  wait_until(t, node, TimerKind::sleep, node.record.due);
}

bool is_late(const Node& node, Timestamp sent) {
  const bool limited = node.record.status == StepStatus::waiting && node.record.due.us != 0;
  return limited && sent > node.record.due;
}

void begin_listening(Turn& t, Node& node) {
  const auto& wait = std::get<WaitFor>(node.step->work);
  const auto early = std::ranges::find(t.s.signals, wait.signal, &EarlySignal::name);
  if (early != t.s.signals.end() && !is_late(node, early->sent)) {
    Json payload = early->payload;
    record(t, recorded::SignalConsumed{.path = node.path, .signal = wait.signal});
    announce_consumed_signal(t, node, wait.signal);
    return complete(t, node, std::move(payload));
  }
  if (node.record.status != StepStatus::waiting) {
    record(t, recorded::WaitBegan{.path = node.path,
                                  .reason = StepReason::signal,
                                  .detail = wait.signal,
                                  .due = wait.timeout ? after(t, *wait.timeout) : Timestamp{}});
    announce_listening(t, node);
    label(t, Kind::waiting, Reason::before_step, &node);
  }
  set_activity(t.s, node, Activity::listening);
  wait_until(t, node, TimerKind::wait_deadline, node.record.due);
}

void wait_over(Turn& t, Node& node) {
  if (node.activity == Activity::sleeping) return complete(t, node, Json());
  if (node.activity == Activity::asking) return gate_timed_out(t, node, std::get<Approve>(node.step->work));
  if (node.activity != Activity::listening) return;
  set_activity(t.s, node, Activity::idle);
  fail_step(t, node, fmt::format("timed out waiting for signal '{}'", std::get<WaitFor>(node.step->work).signal), false,
            StepReason::timed_out);
}

void arm_deadline(Turn& t, Node& node) {
  const bool container = !has_attempts(*node.step) && !std::holds_alternative<Approve>(node.step->work);
  if (!node.step->deadline || !container || node.deadline_timer != TimerId::none) return;
  const std::int64_t used_us = node.record.driven_from_us < 0 ? 0 : driven_us(t) - node.record.driven_from_us;
  const std::int64_t left_us = std::chrono::microseconds(*node.step->deadline).count() - used_us;
  const Timestamp due{t.now.us + std::max<std::int64_t>(left_us, 0)};
  node.deadline_timer = set_timer(t, TimerKind::deadline, node.id, due);
}

}  // namespace pawl::machine
