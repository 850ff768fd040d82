// A run's list of what was pruned, and the callers' ids of what it lists, as files.
//
// The list is replaced as a whole, synced before it gets its name and its name before anything that it gives up is
// removed: so it is never half there, and what it does not list and is missing is damage.
#pragma once

#include <string_view>
#include <vector>

#include "codec/pruned_text.hpp"
#include "ports/file_system.hpp"

namespace pawl {

/// Empty where nothing was ever pruned; what a fallback has set aside is part of it. Takes no lock.
[[nodiscard]] Result<PrunedList> load_pruned(FileSystem& files, std::string_view run, std::uint32_t seed);

/// Puts the list in its place and makes it durable. The caller holds the run's pruner and publisher locks.
Result<void> replace_pruned(FileSystem& files, std::string_view run, const PrunedList& list, std::uint32_t seed);

/// As many as `list` says. A line that is missing or damaged fails with store_damaged.
[[nodiscard]] Result<std::vector<PrunedCaller>> load_pruned_callers(FileSystem& files, std::string_view run,
                                                                    const PrunedList& list, std::uint32_t seed);

/// Writes `callers` behind those that `list` counts, numbers and counts them, and syncs the file. They are in force
/// with the list.
Result<void> append_pruned_callers(FileSystem& files, std::string_view run, PrunedList& list,
                                   const std::vector<PrunedCaller>& callers, std::uint32_t seed);

/// Whether a file of this name among a run's checkpoints is one that `list` has given up, or does not know of.
[[nodiscard]] bool is_void(std::string_view name, const PrunedList& list);

}  // namespace pawl
