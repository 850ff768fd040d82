// What observers are told: types and data of the events that users see.
#include <algorithm>
#include <utility>

#include "domain/confidence.hpp"
#include "domain/event_types.hpp"
#include "machine/machine.hpp"
#include "machine/turn.hpp"

namespace pawl::machine {
namespace {

constexpr double kDefaultConfidence = 0.75;

double confidence_limit(const Node& node) {
  return node.step->confidence ? node.step->confidence->below : kDefaultConfidence;
}

/// Returns the time that the step took. The time between two executions counts only for waits.
std::uint64_t took_ms(const Node& node) {
  const StepRecord& record = node.record;
  if (contains_steps(*node.step) || (has_attempts(*node.step) && record.attempts > 0)) return record.duration_ms;
  const std::int64_t us = record.ended.us - record.started.us;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(us, 0)) / 1000;
}

const char* type_of_end(StepStatus status) {
  switch (status) {
    case StepStatus::skipped: return event_type::kStepSkipped;
    case StepStatus::completed: return event_type::kStepCompleted;
    default: return event_type::kStepFailed;  // also what fail_fast or a deadline stopped
  }
}

Json usd_of(const Usage& usage) { return usage.document()["usd"]; }

}  // namespace

// Steps.

void announce_begun_step(Turn& t, const Node& node) {
  const bool waits = node.record.status == StepStatus::waiting;
  if (waits || scope_at(t.s, node.scope).kind == ScopeKind::item) return;
  Json data = {{"again", node.record.started.us != 0}};
  if (!node.step->stage.empty()) data["stage"] = node.step->stage;
  tell_lasting(t, event_type::kStepStarted, &node, std::move(data));
}

void announce_settled_step(Turn& t, const Node& node) {
  const StepRecord& record = node.record;
  if (record.status == StepStatus::failed && t.s.confidence)
    tell_lasting(t, event_type::kConfidenceAdjusted, &node, {{"confidence", *t.s.confidence}});
  const bool has_large_output = record.output_event == t.s.records;
  const bool is_cached = record.status == StepStatus::completed && node.looked_up && !node.cache_key.empty();
  if (scope_at(t.s, node.scope).kind == ScopeKind::item && !has_large_output && !is_cached) return;
  Json data = {{"status", to_text(record.status)}, {"attempts", record.attempts}, {"ms", took_ms(node)}};
  const bool rescued = record.status == StepStatus::completed && !record.detail.empty();
  const std::string& error = rescued ? record.detail : record.error;
  if (!error.empty()) data["error"] = error;
  if (record.reason == StepReason::skipped) data["reason"] = record.detail;
  if (has_large_output) data["output"] = *node.output;
  if (is_cached) {  // other runs read the result from this event
    data["cache_key"] = cache_hash(*node.step, node.cache_key);
    if (!has_large_output) data["output"] = record.output;
  }
  if (!node.cached_from.empty()) data["cached_from"] = node.cached_from;
  t.out.push_back(command::Tell{.type = type_of_end(record.status),
                                .path = node.path,
                                .data = std::move(data),
                                .lasts = true,
                                .record = has_large_output || is_cached ? t.s.records : 0});
}

void announce_breakpoint(Turn& t, const Node& node, const char* where) {
  tell_lasting(t, event_type::kBreakpoint, &node, {{"where", where}});
}

void announce_budget(Turn& t, const Node& node) {
  State& s = t.s;
  if (s.budget_told || s.hold != Hold::none || s.finishing || !over_budget(s)) return;
  if (is_within(s, scope_at(s, node.scope), ScopeKind::finally)) return;
  s.budget_told = true;
  tell_lasting(t, event_type::kBudgetReached, &node, {{"tokens", s.usage.tokens}, {"usd", usd_of(s.usage)}});
}

void announce_phase(Turn& t, const Step& last) {
  if (!last.stage.empty()) return tell_lasting(t, event_type::kStageCompleted, nullptr, {{"stage", last.stage}});
  tell_lasting(t, event_type::kLayerCompleted, nullptr, {{"layer", last.layer}});
}

void announce_rescue(Turn& t, const Node& node) {
  tell_lasting(t, event_type::kRescued, &node, {{"error", node.record.error}});
}

void announce_added_steps(Turn& t, const Node& node, const Json& steps) {
  tell_lasting(t, event_type::kStepsAdded, &node, {{"steps", steps}});
}

void announce_refused_steps(Turn& t, const Node& node, const std::string& error) {
  tell_lasting(t, event_type::kStepsRefused, &node, {{"error", error}});
}

