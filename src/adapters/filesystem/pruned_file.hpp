// The list of a run's pruned checkpoints, and the callers' ids of these checkpoints, as files.
//
// The list is replaced as a whole. It is synced before it gets its name, and its name is synced before any listed
// checkpoint is removed. The list is therefore never partial, and a missing checkpoint that is not listed is damage.
#pragma once

#include <string_view>
#include <vector>

#include "codec/pruned_text.hpp"
#include "ports/file_system.hpp"

namespace pawl {

/// Returns an empty list if nothing was ever pruned. The list includes checkpoints that a fallback has set aside. Takes
/// no lock.
[[nodiscard]] Result<PrunedList> load_pruned(FileSystem& files, std::string_view run, std::uint32_t seed);

/// Replaces the list and makes it durable. The caller must hold the run's pruner and publisher locks.
Result<void> replace_pruned(FileSystem& files, std::string_view run, const PrunedList& list, std::uint32_t seed);

/// Returns as many ids as `list` counts. Fails with store_damaged if a line is missing or damaged.
[[nodiscard]] Result<std::vector<PrunedCaller>> load_pruned_callers(FileSystem& files, std::string_view run,
                                                                    const PrunedList& list, std::uint32_t seed);

/// Appends `callers` to those that `list` counts, numbers and counts them, and syncs the file. They take effect
/// Returns how many of the lines a copy has: fewer than listed if the file was copied before the list. A damaged line
/// is not a missing one, so all of them count then.
[[nodiscard]] Result<std::uint64_t> count_copied_callers(FileSystem& files, std::string_view run,
                                                         const PrunedList& list, std::uint32_t seed);
/// together with the list.
Result<void> append_pruned_callers(FileSystem& files, std::string_view run, PrunedList& list,
                                   const std::vector<PrunedCaller>& callers, std::uint32_t seed);

/// Returns whether a file with this name among the checkpoints of a run was released by `list` or is unknown to it.
[[nodiscard]] bool is_void(std::string_view name, const PrunedList& list);

}  // namespace pawl
