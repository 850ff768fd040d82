// Loops. `max` counts the iterations of all executions together.
#include <utility>

#include "machine/turn.hpp"

namespace pawl::machine {
namespace {

void run_iteration(Turn& t, Node& node) {
  set_activity(t.s, node, Activity::inner);
  announce_iteration(t, node);
  enter(t, open_scope(t.s, &node, ScopeKind::iteration, node.record.iteration));
}

/// Ends the step with the output of the last step of the last iteration.
void complete_loop(Turn& t, Node& node, const Loop& loop) {
  const Json& previous = node.record.previous;
  if (loop.steps->empty() || !previous.is_object()) return complete(t, node, Json());
  const auto last = previous.find(loop.steps->back().id);
  if (last == previous.end()) return complete(t, node, Json());
  complete(t, node, last->value("output", Json()), last->value("output_event", std::uint64_t{0}));
}

/// Returns the outputs of maps, which no record contains as a whole.
Json loaded_outputs(const State& s, const Scope& scope) {
  Json outputs;
  for (const NodeId id : scope.nodes) {
    const Node& inner = node_at(s, id);
    if (inner.output != nullptr && inner.record.output_event == 0) outputs[inner.step->id] = *inner.output;
  }
  return outputs;
}

/// Returns the ID of a step whose output in the iteration before is not in memory, and the number of that output.
std::optional<std::pair<std::string, std::uint64_t>> missing_previous(const Node& node) {
  if (!node.record.previous.is_object()) return std::nullopt;
  for (const auto& [id, entry] : node.record.previous.items()) {
    const std::uint64_t number = entry.value("output_event", std::uint64_t{0});
    if (number != 0 && !node.previous.contains(id)) return std::pair(id, number);
  }
  return std::nullopt;
}

/// Requests an output of the iteration before. Returns whether all are in memory.
bool previous_ready(Turn& t, Node& node) {
  const auto missing = missing_previous(node);
  if (!missing) return true;
  set_activity(t.s, node, Activity::loading);
  when_durable(t, command::LoadOutput{node.id, node.path, missing->second});
  return false;
}

/// Ends the loop after its last iteration.
void end_loop(Turn& t, Node& node, const Loop& loop, bool satisfied) {
  if (!satisfied && loop.until && loop.on_max == Loop::OnMax::fail) {
    return fail_step(t, node, fmt::format("`until: {}` is not met after {} iterations", loop.until->text(), loop.max),
                     false, StepReason::exhausted);
  }
  complete_loop(t, node, loop);
}

}  // namespace

void begin_loop(Turn& t, Node& node) {
  const auto& loop = std::get<Loop>(node.step->work);
  if (node.record.spent >= loop.max) return end_loop(t, node, loop, false);
  if (previous_ready(t, node)) run_iteration(t, node);
}

void previous_loaded(Turn& t, Node& node, const Json& output) {
  set_activity(t.s, node, Activity::idle);
  node.previous[missing_previous(node)->first] = std::make_shared<const Json>(output);
  if (previous_ready(t, node)) run_iteration(t, node);
}

void iteration_ended(Turn& t, Node& node, Scope& scope) {
  const auto& loop = std::get<Loop>(node.step->work);
  if (scope.failed) {
    const StepReason reason = scope.rejected ? StepReason::rejected : StepReason::none;
    return fail_step(t, node, std::string(scope.error), false, reason);
  }
  bool satisfied = false;
  const std::vector<NodeId> maps = unloaded(t.s, scope);
  const bool ready = nodes_ready(t, maps, node.id);
  if (!ready || (loop.until && !outputs_ready(t, scope, loop.until->references(), &node))) {
    scope.ended = false;  // checked again when they are loaded
    return;
  }
  if (loop.until) {
    const Result<bool> until = loop.until->test(StateNames(t.s, scope, nullptr));
    if (!until) {
      return fail_step(
          t, node, fmt::format("`until: {}` can't be evaluated: {}", loop.until->text(), until.error().message), false);
    }
    satisfied = *until;
  }
  recorded::IterationEnded ended{.path = node.path,
                                 .iteration = node.record.iteration,
                                 .satisfied = satisfied,
                                 .outputs = loaded_outputs(t.s, scope)};
  announce_ended_iteration(t, node, ended);
  record(t, std::move(ended));
  label(t, Kind::step_complete, Reason::after_step, &node);
  if (satisfied || node.record.spent >= loop.max) return end_loop(t, node, loop, satisfied);
  run_iteration(t, node);
}

}  // namespace pawl::machine
