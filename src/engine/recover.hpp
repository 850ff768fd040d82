// Recovery of a run's state: which checkpoint can be trusted, and what happened after it.
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
  latest,         // the newest whole checkpoint, then the events after it
  full,           // from the oldest: every checkpoint is rebuilt and every sum checked
  point_in_time,  // the newest checkpoint at or before a sequence or a time
};
[[nodiscard]] std::string_view to_text(RecoveryMode mode);
[[nodiscard]] std::optional<RecoveryMode> parse_recovery_mode(std::string_view text);

/// What to do where the wanted checkpoint is damaged.
enum class Fallback : std::uint8_t {
  refuse,
  allow,  // an older one that is whole is taken, and reported
};

enum class BadEvents : std::uint8_t {
  refuse,
  skip,  // goes on without knowing what happened after the checkpoint, and says so
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
  bool fell_back = false;             // something newer, within the bounds, is damaged
  std::uint64_t rebuilt = 0;          // checkpoints
  std::uint64_t events_replayed = 0;  // read and checked: those after the checkpoint, of `full` all up to the end
  std::uint64_t last_event = 0;       // the number of the run's last one, where events were read
  bool events_known = true;
  std::int64_t took_us = 0;
  std::vector<std::string> warnings = {};
  std::vector<std::string> completed_after = {};  // steps and items whose completion is an event after the checkpoint
};

/// Refuses with the damage's own code where something is damaged and `fallback` does not allow an older checkpoint,
/// with event_replay_failed where the events can't be read, and with no_valid_checkpoint where nothing is whole.
[[nodiscard]] Result<RecoveryResult> recover_run(Store& store, Clock& clock, const RecoveryRequest& request);

/// `7`, `2026-01-11`, `2026-01-11T14:30Z` or `2026-01-11T15:30:00.5+01:00`; without a zone it is UTC, a day means its
/// end.
[[nodiscard]] Result<void> parse_point(std::string_view text, RecoveryRequest& request);

/// Reads what happened after event `after`, for a state that knows of no more. Fails with event_replay_failed.
[[nodiscard]] Result<void> read_events_after(Store& store, const RunId& run, std::uint64_t after,
                                             RecoveryResult& result);

/// Steps and items that events after `checkpoint` say were completed, and that `state` does not know as completed.
[[nodiscard]] std::vector<std::string> steps_to_run_again(const RecoveryResult& result, const RunState& state);

[[nodiscard]] Json to_json(const RecoveryResult& result);

/// A line in recovery/failures.jsonl, where that can be written.
void note_failure(Store& store, const RunId& run, const Error& error);

}  // namespace pawl
