// What a save takes and gives, and what a restore gives.
#pragma once

#include <pawl/types.hpp>

namespace pawl {

/// Whether an event gets an entry of its own in the audit trail.
enum class Audited : std::uint8_t {
  by_type,  // decisions and refusals do: domain/audited_events.hpp
  yes,
};

struct NewEvent {
  std::string type = {};
  std::string data = "{}";  // JSON as text
  Audited audited = Audited::by_type;
  std::string agent = {};  // who acted, for the audit trail
};

enum class Form : std::uint8_t {
  state,  // the body is the whole state
  patch,  // the body is a JSON Merge Patch against the last state; {"$append": [...]} appends to an array
};

enum class Duplicates : std::uint8_t {
  answer,  // a state equal to the last one is answered with the last checkpoint
  write,   // it is written again
};

enum class StatusChange : std::uint8_t {
  any,      // the status is written as given
  checked,  // only a change that the run's last status allows: a completed run stays completed
};

struct SaveRequest {
  std::string_view body = {};  // JSON text; comes back exactly as given (Form::state)
  Form form = Form::state;
  Kind kind = Kind::manual;
  Status status = Status::active;
  StatusChange status_change = StatusChange::any;
  Reason reason = Reason::manual;
  std::string name = {};
  std::string caller_id = {};
  std::string stage = {};
  std::string step = {};
  std::string metadata = {};  // a JSON object as text, or empty
  std::optional<Sequence> expected_parent = {};
  Duplicates duplicates = Duplicates::answer;
  std::vector<NewEvent> events = {};
};

struct Saved {
  enum class Outcome : std::uint8_t {
    written,
    unchanged,  // the last checkpoint holds this state already
    repeated,   // this caller's id was saved before
  };
  Sequence sequence = {};
  Uuid id = {};
  std::string checksum = {};
  Outcome outcome = Outcome::written;
};

struct Restored {
  CheckpointInfo info = {};
  std::string state = {};
};

/// How a run is opened for writing.
struct RunOptions {
  std::optional<Durability> durability = {};  // none: sync for a new run, the recorded one otherwise
  std::string workflow = {};
  std::string workflow_hash = {};
  std::string session = {};
  /// Only where newer checkpoints are damaged: goes on from this one, the newest that is whole. The first save sets the
  /// damaged ones aside and gets the number behind the highest that was ever seen.
  Sequence fall_back_to = {};
};

/// Which checkpoint of a run: the part behind `@`.
struct Which {
  enum class By : std::uint8_t { latest, sequence, name, stage, step, uuid };
  By by = By::latest;
  Sequence sequence = {};
  std::string label = {};  // name, stage or step
  Uuid uuid = {};
};

/// `RUN`, `RUN@SEQ`, `RUN@latest`, `RUN@step:ID`, `RUN@stage:ID`, `RUN@name:X` or `RUN@UUID`.
struct Address {
  RunId run;
  Which which = {};
  [[nodiscard]] static Result<Address> parse(std::string_view text);
};

}  // namespace pawl
