// Gates, timers, signals and the inbox.
#include <algorithm>

#include "base/error_line.hpp"
#include "base/hash.hpp"
#include "domain/event_types.hpp"
#include "engine/audit_entries.hpp"
#include "engine/execution_parts.hpp"
#include "text/duration.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kPoll_us = 150'000;
constexpr std::size_t kConsumedMax = 1'000;

}  // namespace

/// Returns the hash that a decision is bound to: the run, the gate, its prompt and inputs, and the workflow. It covers
/// nothing that changes while the gate waits, so other branches don't invalidate a decision.
Result<std::string> Execution::gate_binding(Node& node, std::string& prompt) {
  PAWL_TRY_ASSIGN(prompt, std::get<Approve>(node.step->work).prompt.render(NodeNames(*this, *node.scope, &node)));
  Json inputs = Json::object();
  for (const std::size_t before : node.step->after) {
    const Node& other = *node.scope->nodes[before];
    PAWL_TRY_ASSIGN(inputs[other.step->id], output_of(other));
  }
  Json shown = {{"run", uuid_.text()}, {"gate", node.path},   {"prompt", prompt},
                {"inputs", inputs},    {"vars", state_.vars}, {"workflow", workflow_->hash}};
  // A decision counts once: after a rollback it must be made again.
  if (state_.rollbacks > 0) shown["rollbacks"] = state_.rollbacks;
  return "sha256:" + to_hex(sha256(compact(shown)));
}

void Execution::begin_gate(Node& node) {
  StepRecord& record = node.record;
  std::string prompt;
  const Result<std::string> binding = gate_binding(node, prompt);
  if (!binding) return settle_failed(node, binding.error().message, false);
  if (record.reason == StepReason::rejected) {
    node.rejected = true;
    return settle_failed(node, record.error.empty() ? "rejected" : record.error, false);
  }
  const bool fresh = record.status != StepStatus::waiting || record.binding != *binding;
  record.status = StepStatus::waiting;
  record.binding = *binding;
  record.set_reason(StepReason::approval, prompt);
  touch(node);
  if (!fresh) return;
  tell(event_type::kApprovalRequested, &node, {{"prompt", prompt}, {"binding", record.binding}});
  persist(Kind::waiting, Reason::before_step, &node);
}

void Execution::begin_sleep(Node& node) {
  StepRecord& record = node.record;
  if (record.due.us == 0) {
    const Result<Json> value = std::get<Sleep>(node.step->work).duration.evaluate(NodeNames(*this, *node.scope, &node));
    if (!value) return settle_failed(node, value.error().message, false);
    std::optional<Milliseconds> duration;
    if (value->is_string()) duration = parse_duration(value->get<std::string>());
    if (value->is_number() && value->get<double>() >= 0 && value->get<double>() < 1e10)
      duration = Milliseconds(static_cast<std::int64_t>(value->get<double>() * 1000));
    if (!duration)
      return settle_failed(node, fmt::format("invalid duration '{}' (for example: 30s, 5m, 2h)", text_of(*value)),
                           false);
    record.due = Timestamp{now().us + std::chrono::microseconds(*duration).count()};
    tell(event_type::kTimerSet, &node, {{"due", record.due.text()}});
  }
  record.status = StepStatus::waiting;
  record.set_reason(StepReason::timer);
  touch(node);
  persist(Kind::waiting, Reason::before_step, &node);
  ++timers_;
  node.pausing = true;
  node.pause = loop_.at(record.due, [this, alive = alive_, &node] {
    if (*alive) sleep_over(node);
  });
}

void Execution::sleep_over(Node& node) {
  if (!node.pausing) return;
  node.pausing = false;
  --timers_;
  complete(node);
}

void Execution::begin_wait(Node& node) {
  const auto& wait = std::get<WaitFor>(node.step->work);
  StepRecord& record = node.record;
  const bool fresh = record.status != StepStatus::waiting;
  if (wait.timeout && record.due.us == 0)
    record.due = Timestamp{now().us + std::chrono::microseconds(*wait.timeout).count()};
  record.status = StepStatus::waiting;
  record.set_reason(StepReason::signal, wait.signal);
  touch(node);
  if (take_signal(node)) return;
  if (fresh) {
    Json data = {{"signal", wait.signal}};
    if (record.due.us != 0) data["due"] = record.due.text();
    tell(event_type::kWaitingForSignal, &node, std::move(data));
    persist(Kind::waiting, Reason::before_step, &node);
  }
  if (record.due.us == 0) return;
  // Does not keep the process alive: the next resume checks the time again.
  node.pause = loop_.at(record.due, [this, alive = alive_, &node] {
    if (!*alive || node.settled || held()) return;
    settle_failed(node, fmt::format("timed out waiting for signal '{}'", std::get<WaitFor>(node.step->work).signal),
                  false);
  });
}

/// Consumes a signal that arrived early. Returns whether there was one.
bool Execution::take_signal(Node& node) {
  const std::string& wanted = std::get<WaitFor>(node.step->work).signal;
  for (auto signal = state_.signals.begin(); signal != state_.signals.end(); ++signal) {
    const Json body = Json::parse(*signal, nullptr, false);
    if (!body.is_object() || text_in(body, "signal") != wanted) continue;
    state_.signals.erase(signal);
    loop_.cancel(node.pause);
    tell(event_type::kSignalConsumed, &node, {{"signal", wanted}});
    set_output(node, body.value("payload", Json()));
    complete(node);
    return true;
  }
  return false;
}

