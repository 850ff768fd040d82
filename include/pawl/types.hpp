// The basic value types of Pawl.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <pawl/error.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

/// The readable ID of a run: `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`. Only `parse` creates one, so every RunId is valid and
/// safe to use as a file name.
class RunId {
 public:
  /// Fails with invalid_run_id.
  [[nodiscard]] static Result<RunId> parse(std::string_view text);
  [[nodiscard]] const std::string& text() const { return text_; }
  auto operator<=>(const RunId&) const = default;

 private:
  explicit RunId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// The number of a checkpoint within its run, starting at 1. 0 means "none".
struct Sequence {
  std::uint64_t value = 0;
  auto operator<=>(const Sequence&) const = default;
  [[nodiscard]] Sequence next() const { return Sequence{value + 1}; }
  [[nodiscard]] explicit operator bool() const { return value != 0; }
};

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};
  auto operator<=>(const Uuid&) const = default;
  /// Returns 36 characters, in lower case.
  [[nodiscard]] std::string text() const;
  /// Accepts 36 characters in either case. Returns nothing for any other text.
  [[nodiscard]] static std::optional<Uuid> parse(std::string_view text);
};

/// Microseconds since 1970-01-01 00:00 UTC. Checkpoints are ordered by Sequence, never by time.
struct Timestamp {
  std::int64_t us = 0;
  auto operator<=>(const Timestamp&) const = default;
  /// Returns the time in UTC, for example `2026-01-11T14:30:00.000123Z`.
  [[nodiscard]] std::string text() const;
  /// Returns the date in UTC, for example `2026-01-11`.
  [[nodiscard]] std::string day() const;
  /// Returns nothing if the text is not a valid time.
  [[nodiscard]] static std::optional<Timestamp> parse(std::string_view text);
};

/// The point in the execution that a checkpoint marks.
enum class Kind : std::uint8_t {
  manual,
  workflow_start,
  stage_start,
  stage_complete,
  step_start,
  step_complete,
  barrier,
  error,
  interrupted,
  waiting,
  workflow_complete,
};

/// The status of the execution that a checkpoint belongs to. Only runs can be `erased` or `damaged`, not checkpoints.
enum class Status : std::uint8_t {
  active,
  completed,
  failed,
  recovering,
  erased,   // runs only: the saved data was destroyed
  damaged,  // runs only: the newest checkpoint is unreadable
};

/// Why a checkpoint was saved.
enum class Reason : std::uint8_t {
  manual,
  before_step,
  after_step,
  step_failed,
  signal,
  time_interval,
  stage_completed,
  evaluation_completed,
  confidence_crossed,
  memory_pressure,
  breakpoint,
  before_risky_step,
  barrier,
  workflow_started,
  workflow_completed,
};

/// When a save becomes durable, which means that it survives a power failure. `sync`: before the save returns. `async`:
/// at most 100 ms after the save returns. `exit`: at the latest when the run is closed. With `async` and `exit`, a save
/// that has returned is lost if the process or the machine crashes before the save is durable. Run::flush and closing
/// the run make everything durable at every level.
enum class Durability : std::uint8_t { sync, async, exit };

[[nodiscard]] std::string_view to_text(Kind kind);
[[nodiscard]] std::string_view to_text(Status status);
[[nodiscard]] std::string_view to_text(Reason reason);
[[nodiscard]] std::string_view to_text(Durability durability);
/// These functions accept what to_text returns. The first three also accept words of the import formats, for example
/// `agent_start`, `sync_barrier` and `phase_completed`. They return nothing for unknown words, and parse_status returns
/// nothing for `erased` and `damaged`.
[[nodiscard]] std::optional<Kind> parse_kind(std::string_view text);
[[nodiscard]] std::optional<Status> parse_status(std::string_view text);
[[nodiscard]] std::optional<Reason> parse_reason(std::string_view text);
[[nodiscard]] std::optional<Durability> parse_durability(std::string_view text);

/// One of several labels of a checkpoint. A checkpoint has more than one if several things happened at the same time:
/// two parallel steps ended, or the last step of a stage.
struct SaveLabel {
  Kind kind = Kind::manual;
  Reason reason = Reason::manual;
  std::string stage = {};
  std::string step = {};
  auto operator<=>(const SaveLabel&) const = default;
};

/// A checkpoint without its state.
struct CheckpointInfo {
  Sequence sequence = {};
  Sequence parent = {};  // the checkpoint that it builds on; 0: none, it is the first
  Uuid id = {};
  Timestamp created = {};
  Kind kind = Kind::manual;
  Status status = Status::active;
  Reason reason = Reason::manual;
  std::string name = {};       // given by the caller; need not be unique: the newest checkpoint with a name has it
  std::string caller_id = {};  // SaveRequest::caller_id; may be empty
  std::string stage = {};
  std::string step = {};
  std::vector<SaveLabel> also = {};  // labels besides `kind`, `reason`, `stage` and `step`; usually none
  std::string metadata = {};         // the text of a JSON object; may be empty
  std::uint64_t state_bytes = 0;     // size of the state, in bytes
  std::uint64_t stored_bytes = 0;    // size of its stored record, in bytes
  bool whole = true;                 // true: stored completely; false: as a difference from its parent
  std::string checksum = {};         // "sha256:..." of the stored payload
  auto operator<=>(const CheckpointInfo&) const = default;
};

/// A run without its checkpoints.
struct RunInfo {
  RunId id;
  Uuid uuid = {};
  Timestamp created = {};
  Timestamp updated = {};  // time of the last save
  Sequence latest = {};    // the last checkpoint
  Status status = Status::active;
  Kind kind = Kind::manual;
  Durability durability = Durability::sync;
  std::string workflow = {};             // path or name of the workflow; may be empty
  std::string workflow_hash = {};        // may be empty
  std::string session = {};              // may be empty
  std::optional<Uuid> fork_of_run = {};  // UUID of the parent run, if the run is a fork
  Sequence fork_of_sequence = {};        // the last checkpoint shared with the parent run; 0: not a fork
};

/// An event of a run. Events are stored with a checkpoint and never change.
struct Event {
  std::uint64_t number = 0;  // number within the run, starting at 1
  Sequence sequence = {};    // the checkpoint that it was saved with
  Timestamp created = {};
  std::string type = {};
  std::string data = {};  // JSON text
  auto operator<=>(const Event&) const = default;
};

}  // namespace pawl
