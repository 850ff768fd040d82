// The items of maps that failed for good: looking at them, trying them again, giving them up.
//
// Which ones there are stands in the state (MapProgress::failed); what they were, in the newest `item_failed` event
// of each.
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
  std::uint64_t attempts = 0;
  Timestamp at = {};
};

/// By step, then by index. `step` empty: of all maps. step_not_found where it is no map of this run.
[[nodiscard]] Result<std::vector<DeadLetter>> dead_letters(Store& store, const RunId& run, const std::string& step);

/// Which dead letters are meant.
struct LetterChoice {
  std::string step = {};  // empty: the only map that has some
  IndexRanges indices = {};
  enum class Scope : std::uint8_t { listed, all };
  Scope scope = Scope::listed;
};

struct ChangedLetters {
  std::string step = {};
  std::vector<std::uint64_t> indices = {};
  std::vector<std::string> dependents = {};  // paths of steps that will run again
};

enum class Dependents : std::uint8_t { keep, rerun };

/// What retrying needs to know of the workflow; it is only called where dependents are to run again.
using WorkflowLoader = std::function<Result<Workflow>(const std::string& file)>;

/// Takes items back into their map, so that the next resume runs only these, and its reduce: also where the run is
/// completed. step_not_found, usage (several maps), not_waiting (an index that is no dead letter, or none there),
/// run_ended (cancelled), run_busy.
[[nodiscard]] Result<ChangedLetters> retry_letters(Store& store, const RunId& run, const LetterChoice& choice,
                                                   Dependents dependents, const WorkflowLoader& load,
                                                   std::uint64_t state_bytes_max);

/// They are dead letters no more and stay failed.
[[nodiscard]] Result<ChangedLetters> drop_letters(Store& store, const RunId& run, const LetterChoice& choice,
                                                  std::uint64_t state_bytes_max);

/// The paths of the records of all steps that come after the one at `path`, within its scope, and of what these added.
[[nodiscard]] std::vector<std::string> later_records(const RunState& state, const Workflow& workflow,
                                                     const std::string& path);

}  // namespace pawl
