// What becomes of a save: the rules that every store shares (clauses S4 to S7 and S12 of ports/store.hpp).
#pragma once

#include <pawl/save.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.hpp"

namespace pawl {

/// What the store knows when a save comes in.
struct SaveFacts {
  const RunId& run;
  const CheckpointInfo* head = nullptr;          // the last checkpoint; null: there is none yet
  std::string_view head_state = {};              // its state
  const CheckpointInfo* earlier = nullptr;       // the checkpoint that has the request's caller_id; null: none
  bool earlier_has_same_body = false;            // its body_fingerprint is that of the request
  std::uint64_t state_bytes_max = 100ULL << 20;  // for what a patch makes of the state
  bool head_is_shared = false;                   // a fork's first save: the head is another run's, and never the answer
};

/// The save is to be written, with the state that `state_to_write` gives.
struct WriteState {
  std::string patched;  // Form::patch: the patched state
};

/// Either to be written, or answered with an earlier checkpoint (`unchanged` or `repeated`) without writing.
using SaveDecision = std::variant<WriteState, Saved>;

/// Checks the caller's id (S6) first, then the expected parent (S5), the change of status, the patch (S7), and whether
/// the state is unchanged (S4). Fails with caller_id_reused, parent_conflict, transition_refused or an error of
/// apply_patch.
[[nodiscard]] Result<SaveDecision> decide_save(const SaveRequest& request, const SaveFacts& facts);

/// A span of the request's body or of `write`.
[[nodiscard]] inline std::string_view state_to_write(const SaveRequest& request, const WriteState& write) {
  return request.form == Form::patch ? std::string_view(write.patched) : request.body;
}

/// Tells bodies apart that come with the same caller's id (S6): covers body and form. To be stored with
/// a checkpoint that has a caller's id. Finds mistakes, not attacks.
[[nodiscard]] std::uint64_t body_fingerprint(const SaveRequest& request);

/// Metadata as it is kept: on one line. Line breaks between JSON's tokens mean nothing, and a JSON string has none.
[[nodiscard]] std::string one_line(std::string_view json);

/// The time of the next checkpoint (S12): never before the previous one.
[[nodiscard]] inline Timestamp next_timestamp(Timestamp previous, Timestamp now) {
  return now < previous ? previous : now;
}

}  // namespace pawl
