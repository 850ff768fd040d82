// The basic types of Pawl as plain values. Uses only the standard library.
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

/// A run's readable id: `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`. Only `parse` makes one, so holding a
/// RunId means that it is safe as a file name.
class RunId {
 public:
  [[nodiscard]] static Result<RunId> parse(std::string_view text);
  [[nodiscard]] const std::string& text() const { return text_; }
  auto operator<=>(const RunId&) const = default;

 private:
  explicit RunId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// The number of a checkpoint within its run. The first is 1; 0 means "none".
struct Sequence {
  std::uint64_t value = 0;
  auto operator<=>(const Sequence&) const = default;
  [[nodiscard]] Sequence next() const { return Sequence{value + 1}; }
  [[nodiscard]] explicit operator bool() const { return value != 0; }
};

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};
  auto operator<=>(const Uuid&) const = default;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] static std::optional<Uuid> parse(std::string_view text);
};

/// Microseconds since 1970 in UTC. Order is by Sequence, never by this.
struct Timestamp {
  std::int64_t us = 0;
  auto operator<=>(const Timestamp&) const = default;
  /// `2026-01-11T14:30:00.000123Z`
  [[nodiscard]] std::string text() const;
  /// `2026-01-11`
  [[nodiscard]] std::string day() const;
  [[nodiscard]] static std::optional<Timestamp> parse(std::string_view text);
};

/// What a checkpoint marks.
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

/// How the execution that a checkpoint belongs to stands. `erased` is a run's alone: no checkpoint has it.
enum class Status : std::uint8_t {
  active,
  completed,
  failed,
  recovering,
  erased,   // of runs only: what was saved in it is destroyed
  damaged,  // of runs only: the newest checkpoint can't be read
};

/// Why a checkpoint was made.
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

/// When a save returns. `sync`: it survives power loss. `async`: it will, after at most a bounded window
/// (100 ms), and survives the death of the process's caller at exit. `exit`: it will when the run is closed.
enum class Durability : std::uint8_t { sync, async, exit };

[[nodiscard]] std::string_view to_text(Kind kind);
[[nodiscard]] std::string_view to_text(Status status);
[[nodiscard]] std::string_view to_text(Reason reason);
[[nodiscard]] std::string_view to_text(Durability durability);
/// These also accept the words of import formats (`agent_start`, `sync_barrier`, `phase_completed`).
[[nodiscard]] std::optional<Kind> parse_kind(std::string_view text);
[[nodiscard]] std::optional<Status> parse_status(std::string_view text);
[[nodiscard]] std::optional<Reason> parse_reason(std::string_view text);
[[nodiscard]] std::optional<Durability> parse_durability(std::string_view text);

/// A checkpoint without its state.
struct CheckpointInfo {
  Sequence sequence = {};
  Sequence parent = {};  // 0: the first one
  Uuid id = {};
  Timestamp created = {};
  Kind kind = Kind::manual;
  Status status = Status::active;
  Reason reason = Reason::manual;
  std::string name = {};       // given by the user; unique use is not required, the newest one counts
  std::string caller_id = {};  // the caller's id of the save
  std::string stage = {};
  std::string step = {};
  std::string metadata = {};       // a JSON object as text, or empty
  std::uint64_t state_bytes = 0;   // size of the state
  std::uint64_t stored_bytes = 0;  // size of what is stored for it
  bool whole = true;               // stored whole, or as a difference to its parent
  std::string checksum = {};       // "sha256:..." over the stored payload
  auto operator<=>(const CheckpointInfo&) const = default;
};

/// A run without its checkpoints.
struct RunInfo {
  RunId id;
  Uuid uuid = {};
  Timestamp created = {};
  Timestamp updated = {};
  Sequence latest = {};
  Status status = Status::active;
  Kind kind = Kind::manual;
  Durability durability = Durability::sync;
  std::string workflow = {};       // path or name of the definition; may be empty
  std::string workflow_hash = {};  // may be empty
  std::string session = {};        // may be empty
  std::optional<Uuid> fork_of_run = {};
  Sequence fork_of_sequence = {};
};

struct Event {
  std::uint64_t number = 0;  // within the run, from 1
  Sequence sequence = {};    // of the checkpoint it was saved with
  Timestamp created = {};
  std::string type = {};
  std::string data = {};  // JSON as text
  auto operator<=>(const Event&) const = default;
};

}  // namespace pawl
