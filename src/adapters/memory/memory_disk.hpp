// The contents of a memory store.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "adapters/memory/memory_limits.hpp"
#include "adapters/memory/memory_result_cache.hpp"
#include "ports/environment.hpp"
#include "ports/store.hpp"

namespace pawl {

struct MemoryCheckpoint {
  CheckpointInfo info;
  std::string state;
  std::uint64_t body_fingerprint = 0;
  bool pruned = false;  // if true, only the data for repeated saves is left
};

struct MemoryRun {
  RunInfo info;
  std::vector<MemoryCheckpoint> checkpoints = {};  // sequence n at n - 1; a fork has copies of what it shares
  std::vector<Event> events = {};                  // number n at n - 1; the same
  std::vector<Message> messages = {};              // oldest first
  std::vector<AuditEntry> audit = {};              // index n at n - 1
  std::optional<RunId> parent = {};                // of a fork
  [[nodiscard]] Sequence shared() const { return info.fork_of_sequence; }
  std::optional<Erasure> erased = {};  // if set, only this and the identity of the run are left
};

struct MemoryDisk {
  MemoryDisk() = default;
  MemoryDisk(const MemoryDisk&) = delete;
  MemoryDisk& operator=(const MemoryDisk&) = delete;
  ~MemoryDisk() {
    std::error_code ignored;  // whatever can't be removed is in a temporary folder
    if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
  }

  std::mutex mutex;
  std::filesystem::path folder;     // guarded by mutex; for files of executions; empty until requested
  std::map<RunId, MemoryRun> runs;  // guarded by mutex; contains a run from its first save on
  std::map<RunId, Owner> writers;   // guarded by mutex
  std::set<RunId> sealed;           // inboxes; guarded by mutex
  const std::shared_ptr<MemoryLimitsData> limits = make_memory_limits_data();
  const std::shared_ptr<MemoryCacheData> cache = std::make_shared<MemoryCacheData>();
  std::multiset<RunId> claims;  // guarded by mutex
};

}  // namespace pawl
