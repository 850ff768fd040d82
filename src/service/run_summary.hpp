// What a list shows about each run: its progress, its cost, and why it failed.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "service/run_report.hpp"
#include "service/step_call.hpp"

namespace pawl {

/// Steps of the workflow's own list, or of a script. Inner steps, items and iterations don't count.
struct RunProgress {
  std::uint64_t done = 0;   // completed or skipped; in a completed run also those that were allowed to fail
  std::uint64_t total = 0;  // including added steps; of a script: those that have started
};

struct RunSummary {
  std::string workflow_name;
  std::string status;                   // as returned by status_word()
  std::optional<RunProgress> progress;  // not set for runs without steps
  Usage usage;
  Usage own_usage;    // without what a fork took over, and nothing for a child run: its parent counts it
  std::string error;  // of a failed or interrupted run
  std::vector<WaitingFor> waiting_for;
  std::uint64_t failed_items = 0;  // of its maps
};

[[nodiscard]] RunProgress progress_of(const RunState& state, std::size_t steps_of_workflow);
[[nodiscard]] RunProgress progress_of(const StepsStatus& steps);
/// Returns why the run has its status: "load: exit status 1", of the last such step. Empty if no step says it.
[[nodiscard]] std::string error_of(const StepsStatus& steps);

/// Reads the runs of one store. Each workflow is parsed once, however many runs it has. Not thread-safe.
class RunSummaries {
 public:
  explicit RunSummaries(Store& store) : store_(store) {}
  /// For a run whose state can't be read, returns only what the catalogue contains.
  [[nodiscard]] RunSummary of(const RunInfo& run);

 private:
  Store& store_;
  void add_steps(const RunInfo& run, RunSummary& summary);
  void add_workflow(const RunInfo& run, RunSummary& summary);

  std::map<std::string, std::optional<Workflow>> workflows_;  // by hash
};

}  // namespace pawl
