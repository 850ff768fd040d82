#include "service/start_fork.hpp"

#include "service/workflow_session.hpp"

namespace pawl {
namespace {

Result<Sequence> sequence_of(Store& store, const ForkStart& start) {
  if (!start.step.empty()) return checkpoint_before(store, start.from.run, start.step);
  if (start.from.which.by == Which::By::sequence) return start.from.which.sequence;
  PAWL_TRY_ASSIGN(const CheckpointInfo info, store.checkpoint(start.from.run, start.from.which));
  return info.sequence;
}

}  // namespace

Result<StartedFork> start_fork(Store& store, const ForkStart& start, Random& random, std::uint64_t state_bytes_max) {
  PAWL_TRY_ASSIGN(const Sequence at, sequence_of(store, start));
  PAWL_TRY_ASSIGN(const RunId id,
                  start.id ? Result<RunId>(*start.id) : RunId::parse(fresh_run_id(start.from.run.text(), random)));
  const ForkRequest request{.parent = start.from.run,
                            .at = at,
                            .id = id,
                            .changes = start.changes,
                            .missing = start.missing,
                            .workflow = start.workflow,
                            .from = start.step,
                            .by = start.by};
  PAWL_TRY_ASSIGN(Forked forked, fork_run(store, request, state_bytes_max));
  return StartedFork{id, std::move(forked)};
}

}  // namespace pawl
