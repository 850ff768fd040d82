#include "machine/turn.hpp"

#include <utility>

#include "domain/event_types.hpp"
#include "machine/apply.hpp"

namespace pawl::machine {
namespace {

bool is_of_item(const RecordedFact& fact) {
  const std::string_view path = path_of(fact);
  return std::holds_alternative<recorded::ItemEnded>(fact) || path.ends_with(']') ||
         path.find("].") != std::string_view::npos;
}

}  // namespace

void record(Turn& t, RecordedFact fact) {
  t.s.saving.urgent = t.s.saving.urgent || !is_of_item(fact);
  t.s.saving.unsaved.push_back({t.now, std::move(fact)});
  apply(t.s, t.s.saving.unsaved.back());
}

void label(Turn& t, Kind kind, Reason reason, const Node* node) {
  Label made{kind, reason, node == nullptr ? "" : node->path, node == nullptr ? "" : node->step->stage};
  t.s.saving.labels.push_back(std::move(made));
}

bool all_durable(const State& s) { return s.saving.memory_only || s.saving.durable >= s.records; }

bool is_held_up(const State& s) {
  const Saving& saving = s.saving;
  return saving.durable < saving.hold_until && !saving.memory_only && !saving.given_up;
}

void when_durable(Turn& t, Command command) {
  if (all_durable(t.s)) {
    t.out.push_back(std::move(command));
  } else {
    t.s.saving.deferred.push_back({t.s.records, std::move(command)});
  }
}

void set_activity(State& s, Node& node, Activity activity) {
  if (node.activity != Activity::idle) --s.counts[static_cast<std::size_t>(node.activity)];
  if (activity != Activity::idle) ++s.counts[static_cast<std::size_t>(activity)];
  if (node.activity == Activity::asking) s.postponed_gates.erase(node.id);
  node.activity = activity;
}

TimerId set_timer(Turn& t, TimerKind kind, NodeId node, Timestamp due) {
  const TimerId timer{t.s.next_timer++};
  t.s.timers[timer] = {kind, node, due};
  t.out.push_back(command::SetTimer{timer, kind, due});
  return timer;
}

void cancel_timer(Turn& t, TimerId& timer) {
  if (t.s.timers.erase(timer) > 0) t.out.push_back(command::CancelTimer{timer});
  timer = TimerId::none;
}

Timestamp after(const Turn& t, Milliseconds delay) {
  return Timestamp{t.now.us + std::chrono::microseconds(delay).count()};
}

std::int64_t driven_us(const Turn& t) { return t.s.driven_us + (t.now.us - t.s.last_at.us); }

void tell(Turn& t, std::string type, const Node* node, Json data) {
  t.out.push_back(command::Tell{std::move(type), node == nullptr ? "" : node->path, std::move(data)});
}

void tell_lasting(Turn& t, std::string type, const Node* node, Json data) {
  t.out.push_back(command::Tell{
      .type = std::move(type), .path = node == nullptr ? "" : node->path, .data = std::move(data), .lasts = true});
}

void release_permits(Turn& t, Node& node) {
  if (!std::exchange(node.holds_permits, false)) return;
  t.out.push_back(command::ReleasePermits{node.id});
}

}  // namespace pawl::machine
