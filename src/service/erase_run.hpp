// Erasing a run, unless processes of it are still running.
#pragma once

#include "ports/process_runner.hpp"
#include "ports/store.hpp"
#include "service/workflow_world.hpp"

namespace pawl {

/// The run, so that a person can be asked. Nothing if it is damaged: it can be erased all the same. Fails with
/// run_not_found.
[[nodiscard]] Result<std::optional<RunInfo>> run_to_erase(Store& store, const RunId& run);

/// Fails with processes_left if commands of an execution that died may still write to the run's folder.
/// `start_processes` may be empty: then that is not checked.
[[nodiscard]] Result<Erasure> erase_run(Store& store, const RunId& run, const EraseRequest& request,
                                        const StartProcesses& start_processes);

/// erasure_pending if the erasure waits for other processes.
[[nodiscard]] Result<void> check_finished(const Erasure& erasure);

}  // namespace pawl
