// Dead letters: items of maps that failed permanently. They can be listed, retried and dropped.
//
// The state contains their indices (MapProgress::failed), and the newest `item_failed` event of each the item itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "domain/run_state.hpp"
#include "domain/workflow.hpp"
#include "ports/store.hpp"

namespace pawl {

struct DeadLetter {
  std::string step = {};
  std::uint64_t index = 0;
  Json item = {};
  std::string error = {};
  std::string last_line = {};  // of what its last attempt printed to standard error; empty: nothing
  std::uint64_t attempts = 0;
  Timestamp at = {};
};

/// Returns dead letters by step and index; of all maps if `step` is empty. Fails with step_not_found if it is not a
/// map.
[[nodiscard]] Result<std::vector<DeadLetter>> dead_letters(Store& store, const RunId& run, const std::string& step);

/// Items of maps with a result, of a run and its child runs.
struct ItemCounts {
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
};
/// Leaves out child runs whose state can't be read.
[[nodiscard]] ItemCounts count_items(Store& store, const std::vector<std::pair<std::string, StepRecord>>& records);

/// Selects dead letters.
struct LetterChoice {
  std::string step = {};                                             // empty: the only map with dead letters
  IndexRanges indices = {};                                          // each must have failed
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges = {};  // first and last: those in between that failed
  enum class Scope : std::uint8_t { listed, all };
  Scope scope = Scope::listed;
};

struct ChangedLetters {
  std::string step = {};
  std::vector<std::uint64_t> indices = {};
  std::vector<std::string> dependents = {};  // paths of steps that will run again
};

enum class Dependents : std::uint8_t { keep, rerun };

/// Loads the workflow. Called only if dependents have to run again.
using WorkflowLoader = std::function<Result<Workflow>(const std::string& file)>;

/// Returns items to their map, so that the next resume runs only these and the reduce, even in a completed run. Fails
/// with step_not_found, usage (several maps), not_waiting (not a dead letter), run_ended (cancelled) or run_busy.
[[nodiscard]] Result<ChangedLetters> retry_letters(Store& store, const RunId& run, const LetterChoice& choice,
                                                   Dependents dependents, const WorkflowLoader& load,
                                                   std::uint64_t state_bytes_max);

/// Removes items from the dead letters. They stay failed.
[[nodiscard]] Result<ChangedLetters> drop_letters(Store& store, const RunId& run, const LetterChoice& choice,
                                                  std::uint64_t state_bytes_max);

/// Returns the paths of all recorded steps that run after the one at `path` in its scope, and of steps added by these.
[[nodiscard]] std::vector<std::string> later_records(const RunState& state, const Workflow& workflow,
                                                     const std::string& path);

}  // namespace pawl
