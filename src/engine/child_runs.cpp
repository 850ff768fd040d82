#include "engine/child_runs.hpp"

#include <algorithm>

#include "base/fault.hpp"
#include "engine/executor.hpp"
#include "engine/open_run.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kChildDepthMax = 32;

machine::fact::Party party_of(const Error& error) {
  const bool machine =
      error.code == Code::run_busy || error.code == Code::recovery_in_progress || fault_of(error) == Fault::machine;
  return machine ? machine::fact::Party::machine : machine::fact::Party::work;
}

bool must_not_continue(Code code) {
  return code == Code::workflow_changed || code == Code::items_changed || code == Code::gate_in_the_way;
}

/// Returns the number of runs around this one. Older programs did not record it, but the names of children had one dot
/// more than those of their parents.
std::uint64_t depth_of(const RunContext& context) {
  const auto dots = static_cast<std::uint64_t>(std::ranges::count(context.id.text(), '.'));
  return std::max<std::uint64_t>(context.base.depth,
                                 context.base.parent_run.empty() ? 0 : std::min(dots, kChildDepthMax));
}

}  // namespace

ChildRuns::ChildRuns(RunContext& context) : context_(context) {}
ChildRuns::~ChildRuns() = default;

void ChildRuns::start(const machine::command::StartChild& command) {
  const auto refuse = [&](const Error& error) {
    context_.feed(machine::fact::ChildNotOpened{.node = command.node,
                                                .party = party_of(error),
                                                .error = error.message + (error.hint.empty() ? "" : "; " + error.hint),
                                                .refused = must_not_continue(error.code)});
  };
  const std::uint64_t depth = depth_of(context_) + 1;
  if (depth > kChildDepthMax)
    return refuse(Error{Code::step_failed,
                        fmt::format("child workflows are nested more than {} levels deep", kChildDepthMax),
                        {},
                        "check whether a workflow calls itself",
                        0});
  LocalFiles& files = context_.services.files;
  const std::string file = files.absolute(command.file, files.absolute("..", context_.workflow->file));
  const ChildOf of{.parent_run = context_.id.text(),
                   .parent_step = command.path,
                   .key = command.key,
                   .child_run = command.run,
                   .rollbacks = context_.state.rollbacks,
                   .depth = depth};
  Result<OpenedChild> opened = open_child(context_.services, of, file, command.with);
  if (!opened) return refuse(opened.error());
  Child& child = children_[command.node];
  child.run = opened->id;
  child.reported = {};
  child.gates.clear();
  context_.feed(machine::fact::ChildOpened{command.node, opened->id});
  if (opened->finished) {
    const RunState& state = *opened->finished;
    return context_.feed(machine::fact::ChildEnded{.node = command.node,
                                                   .status = state.status,
                                                   .error = state.error,
                                                   .outputs = state.outputs,
                                                   .usage = state.usage});
  }
  child.steps_reported = opened->run->state.completed_steps;
  child.executor = std::make_unique<Executor>(context_.services, context_.loop, std::move(*opened->run));
  child.executor->when_ended([this, alive = context_.alive, node = command.node] {
    context_.loop.post([this, alive, node] {
      if (*alive) ended(node);
    });
  });
  // A parent whose child completes steps is making progress, which limits nothing.
  child.executor->when_progress([this, alive = context_.alive] {
    context_.loop.post([this, alive] {
      if (*alive) poll();
    });
  });
  child.executor->start();
}

void ChildRuns::ended(machine::NodeId node) {
  const auto found = children_.find(node);
  if (found == children_.end() || !found->second.executor) return;
  Executor& child = *found->second.executor;
  machine::fact::ChildEnded fact{.node = node};
  const RunState state = child.state();
  fact.status = child.everything_saved() ? state.status : RunStatus::interrupted;
  fact.error = state.error;
  fact.rejected = child.rejected();
  fact.paused = child.paused();
  fact.trouble = child.trouble().has_value();
  if (fact.trouble) fact.error = child.trouble()->message;
  fact.refused = child.finish() && child.finish()->ending == machine::Ending::refused;
  if (fact.refused) fact.error = child.finish()->error;
  fact.outputs = state.outputs;
  fact.usage = state.usage;
  if (state.status == RunStatus::waiting) found->second.gates = child.gates();
  over_.push_back(std::move(found->second.executor));
  context_.feed(std::move(fact));
}

void ChildRuns::stop(const machine::command::StopChild& command) {
  const auto found = children_.find(command.node);
  if (found == children_.end() || !found->second.executor) {
    context_.feed(machine::fact::ChildEnded{.node = command.node, .status = RunStatus::interrupted});
    return;
  }
  if (command.how == machine::command::StopChildHow::interrupt) {
    found->second.executor->interrupt("the parent run");
  } else {
    found->second.executor->cancel("the parent run was cancelled");
  }
}

void ChildRuns::pause(const machine::command::PauseChild& command) {
  const auto found = children_.find(command.node);
  if (found != children_.end() && found->second.executor) found->second.executor->pause();
}

void ChildRuns::poll() {
  std::vector<machine::Fact> facts;
  for (auto& [node, child] : children_) {
    if (child.executor) {
      const Usage used = child.executor->usage();
      const std::uint64_t steps = child.executor->completed_steps();
      const std::uint64_t fresh = steps - std::min(steps, std::exchange(child.steps_reported, steps));
      if (used == child.reported && fresh == 0) continue;
      child.reported = used;
      facts.emplace_back(machine::fact::ChildReported{node, used, fresh});
      continue;
    }
    const machine::Node* waiting = context_.node(node);
    if (waiting == nullptr || waiting->activity != machine::Activity::child_waiting) continue;
    const Result<RunId> id = RunId::parse(child.run);
    const Result<std::vector<Message>> messages =
        id ? context_.services.store.inbox(*id) : Result<std::vector<Message>>(fail(id.error()));
    if (messages && !messages->empty()) facts.emplace_back(machine::fact::ChildWoken{node});
  }
  for (machine::Fact& fact : facts) context_.feed(std::move(fact));
}

void ChildRuns::add_gates(std::vector<Gate>& gates) const {
  for (const auto& [node, child] : children_) {
    const std::vector<Gate> of_child = child.executor ? child.executor->gates() : child.gates;
    gates.insert(gates.end(), of_child.begin(), of_child.end());
  }
}

void ChildRuns::round() {
  over_.clear();
  for (auto& [node, child] : children_) {
    if (child.executor) child.executor->round();
  }
}

}  // namespace pawl
