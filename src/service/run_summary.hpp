// What a list tells about each run: how far it is, what it cost, and why it failed.
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
  std::uint64_t total = 0;  // with added steps
};

struct RunSummary {
  std::string workflow_name;
  std::string status;                   // as status_word() gives it
  std::optional<RunProgress> progress;  // none for runs without a workflow
  Usage usage;
  std::string error;  // of a failed run
};

[[nodiscard]] RunProgress progress_of(const RunState& state, std::size_t steps_of_workflow);

/// Reads the runs of one store. Each workflow is parsed once, however many runs it has. Not thread-safe.
class RunSummaries {
 public:
  explicit RunSummaries(Store& store) : store_(store) {}
  /// Of a run whose state can't be read, only what the catalogue knows.
  [[nodiscard]] RunSummary of(const RunInfo& run);

 private:
  Store& store_;
  std::map<std::string, std::size_t> steps_;  // by the workflow's hash
};

}  // namespace pawl
