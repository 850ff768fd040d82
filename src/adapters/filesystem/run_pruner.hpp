// Takes checkpoints of one run away, beside whoever saves, publishes and reads.
//
// A run's checkpoints stand in groups: a whole one and the differences behind it. What is dropped is hidden at once.
// A group gives its space back when it is closed: what is kept of it gets files of its own, then the list of what was
// pruned (pruned_file.hpp) is replaced, which is the one moment at which everything changes, and then the group's
// files go. The newest group is never closed: a writer goes on with it. A group whose kept checkpoints would take more
// space alone than together stays until more of it may go.
//
// Killed anywhere, either the old list or the new one is in force, and what it needs is there; what neither needs is
// removed by the next prune.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "adapters/filesystem/options.hpp"
#include "adapters/filesystem/run_reader.hpp"
#include "ports/environment.hpp"
#include "ports/store.hpp"

namespace pawl {

class RunPruner {
 public:
  using TakeSnapshot = std::function<Result<std::shared_ptr<JournalSnapshot>>()>;
  struct Place {
    FileSystem* files = nullptr;
    KeyRing* keys = nullptr;
    Environment environment;
    FilesystemOptions options;
    TakeSnapshot fresh;          // all that is durable now, tails of the dead included
    std::function<bool()> stop;  // asked before each group: true leaves the rest to the next prune
  };
  RunPruner(Place place, std::string run, std::shared_ptr<JournalSnapshot> snapshot);

  /// Holds the run's pruner lock all the time, and its publisher lock for a moment per batch of groups.
  Result<PruneReport> prune(const RetentionSettings& settings, PruneMode mode);

 private:
  struct Kept {
    Sequence sequence;
    PrunedList::Sums sums;
    std::string text;
    std::string blob;        // that it refers to; empty: none
    std::string blob_bytes;  // where that has to be written
  };
  struct Group {
    Sequence first;
    Sequence last;
    std::vector<Kept> kept;
    std::int64_t new_bytes = 0;  // of files that have to be written
  };
  Result<void> lock_byte(File& lock, std::uint64_t byte, const char* what);
  Result<void> drop(const RetentionSettings& settings);
  Result<void> gather_callers(const std::set<Sequence>& dropped);
  Result<void> close_groups(PruneMode mode);
  Result<void> keep_forked(std::set<Sequence>& dropped);
  Result<std::optional<Group>> plan_group(Sequence base, Sequence last);
  Result<std::int64_t> least_bytes(const Chain& chain, const std::vector<Sequence>& kept);
  Result<Kept> keep(const Chain& chain, Sequence sequence);
  Result<void> write_kept(const Kept& kept);
  Result<void> write_blob(const Kept& kept);
  Result<void> switch_lists();
  Result<void> sweep();
  Result<std::int64_t> size_of(const std::string& path);
  Result<std::int64_t> estimate_sweep();

  FileSystem& files_;
  const Place place_;
  const std::string run_;
  const std::shared_ptr<JournalSnapshot> snapshot_;
  RunReader reader_;
  std::unique_ptr<File> lock_;
  std::uint32_t seed_ = 0;
  Sequence fork_at_;                   // of a fork: up to here nothing is its own
  PrunedList list_;                    // in force
  PrunedList next_;                    // what it will be
  std::vector<PrunedCaller> callers_;  // of what is dropped now
  std::set<std::string> kept_blobs_;   // of what is kept of groups that are closed
  bool new_names_ = false;             // files that the next list refers to
  PruneReport report_;
};

}  // namespace pawl
