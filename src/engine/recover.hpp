// Recovers the state of a run: finds a checkpoint that can be trusted, and the events after it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "domain/run_state.hpp"
#include "ports/environment.hpp"
#include "ports/store.hpp"

namespace pawl {

enum class RecoveryMode : std::uint8_t {
  latest,         // the newest intact checkpoint, then the events after it
  full,           // rebuilds every checkpoint from the oldest on and checks every checksum
  point_in_time,  // the newest checkpoint at or before a sequence or a time
};
[[nodiscard]] std::string_view to_text(RecoveryMode mode);
[[nodiscard]] std::optional<RecoveryMode> parse_recovery_mode(std::string_view text);

/// What to do if the requested checkpoint is damaged.
enum class Fallback : std::uint8_t {
  refuse,
  allow,  // uses an older, intact checkpoint and reports it
};

enum class BadEvents : std::uint8_t {
  refuse,
  skip,  // continues without the events after the checkpoint, and warns
};

struct RecoveryRequest {
  RunId run;
  RecoveryMode mode = RecoveryMode::latest;
  Sequence up_to = {};                      // of point_in_time
  std::optional<Timestamp> not_after = {};  // the same
  Fallback fallback = Fallback::refuse;
  BadEvents bad_events = BadEvents::refuse;
};

struct RecoveryResult {
  RecoveryMode mode = RecoveryMode::latest;
  Restored checkpoint = {};
  Sequence highest = {};              // the highest number the run has ever had
  bool fell_back = false;             // a newer checkpoint within the bounds is damaged
  std::uint64_t rebuilt = 0;          // checkpoints
  std::uint64_t events_replayed = 0;  // events read and checked: those after the checkpoint; in mode full, all
  std::uint64_t last_event = 0;       // the number of the last event, if events were read
  bool events_known = true;
  std::int64_t took_us = 0;
  std::vector<std::string> warnings = {};
  std::vector<std::string> completed_after = {};  // steps and items completed after the checkpoint
};

/// Fails with the code of the damage unless `fallback` allows an older checkpoint, with event_replay_failed if the
/// events can't be read, and with no_valid_checkpoint if no checkpoint is intact.
[[nodiscard]] Result<RecoveryResult> recover_run(Store& store, Clock& clock, const RecoveryRequest& request);

/// Parses `7`, `2026-01-11`, `2026-01-11T14:30Z` or `2026-01-11T15:30:00.5+01:00`. The default zone is UTC, and a day
/// means its end.
[[nodiscard]] Result<void> parse_point(std::string_view text, RecoveryRequest& request);

/// Reads the events after number `after`, the last that the state contains. Fails with event_replay_failed.
[[nodiscard]] Result<void> read_events_after(Store& store, const RunId& run, std::uint64_t after,
                                             RecoveryResult& result);

/// Returns steps and items that events after `checkpoint` report as completed and `state` does not.
[[nodiscard]] std::vector<std::string> steps_to_run_again(const RecoveryResult& result, const RunState& state);

[[nodiscard]] Json to_json(const RecoveryResult& result);

/// Adds a line to recovery/failures.jsonl, if possible.
void note_failure(Store& store, const RunId& run, const Error& error);

}  // namespace pawl
