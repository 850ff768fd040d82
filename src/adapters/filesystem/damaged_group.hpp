// What can still be said about checkpoints whose records have a wrong checksum, so that pruning can decide about them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "adapters/filesystem/chain_reader.hpp"

namespace pawl {

/// A group of which at least one checkpoint can't be read. It is removed as a whole or not at all.
struct DamagedGroup {
  Sequence first;  // the first one of the group that is not shared with another run
  Sequence last;
};

/// A checkpoint of a damaged group, as its labels describe it.
struct DoubtfulCheckpoint {
  CheckpointInfo info;  // with a name if the labels can't be trusted, because named ones are kept
  std::string fingerprint;
};

/// Returns the checkpoints from `first` to `last` that `chain` lacks because of its damage.
[[nodiscard]] std::vector<DoubtfulCheckpoint> doubtful_checkpoints(const Chain& chain, const PrunedList& list,
                                                                   Sequence first, Sequence last);

}  // namespace pawl
