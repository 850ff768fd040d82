// The recorded facts of a run: what the machine decided, as compact events.
//
// Applying records in order to an empty state gives the progress of the run (see apply.hpp). Live execution changes
// progress only by applying a record, so both ways give the same state. A run continues from the state in its newest
// checkpoint (see snapshot.hpp), not from its records. All records of one call of step() are saved together. Records
// are numbered from 1, over all executions.
//
// As JSON, a record is an object with `type`, `at` (microseconds) and its own members; members with default values are
// omitted. A name that was released never changes, and unknown members are ignored.
#pragma once

#include <pawl/types.hpp>
#include <string>
#include <variant>

#include "base/json.hpp"
#include "base/result.hpp"
#include "domain/event_types.hpp"
#include "domain/run_state.hpp"

namespace pawl::machine {

namespace recorded {

struct RunBegan {
  static constexpr const char* kType = "run_began";
  std::string workflow_hash = {};
};
struct RunResumed {
  static constexpr const char* kType = event_type::kRunResumed;
  bool automatic = false;
  bool changes_accepted = false;
  std::string workflow_hash = {};
  Json budget = {};
};
struct StepStarted {
  static constexpr const char* kType = event_type::kStepStarted;
  std::string path = {};
  bool again = false;  // it had started before
};
struct AttemptReported {
  static constexpr const char* kType = "attempt_reported";
  std::string path = {};
  std::uint32_t start = 0;  // number of the attempt, including interrupted ones
  Usage usage = {};         // of the attempt until now
  Json progress = {};
  std::optional<double> confidence = {};
  std::uint32_t decisions = 0;  // saved until now, if there are any
};
enum class AttemptEnd : std::uint8_t { failed, interrupted };
struct AttemptEnded {
  static constexpr const char* kType = "attempt_ended";
  std::string path = {};
  std::uint32_t start = 0;
  AttemptEnd how = AttemptEnd::failed;
  std::string error = {};
  int exit_code = 0;
  bool retryable = true;
  Usage usage = {};
  Json progress = {};
  std::optional<double> confidence = {};
  std::uint64_t ms = 0;
  bool left = false;  // by an earlier execution
};
/// The next attempt starts no earlier.
struct RetryPlanned {
  static constexpr const char* kType = "retry_planned";
  std::string path = {};
  Timestamp due = {};
};
struct AsideBegan {
  static constexpr const char* kType = "aside_began";
  std::string path = {};
  Aside aside = Aside::none;
  std::string error = {};  // of the step, for on_failure
  StepReason reason = StepReason::none;
  bool retryable = true;
  Json output = {};  // of the attempt
};
struct StepSettled {
  static constexpr const char* kType = "step_settled";
  std::string path = {};
  StepStatus status = StepStatus::completed;
  StepReason reason = StepReason::none;
  std::string detail = {};
  std::string error = {};
  bool retryable = true;
  Json output = {};
  std::uint64_t output_of = 0;  // number of the record that contains the output instead
  bool no_output = false;       // of a map: it was rescued, or its deadline passed
  std::string definition = {};
  std::uint32_t start = 0;  // of the attempt that completed it; 0: none
  Usage usage = {};
  std::optional<double> confidence = {};
  std::uint64_t ms = 0;
  std::string cached_from = {};  // RUN@SEQ that produced the output
};
struct WaitBegan {
  static constexpr const char* kType = "wait_began";
  std::string path = {};
  StepReason reason = StepReason::none;
  std::string detail = {};
  std::string binding = {};
  Timestamp due = {};
};
struct IterationEnded {
  static constexpr const char* kType = "iteration_ended";
  std::string path = {};
  std::uint32_t iteration = 0;
  bool satisfied = false;
  Json outputs = {};  // of inner maps, by ID; the others are in their own records
};
struct MapOpened {
  static constexpr const char* kType = "map_opened";
  std::string path = {};
  std::uint64_t total = 0;
  std::string items_hash = {};
  std::string kept = {};  // indices of finished items that still exist unchanged
};
struct ItemEnded {
  static constexpr const char* kType = "item_ended";
  std::string path = {};
  std::uint64_t index = 0;
  std::uint64_t hash = 0;
  bool failed = false;
  std::string error = {};
  std::shared_ptr<const Json> item = {};    // null: JSON null
  std::shared_ptr<const Json> output = {};  // the same
  std::uint64_t output_of = 0;
};
struct CircuitOpened {
  static constexpr const char* kType = event_type::kCircuitOpened;
  std::string path = {};
  Timestamp due = {};  // until then, no item starts
};
struct ChildBegan {
  static constexpr const char* kType = "child_began";
  std::string path = {};
  std::uint64_t number = 0;  // of this record: distinguishes the children of one step
  std::string with_hash = {};
};
struct ChildOpened {
  static constexpr const char* kType = "child_opened";
  std::string path = {};
  std::string run = {};
};
struct ChildReported {
  static constexpr const char* kType = "child_reported";
  std::string path = {};
  Usage usage = {};         // of the child until now
  std::uint64_t steps = 0;  // that it completed since the last report
};
struct StepsAdded {
  static constexpr const char* kType = event_type::kStepsAdded;
  std::string path = {};
  Json steps = {};
};
enum class Answer : std::uint8_t { consumed, refused };
struct MessageTaken {
  static constexpr const char* kType = "message_taken";
  std::string id = {};
  Answer answer = Answer::consumed;
  std::string why = {};
};
/// An entry for the audit trail that was sent as a message.
struct EntryAdded {
  static constexpr const char* kType = "entry_added";
  std::string entry = {};
  std::string agent = {};
  Json payload = {};
};
struct SignalReceived {
  static constexpr const char* kType = event_type::kSignalReceived;
  std::string signal = {};
  Json payload = {};
  Timestamp sent = {};
};
struct SignalConsumed {
  static constexpr const char* kType = event_type::kSignalConsumed;
  std::string path = {};
  std::string signal = {};
};
struct Decided {
  static constexpr const char* kType = "decided";
  std::string path = {};
  bool approved = false;
  bool timed_out = false;
  std::string by = {};
  std::string binding = {};
  std::string comment = {};
};
struct CancelRequested {
  static constexpr const char* kType = event_type::kCancelRequested;
  std::string why = {};
};
struct ItemsReopened {
  static constexpr const char* kType = "items_reopened";
  std::string path = {};
  std::string indices = {};
  bool dependents = false;  // what depends on the map runs again, too
};
struct BreakpointReached {
  static constexpr const char* kType = "breakpoint_reached";
  std::string path = {};
  bool after = false;
};
struct PhaseCompleted {
  static constexpr const char* kType = "phase_completed";
  std::string stage = {};  // empty: a layer
  std::uint64_t layer = 0;
};
struct FinallyBegan {
  static constexpr const char* kType = "finally_began";
  std::uint32_t number = 0;
};
struct RunEnded {
  static constexpr const char* kType = "run_ended";
  RunStatus status = RunStatus::completed;
  std::string error = {};
  Json outputs = {};
};
}  // namespace recorded

using RecordedFact =
    std::variant<recorded::RunBegan, recorded::RunResumed, recorded::StepStarted, recorded::AttemptReported,
                 recorded::AttemptEnded, recorded::RetryPlanned, recorded::AsideBegan, recorded::StepSettled,
                 recorded::WaitBegan, recorded::IterationEnded, recorded::MapOpened, recorded::ItemEnded,
                 recorded::CircuitOpened, recorded::ChildBegan, recorded::ChildOpened, recorded::ChildReported,
                 recorded::StepsAdded, recorded::MessageTaken, recorded::EntryAdded, recorded::SignalReceived,
                 recorded::SignalConsumed, recorded::Decided, recorded::CancelRequested, recorded::ItemsReopened,
                 recorded::BreakpointReached, recorded::PhaseCompleted, recorded::FinallyBegan, recorded::RunEnded>;

struct Record {
  Timestamp at = {};
  RecordedFact fact = {};
};

[[nodiscard]] std::string_view type_of(const RecordedFact& fact);
/// Returns the path of the step that the fact is about; empty if it is about the run.
[[nodiscard]] std::string_view path_of(const RecordedFact& fact);
[[nodiscard]] Json to_json(const Record& record);
/// Fails with state_reconstruction_failed for an unknown type or a member of the wrong type.
[[nodiscard]] Result<Record> record_from_json(const Json& value);

}  // namespace pawl::machine