void Execution::schedule_poll() {
  poll_inbox();
  loop_.after(kPoll_us, [this, alive = alive_] {
    if (!*alive || over_) return;
    if (services_.observer != nullptr) services_.observer->on_tick();
    schedule_poll();
  });
}

void Execution::poll_inbox() {
  if (finishing_ || memory_only_) return;
  const Result<std::vector<Message>> messages = services_.store.inbox(id_);
  if (!messages) {
    if (messages.error().code != Code::run_not_found)
      whisper(event_type::kInboxTrouble, nullptr, {{"error", describe_in_line(messages.error())}});
    return;
  }
  for (const Message& message : *messages) {
    if (std::ranges::find(state_.consumed, message.id) == state_.consumed.end()) consume(message);
    if (finishing_) break;
  }
}

void Execution::consume(const Message& message) {
  state_.consumed.push_back(message.id);
  if (state_.consumed.size() > kConsumedMax) state_.consumed.erase(state_.consumed.begin());
  ++change_;
  // Removed only when its effect is durable.
  const std::string id = message.id;
  launches_.emplace_back(change_, [this, id] { static_cast<void>(services_.store.take(id_, id)); });
  Json body = Json::parse(message.body, nullptr, false);
  const std::string type = body.is_object() ? text_in(body, "type") : std::string();
  if (body.is_object() && !message.from.empty()) body["from"] = message.from;  // overrides what the message claims
  if (type == "approve" || type == "reject") return decide_gate(body);
  if (type == "signal") return deliver_signal(body);
  if (type == "cancel") {
    tell(event_type::kCancelRequested, nullptr, {{"from", message.from}});
    return cancel(text_in(body, "reason").empty() ? "cancelled by request" : text_in(body, "reason"));
  }
  if (type == "checkpoint") return checkpoint_now(Reason::manual);
  if (type == "audit") return add_entry(body);
  refuse("message of an unknown type", body);
}

/// Adds an audit entry that was sent as a message.
void Execution::add_entry(const Json& body) {
  const std::string agent = text_in(body, "agent");
  const NewAuditEntry entry{text_in(body, "entry"), agent.empty() ? text_in(body, "from") : agent,
                            body.value("data", Json::object())};
  if (const Result<void> checked = check_entry(entry); !checked || !entry.data.is_object())
    return refuse("invalid audit entry", body);
  tell(entry.type, nullptr, entry.data);
  pending_.back().audited = Audited::yes;
  pending_.back().agent = entry.agent;
  ++change_;
}

void Execution::refuse(std::string_view what, const Json& body) {
  tell(event_type::kMessageRefused, nullptr, {{"error", what}, {"message", body}});
  ++change_;
}

void Execution::decide_gate(const Json& body) {
  const std::string path = text_in(body, "step");
  Node* node = find_node(path);
  const bool approves = text_in(body, "type") == "approve";
  if (node == nullptr || node->settled || node->record.status != StepStatus::waiting ||
      !std::holds_alternative<Approve>(node->step->work))
    return refuse(fmt::format("'{}' is not waiting for approval", path), body);
  // The binding is computed again, because anyone could have written the one in the state.
  std::string prompt;
  const Result<std::string> binding = gate_binding(*node, prompt);
  if (!binding || text_in(body, "binding") != *binding)
    return refuse(fmt::format("the decision on '{}' was about another prompt or other inputs", path), body);
  Json data = {{"by", text_in(body, "by")}, {"binding", *binding}, {"prompt", prompt}};
  if (!text_in(body, "from").empty()) data["from"] = text_in(body, "from");
  if (!text_in(body, "comment").empty()) data["comment"] = text_in(body, "comment");
  if (approves) {
    tell(event_type::kApproved, node, data);
    set_output(*node, {{"approved", true}, {"by", text_in(body, "by")}, {"comment", text_in(body, "comment")}});
    return complete(*node);
  }
  tell(event_type::kRejected, node, data);
  node->record.set_reason(StepReason::rejected, prompt);
  node->rejected = true;
  const std::string comment = text_in(body, "comment");
  settle_failed(*node, comment.empty() ? "rejected" : "rejected: " + comment, false);
}

void Execution::deliver_signal(const Json& body) {
  state_.signals.push_back(compact({{"signal", text_in(body, "signal")}, {"payload", body.value("payload", Json())}}));
  tell(event_type::kSignalReceived, nullptr, {{"signal", text_in(body, "signal")}, {"from", text_in(body, "from")}});
  ++change_;
  Node* waiting = nullptr;
  for_each_node(*top_, [&](Node& node) {
    const auto* wait = std::get_if<WaitFor>(&node.step->work);
    if (waiting == nullptr && wait != nullptr && !node.settled && node.record.status == StepStatus::waiting &&
        wait->signal == text_in(body, "signal"))
      waiting = &node;
  });
  if (waiting != nullptr) static_cast<void>(take_signal(*waiting));
}

void Execution::answer_gates() {
  for (const Gate& gate : gates()) {
    const GateAnswer answer = services_.ask(gate);
    if (answer == GateAnswer::later) {
      asked_ = true;
      continue;
    }
    decide_gate({{"type", answer == GateAnswer::approve ? "approve" : "reject"},
                 {"step", gate.step},
                 {"binding", gate.binding},
                 {"by", services_.person}});
    return;  // handle its result first
  }
}

}  // namespace pawl
