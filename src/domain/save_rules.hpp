// The rules for saves that all stores share (clauses S4 to S7 and S12 of ports/store.hpp).
#pragma once

#include <pawl/save.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.hpp"
#include "text/text_diff.hpp"

namespace pawl {

/// What the store knows when a save arrives.
struct SaveFacts {
  const RunId& run;
  const CheckpointInfo* head = nullptr;     // the last checkpoint; null if there is none yet
  std::string_view head_state = {};         // its state
  const CheckpointInfo* earlier = nullptr;  // the checkpoint with the caller_id of the request; null if there is none
  bool earlier_has_same_body = false;       // its body_fingerprint is equal to that of the request
  std::uint64_t state_bytes_max = 100ULL << 20;  // for the patched state
  bool head_is_shared = false;                   // the head belongs to the parent of a new fork, and is never returned
};

/// The save must be written, with the state that `state_to_write` returns.
struct WriteState {
  std::string patched;  // the patched state for Form::patch
};

/// The save is either written, or answered with an earlier checkpoint (`unchanged` or `repeated`).
using SaveDecision = std::variant<WriteState, Saved>;

/// Checks the caller's id (S6) first, then the expected parent (S5), the change of status, the patch (S7), and whether
/// the state is unchanged (S4). Fails with caller_id_reused, parent_conflict, transition_refused or an error of
/// apply_patch.
[[nodiscard]] Result<SaveDecision> decide_save(const SaveRequest& request, const SaveFacts& facts);

/// What decides about RunWriter::save_change (S26).
struct ChangeDecision {
  std::optional<Saved> answer = {};  // otherwise the change must be written
  std::uint64_t state_bytes = 0;     // size of the new state
};
/// As decide_save, for the last state with `change` applied. `facts.earlier_has_same_body` compares
/// change_fingerprint. Fails with parent_conflict if `expected_parent` is not set, and with invalid_patch if the change
/// does not fit the last state. Costs as much as the change.
[[nodiscard]] Result<ChangeDecision> decide_change(const SaveRequest& request, std::span<const Splice> change,
                                                   const SaveFacts& facts);

/// Applies a change that decide_change has accepted, in place.
void apply_change(std::string& state, std::span<const Splice> change);

/// Returns a span of the body of the request or of `write`.
[[nodiscard]] inline std::string_view state_to_write(const SaveRequest& request, const WriteState& write) {
  return request.form == Form::patch ? std::string_view(write.patched) : request.body;
}

/// Returns whether one of these events is a rollback to a checkpoint before `saved`. Its caller ID is then free (S6).
[[nodiscard]] bool is_undone(Sequence saved, std::span<const Event> later);

/// Distinguishes bodies with the same caller ID (S6); covers body and form. Stored with each checkpoint that has a
/// caller ID. Detects mistakes, not attacks.
[[nodiscard]] std::uint64_t body_fingerprint(const SaveRequest& request);

/// The same for a change. Depends on the splices and the checkpoint that they refer to.
[[nodiscard]] std::uint64_t change_fingerprint(const SaveRequest& request, std::span<const Splice> change);

/// Returns metadata as it is stored: on one line. Line breaks between JSON tokens have no meaning, and JSON strings
/// contain none.
[[nodiscard]] std::string one_line(std::string_view json);

/// If the clock is further behind the previous time than this, the previous time was wrong.
inline constexpr std::int64_t kClockErrorMaxUs = 86'400'000'000;

/// Returns the time of the next checkpoint (S12). A clock that was set back by up to a day does not make it earlier
/// than the previous one. A previous time that is further ahead is not taken over.
[[nodiscard]] inline Timestamp next_timestamp(Timestamp previous, Timestamp now) {
  return now < previous && previous.us - now.us <= kClockErrorMaxUs ? previous : now;
}

/// Properties of a new checkpoint that are not in the request.
struct DraftFacts {
  Sequence latest = {};     // 0 if the run has no checkpoint yet
  Timestamp previous = {};  // when the latest checkpoint, or the run, was created
  Timestamp now = {};
  Uuid id = {};
};

/// Returns the next checkpoint without its stored size and checksum, which depend on the store.
[[nodiscard]] CheckpointInfo draft_checkpoint(const SaveRequest& request, std::uint64_t state_bytes,
                                              const DraftFacts& facts);

}  // namespace pawl
