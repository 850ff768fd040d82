// The durable form of a run's progress: the RunState in each checkpoint, from which the next execution continues.
//
// An output above kOutputInline is not part of it. A state names the event that contains the output; the machine names
// the record, because events get their numbers when they are saved. After restore() every such number is at most
// State::base and names an event. A larger one names a record of this execution.
#pragma once

#include <functional>

#include "machine/state.hpp"

namespace pawl::machine {

/// Returns the number of the event that contains this record. It is called for records of this execution only.
using EventOf = std::function<std::uint64_t(std::uint64_t record)>;

/// Returns whether a snapshot contains the node: it has started, and nothing around it is completed. The first step of
/// an item counts as started when its first attempt has ended or reported something.
[[nodiscard]] bool is_in_snapshot(const State& s, const Node& node);
/// Returns the record of the node as a snapshot contains it.
[[nodiscard]] StepRecord record_of(const State& s, const Node& node, const EventOf& event_of);
/// Returns everything of a snapshot but the steps. What the machine does not know (names, files, variables, the parent,
/// masked values, the number of events, ...) is that of `base`.
[[nodiscard]] RunState head_of(const State& s, const RunState& base);
/// Returns the whole state. A step comes before the steps inside it and after those before it in the workflow.
[[nodiscard]] RunState snapshot(const State& s, const RunState& base, const EventOf& event_of);

/// A step whose record differs from the last snapshot.
struct Change {
  std::string path = {};
  NodeId node = NodeId::none;  // none: the snapshot does not contain it any more
};
/// Returns what changed since the last call, or since the state was made; each path once. The steps of a snapshot, with
/// these changes applied to it, are those of a new one.
[[nodiscard]] std::vector<Change> take_changes(State& s);

/// Returns the state from which AttemptLeft and RunResumed continue. The workflow may be newer than `from`: steps that
/// are missing in it are dropped, and those that settled with another definition are open again; what they used remains
/// counted. Fails with state_reconstruction_failed if a part of `from` is invalid.
///
/// States of older programs have no records. In them an interrupted step is one that was running, and a step that runs
/// while steps of its `on_failure` have a record is running those.
[[nodiscard]] Result<State> restore(std::shared_ptr<const Definition> definition, const RunState& from);

}  // namespace pawl::machine
