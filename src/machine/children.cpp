// Child workflows. A child is identified by a key: the run, the step, and the number of a
// record. A changed `with` begins another child. A rollback continues the child that its checkpoint knows.
#include "base/hash.hpp"
#include "machine/turn.hpp"

namespace pawl::machine {
namespace {

std::string key_of(const State& s, const Node& node) {
  return fmt::format("{}/{}#{}", s.definition->run_uuid, node.path, node.record.child_number);
}

Node* node_of_child(Turn& t, NodeId id) {
  Node* node = find_node(t.s, id);
  if (node == nullptr) return nullptr;
  switch (node->activity) {
    case Activity::opening_child:
    case Activity::child_running:
    case Activity::child_waiting:
    case Activity::child_paused:
    case Activity::child_stopping: return node;
    default: return nullptr;
  }
}

void count_child(Turn& t, const Node& node, const Usage& usage, std::uint64_t steps = 0) {
  if (node.record.child_usage.until(usage) != Usage{} || steps > 0)
    record(t, recorded::ChildReported{.path = node.path, .usage = usage, .steps = steps});
}

}  // namespace

void begin_child(Turn& t, Node& node) {
  const auto& call = std::get<CallWorkflow>(node.step->work);
  const Result<Json> with = call.with.evaluate(StateNames(t.s, scope_at(t.s, node.scope), &node));
  if (!with) return fail_step(t, node, with.error().message, false);
  const std::string older = to_hex(sha256(compact(*with))).substr(0, 16);  // as older programs recorded it
  const std::string hash = to_hex(sha256(compact(*with), "\n", call.file)).substr(0, 16);
  const bool imported = node.record.child_number > 0 && node.record.child_with.empty();
  if (node.record.child_number == 0 || imported ||
      (node.record.child_with != hash && node.record.child_with != older)) {
    const std::uint64_t number = imported ? node.record.child_number : t.s.records + 1;
    record(t, recorded::ChildBegan{.path = node.path, .number = number, .with_hash = hash});
    label(t, Kind::step_start, Reason::before_step, &node);
  }
  set_activity(t.s, node, Activity::opening_child);
  node.child_sent = false;
  when_durable(t, command::StartChild{node.id, node.path, key_of(t.s, node), node.record.child_run, call.file, *with});
  if (all_durable(t.s)) node.child_sent = true;
}

void handle(Turn& t, const fact::ChildOpened& f) {
  Node* node = node_of_child(t, f.node);
  if (node == nullptr || node->activity == Activity::child_running) return;
  if (node->record.child_run != f.run) record(t, recorded::ChildOpened{.path = node->path, .run = f.run});
  announce_child(t, *node);
  if (node->activity == Activity::opening_child) set_activity(t.s, *node, Activity::child_running);
}

void handle(Turn& t, const fact::ChildNotOpened& f) {
  Node* node = node_of_child(t, f.node);
  if (node == nullptr) return;
  if (node->activity == Activity::child_stopping) {
    set_activity(t.s, *node, Activity::idle);
    return stopped(t, *node);
  }
  if (f.party == fact::Party::machine) return pause_for_machine(t, *node, f.error);
  if (f.refused) {
    set_activity(t.s, *node, Activity::idle);
    return refuse_run(t, Refusal::child, f.error);
  }
  set_activity(t.s, *node, Activity::idle);
  fail_step(t, *node, f.error, false);
}

void handle(Turn& t, const fact::ChildReported& f) {
  if (const Node* node = node_of_child(t, f.node)) count_child(t, *node, f.usage, f.steps);
}

void handle(Turn& t, const fact::ChildWoken& f) {
  Node* node = node_of_child(t, f.node);
  if (node == nullptr || node->activity != Activity::child_waiting || t.s.finishing) return;
  if (may_start(t, scope_at(t.s, node->scope))) begin_child(t, *node);
}

void handle(Turn& t, const fact::ChildEnded& f) {
  Node* node = node_of_child(t, f.node);
  if (node == nullptr) return;
  count_child(t, *node, f.usage);
  const bool stopping = node->activity == Activity::child_stopping;
  set_activity(t.s, *node, Activity::idle);
  if (f.status == RunStatus::completed) return complete(t, *node, f.outputs);
  if (stopping) return stopped(t, *node);
  if (f.status == RunStatus::waiting)
    return set_activity(t.s, *node, f.paused ? Activity::child_paused : Activity::child_waiting);
  if (f.refused) return refuse_run(t, Refusal::child, f.error);
  if (f.status == RunStatus::interrupted && f.trouble) return hold_run(t, Hold::machine, f.error);
  if (f.status == RunStatus::interrupted) return hold_run(t, Hold::interrupt, "a child run was interrupted");
  const std::string error =
      f.error.empty() ? fmt::format("run {} is {}", node->record.child_run, to_text(f.status)) : f.error;
  fail_step(t, *node, error, false, f.rejected ? StepReason::rejected : StepReason::none);
}

}  // namespace pawl::machine
