// What the machine asks the executor to do.
#pragma once

#include <pawl/types.hpp>
#include <string>
#include <variant>
#include <vector>

#include "machine/records.hpp"
#include "text/duration.hpp"

namespace pawl::machine {

enum class NodeId : std::uint32_t { none = 0 };
enum class ScopeId : std::uint32_t { none = 0 };
enum class TimerId : std::uint64_t { none = 0 };

enum class TimerKind : std::uint8_t {
  backoff,
  machine_backoff,
  sleep,
  wait_deadline,  // of a gate or a signal
  attempt_timeout,
  total_timeout,
  deadline,  // of a loop, map or child
  cool_down,
  save_retry,
  save_soon,
  workflow_timeout,
};

/// What a checkpoint is about. A checkpoint may have several labels.
struct Label {
  Kind kind = Kind::manual;
  Reason reason = Reason::manual;
  std::string step = {};
  std::string stage = {};
  bool operator==(const Label&) const = default;
};

/// Records that become durable together. A repeated save has the same ID and the same records.
struct SaveBatch {
  std::uint64_t id = 0;
  std::uint64_t first = 0;  // number of its first record
  std::vector<Record> records = {};
  std::vector<Label> labels = {};
};

/// Why the process stops driving the run.
enum class Ending : std::uint8_t {
  completed,
  failed,
  waiting,
  interrupted,
  cancelled,
  machine_trouble,  // paused: exit status 5
  refused,          // exit status 4
};

/// What must not be continued as it is now.
enum class Refusal : std::uint8_t {
  items,  // of a map changed
  gate,   // that was reached would be skipped
  child,  // refuses to continue
};

namespace command {

struct StartAttempt {
  NodeId node = NodeId::none;
  std::string path = {};
  std::uint32_t start = 0;    // identifies the attempt, together with the path
  std::uint32_t attempt = 0;  // counts finished attempts, from 1
  std::string idempotency_key = {};
};
/// Asks the attempt to end: SIGTERM, and SIGKILL after the grace period.
struct StopAttempt {
  NodeId node = NodeId::none;
  std::uint32_t start = 0;
};
struct SetTimer {
  TimerId timer = TimerId::none;
  TimerKind kind = TimerKind::backoff;
  Timestamp due = {};
};
struct CancelTimer {
  TimerId timer = TimerId::none;
};
struct Save {
  std::shared_ptr<const SaveBatch> batch = {};
};
struct LoadItems {
  NodeId node = NodeId::none;
  std::string file = {};
};
struct LoadItem {
  NodeId node = NodeId::none;
  std::uint64_t index = 0;
};
/// Asks for the hashes of the finished items of a map: of each index in `done`, that in its newest result.
struct LoadFinished {
  NodeId node = NodeId::none;
  std::string path = {};
};
/// Asks for the output in the record, or for the results of a map if `record` is 0 (see results.hpp). A number that is
/// at most State::base is that of an event.
struct LoadOutput {
  NodeId node = NodeId::none;
  std::string path = {};
  std::uint64_t record = 0;
};
/// What observers are told. One with `lasts` belongs to the history of the run: it is saved as an event with the next
/// batch. It comes before the first Save of the records that were made with it.
struct Tell {
  std::string type = {};
  std::string path = {};
  Json data = {};
  bool lasts = false;
  std::uint64_t record = 0;  // the record whose output is the member `output` of `data`; 0: the output is small
  bool entry = false;        // an audit entry that was sent as a message: `type` is the sender's
  std::string agent = {};    // of an entry
};
/// Asks for the worktrees of completed items to be committed and merged, in index order.
struct MergeItems {
  NodeId node = NodeId::none;
};
struct Ask {
  NodeId node = NodeId::none;
  std::string path = {};
  std::string prompt = {};
  std::string binding = {};
};
struct ClosePrompt {
  NodeId node = NodeId::none;
  std::string path = {};
};
/// Opens the child run with this key, or creates it. A child that exists under another key is never used.
struct StartChild {
  NodeId node = NodeId::none;
  std::string path = {};
  std::string key = {};
  std::string run = {};  // its recorded ID; empty: not known yet
  std::string file = {};
  Json with = {};
};
enum class StopChildHow : std::uint8_t { interrupt, cancel };
struct StopChild {
  NodeId node = NodeId::none;
  StopChildHow how = StopChildHow::interrupt;
};
/// Passes PauseRequested on to the child.
struct PauseChild {
  NodeId node = NodeId::none;
};
struct AcquirePermits {
  NodeId node = NodeId::none;
  std::vector<std::string> limits = {};
};
struct ReleasePermits {
  NodeId node = NodeId::none;
};
struct LookUpCache {
  NodeId node = NodeId::none;
  std::string key = {};
  std::optional<Milliseconds> ttl = {};
};
struct StoreCache {
  std::string key = {};
  std::string hash = {};  // see cache_hash()
  std::string path = {};
  std::uint64_t record = 0;  // contains the output
};
/// Removes the message from the inbox. Its effect is durable.
struct TakeMessage {
  std::string id = {};
};
/// Asks for the fact InboxRead: every message acknowledged until now was delivered. With `seal`, no other is
/// acknowledged from then on.
struct ReadInbox {
  bool seal = false;
};
/// Messages are acknowledged again.
struct UnsealInbox {};
struct Notify {
  Ending ending = Ending::waiting;
};
/// The last command of an execution.
struct Finish {
  Ending ending = Ending::completed;
  RunStatus status = RunStatus::completed;
  std::string error = {};
  bool everything_saved = true;
  Refusal refusal = Refusal::items;  // if it was refused
};

}  // namespace command

using Command =
    std::variant<command::StartAttempt, command::StopAttempt, command::SetTimer, command::CancelTimer, command::Save,
                 command::LoadItems, command::LoadItem, command::LoadFinished, command::LoadOutput, command::Tell,
                 command::MergeItems, command::Ask, command::ClosePrompt, command::StartChild, command::StopChild,
                 command::PauseChild, command::AcquirePermits, command::ReleasePermits, command::LookUpCache,
                 command::StoreCache, command::TakeMessage, command::ReadInbox, command::UnsealInbox, command::Notify,
                 command::Finish>;

}  // namespace pawl::machine
