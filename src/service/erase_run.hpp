// Erasing a run, unless processes of it are still running.
#pragma once

#include "ports/process_runner.hpp"
#include "ports/store.hpp"
#include "service/workflow_world.hpp"

namespace pawl {

/// Returns the run, so that a person can be asked for confirmation. Returns nothing if it is damaged; it can still be
/// erased. Fails with run_not_found.
[[nodiscard]] Result<std::optional<RunInfo>> run_to_erase(Store& store, const RunId& run);

/// Returns the number of checkpoints that erasing the run would destroy, or nothing if it is unknown.
[[nodiscard]] std::optional<std::uint64_t> checkpoints_to_erase(Store& store, const RunInfo& run);

/// Fails with processes_left if commands of a dead execution may still write to the run's folder. This is not checked
/// if `start_processes` is empty.
[[nodiscard]] Result<Erasure> erase_run(Store& store, const RunId& run, const EraseRequest& request,
                                        const StartProcesses& start_processes);

/// Returns erasure_pending if the erasure waits for other processes.
[[nodiscard]] Result<void> check_finished(const Erasure& erasure);

}  // namespace pawl
