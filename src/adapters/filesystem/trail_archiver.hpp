// Moves the older entries of a run's audit trail into a compressed archive.
#pragma once

#include "adapters/filesystem/trail_file.hpp"
#include "ports/environment.hpp"

namespace pawl {

struct TrailLimits {
  std::uint64_t keep = 0;                       // entries that stay lines
  std::uint64_t at_least = 0;                   // fewer are not worth an archive
  std::uint64_t first_in_journal = UINT64_MAX;  // entries from here on are still in a journal, and stay
};

/// `lock` is the lock file of the run, whose pruner byte the caller holds. Nothing is lost if the process is killed at
/// any point: an archive and its name are durable before the trail is cut, and the rest of the trail before it replaces
/// the trail. Leaves a damaged trail as it is.
[[nodiscard]] Result<void> archive_trail(FileSystem& files, const std::string& run, const TrailLimits& limits,
                                         File& lock, Clock& clock);

/// Makes audit_trail.jsonl contain all entries again. The caller has the store for itself.
[[nodiscard]] Result<void> expand_trail(FileSystem& files, const std::string& run);

}  // namespace pawl
