// Kills all descendants of the calling process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace pawl {

/// Makes this process the new parent of orphaned descendants.
void adopt_orphans();

/// Returns the child processes of this process, including zombies.
[[nodiscard]] std::vector<pid_t> own_children();

/// Kills and reaps the children of the calling process except `spared`, and their children once adopted
/// (adopt_orphans), for at most `wait_ms`. Returns whether none is left.
bool end_children(const std::vector<pid_t>& spared, std::uint64_t wait_ms);

}  // namespace pawl
