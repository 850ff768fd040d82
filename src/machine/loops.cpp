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

Json last_output(const Node& node, const Loop& loop) {
  if (loop.steps->empty() || !node.previous.is_object()) return Json();
  const auto last = node.previous.find(loop.steps->back().id);
  return last == node.previous.end() ? Json() : last->value("output", Json());
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

/// Ends the loop after its last iteration.
void end_loop(Turn& t, Node& node, const Loop& loop, bool satisfied, std::uint64_t output_of) {
  if (!satisfied && loop.until && loop.on_max == Loop::OnMax::fail) {
    return fail_step(t, node, fmt::format("`until: {}` is not met after {} iterations", loop.until->text(), loop.max),
                     false, StepReason::exhausted);
  }
  complete(t, node, output_of == 0 ? last_output(node, loop) : Json(), output_of);
}

}  // namespace

void begin_loop(Turn& t, Node& node) {
  const auto& loop = std::get<Loop>(node.step->work);
  if (node.record.iteration == 0) node.record.iteration = 1;
  if (node.record.spent >= loop.max) return end_loop(t, node, loop, false, 0);
  run_iteration(t, node);
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
  const std::uint64_t output_of = scope.nodes.empty() ? 0 : node_at(t.s, scope.nodes.back()).record.output_event;
  recorded::IterationEnded ended{.path = node.path,
                                 .iteration = node.record.iteration,
                                 .satisfied = satisfied,
                                 .outputs = loaded_outputs(t.s, scope)};
  announce_ended_iteration(t, node, ended);
  record(t, std::move(ended));
  label(t, Kind::step_complete, Reason::after_step, &node);
  if (satisfied || node.record.spent >= loop.max) return end_loop(t, node, loop, satisfied, output_of);
  run_iteration(t, node);
}

}  // namespace pawl::machine
