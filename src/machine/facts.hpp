// What happens outside of the machine.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "domain/workflow.hpp"
#include "machine/commands.hpp"

namespace pawl::machine {

/// What an attempt reported until now. Sums are those of the whole attempt.
struct Report {
  Usage usage = {};
  Json progress = {};
  std::optional<double> confidence = {};
  std::size_t evaluations = 0;
  std::uint32_t decisions = 0;  // saved before the end of the attempt
};

namespace fact {

struct RunBegan {};
/// The state was restored (see snapshot.hpp); the run continues.
struct RunResumed {
  bool automatic = false;
  bool changes_accepted = false;
  Json budget = {};
};
/// An attempt of an earlier execution left a report that may not be recorded. Precedes RunResumed.
struct AttemptLeft {
  std::string path = {};
  std::uint32_t start = 0;
  Report report = {};
};
struct AttemptStarted {
  NodeId node = NodeId::none;
  std::uint32_t start = 0;
};
struct AttemptReported {
  NodeId node = NodeId::none;
  std::uint32_t start = 0;
  Report report = {};
};
struct AttemptEnded {
  NodeId node = NodeId::none;
  std::uint32_t start = 0;
  std::string error = {};  // empty: it exited with 0 and its output is valid
  int exit_code = 0;       // 128 + N if signal N killed it
  Json output = {};
  Json add_steps = {};
  Report report = {};
  std::uint64_t ms = 0;
  std::optional<Milliseconds> retry_after = {};
  bool retryable = true;  // whether another attempt could end differently
};
/// Who is to blame for an attempt that could not be started.
enum class Party : std::uint8_t {
  work,     // the command does not exist or its inputs are invalid
  machine,  // full disk, no descriptors or memory, the reaper is gone
};
struct AttemptNotStarted {
  NodeId node = NodeId::none;
  std::uint32_t start = 0;
  Party party = Party::work;
  std::string error = {};
  bool retryable = false;
};
/// The machine lost a running attempt: the reaper was killed. The attempt has ended.
struct AttemptLost {
  NodeId node = NodeId::none;
  std::uint32_t start = 0;
  Report report = {};
};
struct TimerDue {
  TimerId timer = TimerId::none;
};
enum class MessageType : std::uint8_t { approve, reject, signal, cancel, retry_items, audit, checkpoint, other };
struct MessageArrived {
  std::string id = {};
  MessageType type = MessageType::other;
  Timestamp at = {};         // when it was sent: what was too late then stays too late
  std::string path = {};     // of the gate or map
  std::string binding = {};  // of a decision
  std::string by = {};       // whoever decided, or the agent of an audit entry
  std::string from = {};     // the account that sent it
  std::string text = {};     // a comment, the name of the signal, the reason of a cancellation, or the type of
                             // an audit entry; an entry without a type is refused as invalid
  Json payload = {};         // of a signal or an audit entry
  std::string indices = {};  // of items; empty: all failed ones
  bool dependents = false;
};
struct Interrupted {
  std::string why = {};
};
/// Whoever started the run wants it to end for good.
struct CancelWanted {
  std::string why = {};
};
/// The run can't begin or continue: its environment is incomplete. It fails, and keeps its progress.
struct RunRefused {
  std::string error = {};
};
struct CheckpointWanted {
  Reason reason = Reason::manual;
};
struct SaveDurable {
  std::uint64_t batch = 0;
};
enum class SaveTrouble : std::uint8_t {
  passing,   // it may succeed later, also where the outcome is unknown
  hopeless,  // it will never succeed
};
struct SaveFailed {
  std::uint64_t batch = 0;
  SaveTrouble trouble = SaveTrouble::passing;
  std::string error = {};
};
struct ChildOpened {
  NodeId node = NodeId::none;
  std::string run = {};
};
struct ChildNotOpened {
  NodeId node = NodeId::none;
  Party party = Party::work;
  std::string error = {};
  bool refused = false;  // it must not continue: its workflow changed, for example
};
struct ChildReported {
  NodeId node = NodeId::none;
  Usage usage = {};
  std::uint64_t steps = 0;  // that it completed since the last report
};
/// A message arrived for a child that had ended its execution because it waits.
struct ChildWoken {
  NodeId node = NodeId::none;
};
struct ChildEnded {
  NodeId node = NodeId::none;
  RunStatus status = RunStatus::completed;
  std::string error = {};
  bool rejected = false;
  bool paused = false;   // see is_paused()
  bool trouble = false;  // it was interrupted by trouble of the machine
  bool refused = false;  // it must not continue
  Json outputs = {};
  Usage usage = {};
};
struct ItemsLoaded {
  NodeId node = NodeId::none;
  std::string error = {};
  std::string hash = {};
  std::shared_ptr<const std::vector<std::uint64_t>> item_hashes = {};  // see hash_of_item()
};
struct ItemLoaded {
  NodeId node = NodeId::none;
  std::uint64_t index = 0;
  std::string error = {};
  Json item = {};
};
/// The answer to LoadFinished.
struct FinishedLoaded {
  NodeId node = NodeId::none;
  std::string error = {};
  std::shared_ptr<const std::map<std::uint64_t, std::uint64_t>> hashes = {};  // by index, see hash_of_item()
};
struct OutputLoaded {
  NodeId node = NodeId::none;
  std::string error = {};
  Json output = {};
  Party party = Party::machine;  // work: the output is too large to be used
};
struct PermitsGranted {
  NodeId node = NodeId::none;
};
struct CacheAnswered {
  NodeId node = NodeId::none;
  bool hit = false;
  Json output = {};
  std::string from = {};  // RUN@SEQ
};
/// The answer to ReadInbox.
struct InboxRead {
  bool sealed = false;
};
/// The worktrees of a map's items were merged. An item with a conflict left nothing behind.
struct ItemsMerged {
  NodeId node = NodeId::none;
  std::vector<std::pair<std::uint64_t, std::string>> conflicts = {};
  std::string trouble = {};  // of the machine: the others are still to be merged
};
/// The person who is asked answers this gate later, not now.
struct AnswerPostponed {
  std::string path = {};
};
/// The parent's budget is used up: no attempt starts, and the execution ends when those under way have ended.
struct PauseRequested {};

}  // namespace fact

using Fact =
    std::variant<fact::RunBegan, fact::RunResumed, fact::AttemptLeft, fact::AttemptStarted, fact::AttemptReported,
                 fact::AttemptEnded, fact::AttemptNotStarted, fact::AttemptLost, fact::TimerDue, fact::MessageArrived,
                 fact::Interrupted, fact::CancelWanted, fact::RunRefused, fact::CheckpointWanted, fact::SaveDurable,
                 fact::SaveFailed, fact::ChildOpened, fact::ChildNotOpened, fact::ChildReported, fact::ChildWoken,
                 fact::ChildEnded, fact::ItemsLoaded, fact::ItemLoaded, fact::FinishedLoaded, fact::OutputLoaded,
                 fact::PermitsGranted, fact::CacheAnswered, fact::InboxRead, fact::ItemsMerged, fact::AnswerPostponed,
                 fact::PauseRequested>;

}  // namespace pawl::machine
