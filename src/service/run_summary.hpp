// What a list shows about each run: its progress, its cost, and why it failed.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "domain/run_state.hpp"
#include "ports/store.hpp"

namespace pawl {

/// Steps of the workflow's own list. Inner steps, items and iterations don't count.
struct RunProgress {
  std::uint64_t done = 0;   // completed or skipped
  std::uint64_t total = 0;  // including added steps
};

struct RunSummary {
  std::string workflow_name;
  std::string status;                   // as returned by status_word()
  std::optional<RunProgress> progress;  // not set for runs without a workflow
  Usage usage;
  std::string error;  // of a failed run
};

[[nodiscard]] RunProgress progress_of(const RunState& state, std::size_t steps_of_workflow);

/// Reads the runs of one store. Each workflow is parsed once, however many runs it has. Not thread-safe.
class RunSummaries {
 public:
  explicit RunSummaries(Store& store) : store_(store) {}
  /// For a run whose state can't be read, returns only what the catalogue contains.
  [[nodiscard]] RunSummary of(const RunInfo& run);

 private:
  Store& store_;
  std::map<std::string, std::size_t> steps_;  // by the workflow's hash
};

}  // namespace pawl
