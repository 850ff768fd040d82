// Finding and retrying failed items of maps.
#pragma once

#include "engine/dead_letters.hpp"

namespace pawl {

/// Returns one failed item. If `step` is empty, of whichever map it belongs to. Fails with not_waiting if the item has
/// not failed, usage if several maps have a failed item with this index, step_not_found.
[[nodiscard]] Result<DeadLetter> find_dead_letter(Store& store, const RunId& run, const std::string& step,
                                                  std::uint64_t index);

struct RetryRequest {
  LetterChoice choice = {};
  Dependents dependents = Dependents::keep;
  enum class Then : std::uint8_t {
    leave_queued,
    resume,  // the caller resumes the run next, so its workflow must be unchanged: workflow_changed
  } then = Then::resume;
};

/// Returns items to their map, as retry_letters() does. A choice without indices means all failed items of the map.
[[nodiscard]] Result<ChangedLetters> retry_dead_letters(Store& store, const RunId& run, const RetryRequest& request,
                                                        const WorkflowLoader& load, std::uint64_t state_bytes_max);

}  // namespace pawl