void announce_iteration(Turn& t, const Node& node) {
  const std::uint32_t max = std::get<Loop>(node.step->work).max;
  tell_lasting(t, event_type::kIterationStarted, &node, {{"iteration", node.record.iteration}, {"max", max}});
}

void announce_ended_iteration(Turn& t, const Node& node, const recorded::IterationEnded& ended) {
  tell_lasting(t, event_type::kIterationCompleted, &node,
               {{"iteration", ended.iteration}, {"satisfied", ended.satisfied}});
}

void announce_child(Turn& t, const Node& node) {
  tell_lasting(t, event_type::kChildStarted, &node, {{"run", node.record.child_run}});
}

// Attempts.

void announce_attempt(Turn& t, const Node& node) {
  tell(t, event_type::kAttemptStarted, &node, {{"attempt", node.record.attempts + 1}});
}

void announce_failed_attempt(Turn& t, const Node& node, std::optional<Milliseconds> again_in) {
  const StepRecord& record = node.record;
  Json data = {{"attempt", record.attempts}, {"error", record.error}, {"retryable", record.retryable}};
  if (again_in) data["again_in_ms"] = again_in->count();
  tell_lasting(t, event_type::kAttemptFailed, &node, std::move(data));
}

void announce_interrupted_attempt(Turn& t, const Node& node, Stop why, const std::string& error) {
  std::string text = error;
  if (why == Stop::interrupt || why == Stop::cancel) text = t.s.hold_why;
  if (why == Stop::fail_fast) text = "another step failed (fail_fast)";
  if (why == Stop::deadline) text = "a step that contains it timed out";
  tell_lasting(t, event_type::kAttemptInterrupted, &node, {{"error", text}});
}

bool crosses(const Node& node, double confidence) {
  const double limit = confidence_limit(node);
  return crossing(node.record.confidence.value_or(limit), confidence, limit) != Crossing::none;
}

void announce_confidence(Turn& t, const Node& node, std::uint32_t start, const Report& report) {
  if (!report.confidence) return;
  if (node.record.counted_start == start && node.record.confidence == report.confidence) return;
  tell_lasting(t, event_type::kConfidence, &node,
               {{"value", *report.confidence}, {"crossed", crosses(node, *report.confidence)}});
}

void announce_low_confidence(Turn& t, const Node& node) {
  tell_lasting(t, event_type::kLowConfidence, &node,
               {{"confidence", *node.record.confidence}, {"below", confidence_limit(node)}});
}

// Maps.

void announce_map(Turn& t, const Node& node) {
  const Map& map = std::get<Map>(node.step->work);
  tell_lasting(t, event_type::kMapStarted, &node, {{"items", node.map->total}, {"parallel", map.parallel}});
}

void announce_map_progress(Turn& t, const Node& node) {
  const MapProgress& progress = *node.record.map;
  tell(t, event_type::kMapProgress, &node,
       {{"total", node.map->total}, {"done", progress.done.count()}, {"failed", progress.failed.count()}});
}

void announce_item(Turn& t, const Node& node, std::uint64_t index) {
  tell(t, event_type::kItemStarted, &node, {{"index", index}});
}

void announce_ended_item(Turn& t, const Node& node, const Scope* item, const recorded::ItemEnded& ended) {
  std::uint32_t attempts = 0;
  std::int64_t began_us = t.now.us;
  for (const NodeId id : item == nullptr ? std::vector<NodeId>() : item->nodes) {
    const StepRecord& record = node_at(t.s, id).record;
    attempts = std::max(attempts, record.attempts);
    if (record.started.us != 0) began_us = std::min(began_us, record.started.us);
  }
  Json data = {{"index", ended.index},
               {"hash", fmt::format("{:016x}", ended.hash)},
               {"status", ended.failed ? "failed" : "completed"},
               {"attempts", attempts},
               {"ms", static_cast<std::uint64_t>((t.now.us - began_us) / 1000)}};
  data["item"] = ended.item == nullptr ? Json() : *ended.item;
  if (ended.failed) {
    data["error"] = ended.error;
    return tell_lasting(t, event_type::kItemFailed, &node, std::move(data));
  }
  const auto& output = ended.output_of == 0 ? ended.output : node_at(t.s, item->nodes.back()).output;
  data["output"] = output == nullptr ? Json() : *output;
  const Node* const last = item == nullptr || item->nodes.empty() ? nullptr : &node_at(t.s, item->nodes.back());
  if (last != nullptr && !last->cached_from.empty()) data["cached_from"] = last->cached_from;
  tell_lasting(t, event_type::kItemCompleted, &node, std::move(data));
}

