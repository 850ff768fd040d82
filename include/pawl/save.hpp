// The requests and results of saving and restoring.
#pragma once

#include <pawl/types.hpp>

namespace pawl {

/// Whether an event has its own entry in the audit trail.
enum class Audited : std::uint8_t {
  by_type,  // only if its type requires it: decisions, refusals, accepted changes and the like
  yes,      // always
};

/// An event to store with a checkpoint. The events of one save have at most 32 MiB of data.
struct NewEvent {
  std::string type = {};    // required; at most 256 bytes
  std::string data = "{}";  // JSON text, at most 8 MiB
  Audited audited = Audited::by_type;
  std::string agent = {};  // who acted, for the audit trail; may be empty
};

/// How SaveRequest::body describes the new state.
enum class Form : std::uint8_t {
  state,  // the body is the complete state
  patch,  // the body is a JSON Merge Patch (RFC 7396) for the last state; {"$append": [...]} appends to an array
};

/// What a save does if nothing has changed: the same state, kind, status, labels and metadata as in the last
/// checkpoint, no events and no caller ID.
enum class Duplicates : std::uint8_t {
  answer,  // write nothing and return the last checkpoint (Outcome::unchanged)
  write,   // write a new checkpoint
};

/// Which changes of the status of a run a save may make.
enum class StatusChange : std::uint8_t {
  any,      // every change is allowed
  checked,  // fail with transition_refused unless the last status allows it: a completed run stays completed
};

/// A checkpoint to save. Labels (name, caller_id, stage, step) are UTF-8 without control characters, at most 256 bytes.
struct SaveRequest {
  std::string_view body = {};  // JSON text; with Form::state it is restored byte for byte
  Form form = Form::state;
  Kind kind = Kind::manual;
  Status status = Status::active;
  StatusChange status_change = StatusChange::any;
  Reason reason = Reason::manual;
  std::string name = {};  // addresses the checkpoint as RUN@name:X; need not be unique
  /// An ID that makes the save idempotent. If the run already has a save with this ID, nothing is written and that
  /// checkpoint is returned (Outcome::repeated). The same ID with another body, form or kind fails with
  /// caller_id_reused.
  std::string caller_id = {};
  std::string stage = {};
  std::string step = {};
  /// More labels, at most 1,000. RUN@stage:X and RUN@step:X also find the checkpoint by the stages and steps in them.
  std::vector<SaveLabel> also = {};
  std::string metadata = {};  // the text of a JSON object, at most 1 MiB; may be empty
  /// If it is set and not the last sequence number (0: no checkpoint yet), the save fails with parent_conflict.
  std::optional<Sequence> expected_parent = {};
  Duplicates duplicates = Duplicates::answer;
  std::vector<NewEvent> events = {};
};

/// The checkpoint that a save wrote or found.
struct Saved {
  enum class Outcome : std::uint8_t {
    written,    // a new checkpoint was written
    unchanged,  // nothing has changed: this is the last checkpoint
    repeated,   // the caller ID was saved before: this is the checkpoint of that save
  };
  Sequence sequence = {};
  Uuid id = {};
  std::string checksum = {};  // as in CheckpointInfo
  Outcome outcome = Outcome::written;
};

/// A checkpoint and its state.
struct Restored {
  CheckpointInfo info = {};
  std::string state = {};  // JSON text
};

/// How a run is opened for writing. An existing run keeps its workflow, hash and session.
struct RunOptions {
  /// The level of a new run. An existing run has the level that it was created with; another one fails with
  /// durability_fixed. Default of a new run: `sync`, or `async` if the setting performance.async_writes is true.
  std::optional<Durability> durability = {};
  std::string workflow = {};
  std::string workflow_hash = {};
  std::string session = {};
  /// Continues a damaged run from this checkpoint, which must be its newest intact one. The first save sets the damaged
  /// checkpoints aside. Its sequence number follows the highest one that was ever used. Fails with parent_conflict if
  /// nothing is damaged, or if another checkpoint is the newest intact one. 0: do not fall back.
  Sequence fall_back_to = {};
};

/// Selects a checkpoint of a run: the part of an address after `@`. If several match, the newest is used.
struct Which {
  enum class By : std::uint8_t { latest, sequence, name, stage, step, uuid };
  By by = By::latest;
  Sequence sequence = {};
  std::string label = {};  // for By::name, By::stage and By::step
  Uuid uuid = {};
};

/// The address of a checkpoint: `RUN`, `RUN@SEQ`, `RUN@latest`, `RUN@name:X`, `RUN@stage:X`, `RUN@step:X` or
/// `RUN@UUID`. `RUN` alone means `RUN@latest`.
struct Address {
  RunId run;
  Which which = {};
  /// Fails with invalid_address or invalid_run_id.
  [[nodiscard]] static Result<Address> parse(std::string_view text);
};

}  // namespace pawl
