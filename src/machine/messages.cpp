// Messages from outside. Each is consumed or refused, and the answer is recorded with its effect.
#include <algorithm>
#include <utility>

#include "machine/turn.hpp"

namespace pawl::machine {
namespace {

void answer(Turn& t, const fact::MessageArrived& m, recorded::Answer how, std::string why = {}) {
  record(t, recorded::MessageTaken{.id = m.id, .answer = how, .why = std::move(why)});
  when_durable(t, command::TakeMessage{m.id});
}

void refuse(Turn& t, const fact::MessageArrived& m, std::string why) {
  announce_refused_message(t, m.id, why);
  answer(t, m, recorded::Answer::refused, std::move(why));
}

}  // namespace

/// The first answer to a gate that is recorded counts. A gate that does not ask again yet, after a resume, answers
/// later; one that was interrupted leaves the message for the next execution.
void decide(Turn& t, const fact::MessageArrived& m) {
  Node* node = find_node(t.s, m.path);
  const bool waits = node != nullptr && node->record.status == StepStatus::waiting &&
                     std::holds_alternative<Approve>(node->step->work);
  const bool ends = is_ending(t.s.hold) || t.s.inbox == State::Inbox::sealing || t.s.inbox == State::Inbox::sealed;
  if (waits && node->activity != Activity::asking && !ends) {
    if (t.s.hold != Hold::none) return;
    auto& early = t.s.early_decisions[node->id];
    if (std::ranges::find(early, m.id, &fact::MessageArrived::id) == early.end()) early.push_back(m);
    return;
  }
  if (!waits || node->activity != Activity::asking)
    return refuse(t, m, fmt::format("'{}' is not waiting for approval", m.path));
  if (is_late(*node, m.at)) {
    cancel_timer(t, node->wait_timer);
    wait_over(t, *node);
    return refuse(t, m, fmt::format("the deadline of '{}' had passed", m.path));
  }
  std::string prompt;
  const Result<std::string> binding = gate_binding(t.s, *node, prompt);
  if (!binding || m.binding != *binding)
    return refuse(t, m, fmt::format("the decision on '{}' was about another prompt or other inputs", m.path));
  const bool approves = m.type == fact::MessageType::approve;
  record(t,
         recorded::Decided{.path = m.path, .approved = approves, .by = m.by, .binding = *binding, .comment = m.text});
  announce_decision(t, *node, m, prompt);
  answer(t, m, recorded::Answer::consumed);
  if (approves) return complete(t, *node, {{"approved", true}, {"by", m.by}, {"comment", m.text}});
  if (node->activity == Activity::asking) t.out.push_back(command::ClosePrompt{node->id, node->path});
  cancel_timer(t, node->wait_timer);
  set_activity(t.s, *node, Activity::idle);
  fail_step(t, *node, m.text.empty() ? "rejected" : "rejected: " + m.text, false, StepReason::rejected);
}

/// A decision may wait for a gate to ask again that then disappears with the changed items around it.
void refuse_lost_decisions(Turn& t) {
  auto& early = t.s.early_decisions;
  for (auto at = early.begin(); at != early.end();) {
    if (find_node(t.s, at->first) != nullptr) {
      ++at;
      continue;
    }
    for (const fact::MessageArrived& m : at->second)
      refuse(t, m, fmt::format("'{}' is not waiting for approval any more", m.path));
    at = early.erase(at);
  }
}

namespace {

void receive_signal(Turn& t, const fact::MessageArrived& m) {
  record(t, recorded::SignalReceived{.signal = m.text, .payload = m.payload, .sent = m.at});
  announce_signal(t, m);
  answer(t, m, recorded::Answer::consumed);
  std::vector<NodeId> waiting;
  for (const auto& [id, node] : t.s.nodes) {
    const auto* wait = std::get_if<WaitFor>(&node.step->work);
    if (wait != nullptr && node.activity == Activity::listening && wait->signal == m.text && !is_late(node, m.at))
      waiting.push_back(id);
  }
  if (waiting.empty()) return;
  Node& first = node_at(t.s, *std::ranges::min_element(waiting));
  cancel_timer(t, first.wait_timer);
  begin_listening(t, first);
}

std::vector<std::uint64_t> failed_among(const Node& map, const std::string& indices) {
  std::vector<std::uint64_t> failed;
  const IndexRanges wanted = IndexRanges::parse(indices).value_or(IndexRanges());
  for (const auto& [first, last] : map.record.map->failed.ranges()) {
    for (std::uint64_t index = first; index <= last; ++index) {
      if (wanted.contains(index)) failed.push_back(index);
    }
  }
  return failed;
}

std::vector<std::string> settled_paths(const State& s, const Scope& scope) {
  std::vector<std::string> paths;
  for (const NodeId id : scope.nodes) {
    if (const Node& node = node_at(s, id); is_settled(node)) paths.push_back(node.path);
  }
  return paths;
}

void retry_items(Turn& t, const fact::MessageArrived& m) {
  Node* node = resolve(t.s, m.path);
  if (node == nullptr || !node->map || !node->record.map || node->record.map->failed.empty())
    return refuse(t, m, fmt::format("'{}' has no failed items", m.path));
  if (t.s.began && (t.s.top_ended || node->map->reducing)) return refuse(t, m, "the run is ending");
  const bool was_settled = is_settled(*node);
  const std::string indices = m.indices.empty() ? node->record.map->failed.text() : m.indices;
  const std::vector<std::uint64_t> failed = failed_among(*node, indices);
  std::vector<std::string> again = settled_paths(t.s, scope_at(t.s, node->scope));
  record(t, recorded::ItemsReopened{.path = m.path, .indices = indices, .dependents = m.dependents});
  std::erase_if(again, [&](const std::string& path) { return path == m.path || is_settled(*find_node(t.s, path)); });
  announce_retried_items(t, *node, m, failed, again);
  answer(t, m, recorded::Answer::consumed);
  node->map->next = 0;
  if (!t.s.began) return;
  if (was_settled) return enter(t, scope_at(t.s, node->scope));
  t.tasks.push_back({Task::What::start_items, node->id, node->scope});
}

void add_entry(Turn& t, const fact::MessageArrived& m) {
  if (m.text.empty() || !(m.payload.is_object() || m.payload.is_null())) return refuse(t, m, "invalid audit entry");
  recorded::EntryAdded entry{.entry = m.text, .agent = m.by.empty() ? m.from : m.by, .payload = m.payload};
  announce_entry(t, entry);
  record(t, std::move(entry));
  answer(t, m, recorded::Answer::consumed);
}

void cancel(Turn& t, const fact::MessageArrived& m) {
  record(t, recorded::CancelRequested{.why = m.text.empty() ? "cancelled by request" : m.text});
  announce_cancel_request(t, m);
  answer(t, m, recorded::Answer::consumed);
  hold_run(t, Hold::cancel, t.s.cancel_why);
}

}  // namespace

void handle(Turn& t, const fact::MessageArrived& m) {
  if (t.s.taken.contains(m.id)) return when_durable(t, command::TakeMessage{m.id});
  if (t.s.finishing) return;  // it stays in the inbox, for the next execution
  switch (m.type) {
    case fact::MessageType::approve:
    case fact::MessageType::reject: return decide(t, m);
    case fact::MessageType::signal: return receive_signal(t, m);
    case fact::MessageType::retry_items: return retry_items(t, m);
    case fact::MessageType::cancel: return cancel(t, m);
    case fact::MessageType::audit: return add_entry(t, m);
    case fact::MessageType::checkpoint:
      label(t, Kind::manual, Reason::manual, nullptr);
      return answer(t, m, recorded::Answer::consumed);
    case fact::MessageType::other: return refuse(t, m, "unknown type of message");
  }
}

}  // namespace pawl::machine