void announce_open_circuit(Turn& t, const Node& node) {
  tell_lasting(t, event_type::kCircuitOpened, &node,
               {{"failures_in_a_row", node.map->failures_in_a_row}, {"trips", node.record.map->trips}});
}

void announce_ended_items(Turn& t, const Node& node) {
  tell_lasting(t, event_type::kMapCompleted, &node,
               {{"total", node.map->total}, {"failed", node.record.map->failed_count()}});
}

void announce_retried_items(Turn& t, const Node& node, const fact::MessageArrived& message,
                            const std::vector<std::uint64_t>& indices, const std::vector<std::string>& dependents) {
  Json data = {{"indices", indices}, {"dependents", dependents}};
  if (!message.from.empty()) data["from"] = message.from;
  tell_lasting(t, event_type::kDlqRetried, &node, std::move(data));
}

// Waiting, and the messages that end it.

void announce_gate(Turn& t, const Node& node) {
  tell_lasting(t, event_type::kApprovalRequested, &node,
               {{"prompt", node.record.detail}, {"binding", node.record.binding}});
}

void announce_decision(Turn& t, const Node& node, const fact::MessageArrived& message, const std::string& prompt) {
  Json data = {{"by", message.by}, {"binding", message.binding}, {"prompt", prompt}};
  if (!message.from.empty()) data["from"] = message.from;
  if (!message.text.empty()) data["comment"] = message.text;
  const bool approves = message.type == fact::MessageType::approve;
  tell_lasting(t, approves ? event_type::kApproved : event_type::kRejected, &node, std::move(data));
}

void announce_timed_out_gate(Turn& t, const Node& node, OnTimeout effect) {
  Json data = {{"binding", node.record.binding}, {"prompt", node.record.detail}, {"timed_out", true}};
  if (effect == OnTimeout::go_on) return tell_lasting(t, event_type::kApprovalTimedOut, &node, std::move(data));
  data["by"] = "timeout";
  tell_lasting(t, event_type::kRejected, &node, std::move(data));
}

void announce_timer(Turn& t, const Node& node) {
  tell_lasting(t, event_type::kTimerSet, &node, {{"due", node.record.due.text()}});
}

void announce_listening(Turn& t, const Node& node) {
  Json data = {{"signal", node.record.detail}};
  if (node.record.due.us != 0) data["due"] = node.record.due.text();
  tell_lasting(t, event_type::kWaitingForSignal, &node, std::move(data));
}

void announce_signal(Turn& t, const fact::MessageArrived& message) {
  tell_lasting(t, event_type::kSignalReceived, nullptr, {{"signal", message.text}, {"from", message.from}});
}

void announce_consumed_signal(Turn& t, const Node& node, const std::string& signal) {
  tell_lasting(t, event_type::kSignalConsumed, &node, {{"signal", signal}});
}

void announce_unused_signal(Turn& t, const std::string& signal, const std::string& why) {
  tell_lasting(t, event_type::kMessageRefused, nullptr, {{"error", why}, {"signal", signal}});
}

void announce_refused_message(Turn& t, const std::string& id, const std::string& why) {
  tell_lasting(t, event_type::kMessageRefused, nullptr, {{"error", why}, {"id", id}});
}

void announce_entry(Turn& t, const recorded::EntryAdded& entry) {
  t.out.push_back(command::Tell{.type = entry.entry,
                                .data = entry.payload.is_null() ? Json::object() : entry.payload,
                                .lasts = true,
                                .entry = true,
                                .agent = entry.agent});
}

// The run.

void announce_cancel_request(Turn& t, const fact::MessageArrived& message) {
  tell_lasting(t, event_type::kCancelRequested, nullptr, {{"from", message.from}});
}

void announce_hold(Turn& t) {
  const Json data = {{"why", t.s.hold_why}};
  if (t.s.hold == Hold::cancel) tell_lasting(t, event_type::kCancelling, nullptr, data);
  if (t.s.hold == Hold::interrupt || t.s.hold == Hold::timeout)
    tell(t, event_type::kInterrupting, nullptr, data);  // at once: nothing may be saved before the steps have stopped
}

void announce_ended_run(Turn& t) {
  const State& s = t.s;
  Json data = Json::object();
  if (!s.error.empty()) data["error"] = s.error;
  if (s.status == RunStatus::waiting) data["for"] = waiting_for(s);
  data["usage"] = s.usage.document();
  data["usage"].erase("api_calls");
  if (s.status == RunStatus::completed && s.outputs.is_object() && !s.outputs.empty()) data["outputs"] = s.outputs;
  tell_lasting(t, event_type_of(s.status), nullptr, std::move(data));
}

}  // namespace pawl::machine
