// Ends everything below the calling process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace pawl {

/// Makes this process the new parent of descendants that lose theirs.
void adopt_orphans();

/// The processes whose parent is this one, zombies included.
[[nodiscard]] std::vector<pid_t> own_children();

/// Kills the children of the calling process except `spared`, and their children as they become its own
/// (adopt_orphans), until none is left or `wait_ms` are over. Reaps them. Whether none is left.
bool end_children(const std::vector<pid_t>& spared, std::uint64_t wait_ms);

}  // namespace pawl
