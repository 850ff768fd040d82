// Checkpoints that are missing in a copy because the run was pruned while its folder was copied.
#pragma once

#include <string>

#include "adapters/filesystem/journal_reader.hpp"
#include "text/index_ranges.hpp"

namespace pawl {

/// A prune moves the checkpoints that it keeps to new files, replaces the list and removes the old files. A copy that
/// is made meanwhile may have the new list without the new files, or the old list without the old files. Adds what is
/// in neither to the list of pruned checkpoints, so that the rest of the run can be used, and returns it. `fork_at` is
/// the last shared checkpoint of a fork, otherwise 0. The caller has the store for itself.
[[nodiscard]] Result<IndexRanges> drop_uncopied(FileSystem& files, const std::string& run, std::uint32_t seed,
                                                Sequence fork_at, const RunRecords* records);

}  // namespace pawl
