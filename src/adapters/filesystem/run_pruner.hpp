// Prunes checkpoints of one run, concurrently with saving, publishing and reading.
//
// Checkpoints are stored in groups: a full checkpoint and the differences after it. Dropped checkpoints are hidden at
// once. A group releases its space when it is closed: the checkpoints to keep get their own files, then the list of
// pruned checkpoints (pruned_file.hpp) is replaced, and then the files of the group are removed. Replacing the list is
// the atomic step. If the checkpoints up to the end of a group are kept, only the first of them becomes a full
// checkpoint, and the differences after it, its tail, are copied as they are. The newest group is closed only if no
// writer has the run open, because a writer continues it; the next writer then starts a new group.
//
// After a crash at any point, either the old or the new list is in effect, and everything it needs exists. The next
// prune removes what neither needs.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "adapters/filesystem/damaged_group.hpp"
#include "adapters/filesystem/options.hpp"
#include "adapters/filesystem/run_reader.hpp"
#include "domain/retention.hpp"
#include "ports/environment.hpp"
#include "ports/store.hpp"

namespace pawl {

/// The checkpoints of a run without the data of pruned ones, for a copy of the run.
struct PrunedImage {
  PrunedList list;                                         // the list of the copy
  std::string list_text;                                   // the same as a file
  std::vector<std::pair<std::string, std::string>> files;  // files that the copy has in addition: path and content
  std::set<std::string> unneeded_blobs;                    // names
};

class RunPruner {
 public:
  using TakeSnapshot = std::function<Result<std::shared_ptr<JournalSnapshot>>()>;
  struct Place {
    FileSystem* files = nullptr;
    KeyRing* keys = nullptr;
    Environment environment;
    FilesystemOptions options;
    TakeSnapshot fresh;          // everything durable now, including tails of dead writers
    std::function<bool()> stop;  // called before each group; true leaves the rest to the next prune
    Timestamp now;               // for the age of checkpoints; not after the wall clock
    std::function<std::vector<Sequence>(const Uuid& run)> fork_points = {};  // that the catalogue knows, with or
                                                                             // without a note
  };
  /// Whether the newest group may be closed. The caller must then hold the run's writer lock, since before the
  /// snapshot.
  enum class Newest : std::uint8_t { stays, is_closed };
  RunPruner(Place place, std::string run, std::shared_ptr<JournalSnapshot> snapshot, Newest newest);

  /// Holds the run's pruner lock throughout, and its publisher lock briefly for each batch of groups.
  Result<PruneReport> prune(const RetentionSettings& settings, PruneMode mode);
  /// Returns the run as it would be if its newest group were closed; nothing if it is free of pruned data, or if
  /// closing the group would need more space. Only reads. Nothing may be published meanwhile.
  Result<std::optional<PrunedImage>> image();
  /// Returns whether the newest group contains dropped checkpoints. Call it after `prune`.
  Result<bool> newest_has_dropped();

 private:
  struct Kept {
    Sequence sequence;
    PrunedList::Sums sums;
    std::string text;
    std::string blob;        // name of its blob; empty: none
    std::string blob_bytes;  // contents of the blob if it must be written
    Sequence tail_end;       // the last checkpoint of its tail; itself: none
    std::string tail;        // the lines of its tail
  };
  struct Group {
    Sequence base;
    Sequence first;
    Sequence last;
    std::vector<Kept> kept;
    std::int64_t new_bytes = 0;  // of files that must be written
  };
  Result<void> lock_byte(File& lock, std::uint64_t byte, const char* what);
  Result<void> drop(const RetentionSettings& settings);
  Result<RetentionCandidates> find_candidates();
  void keep_damaged(Retention& judged);
  Result<void> gather_callers(const std::vector<Sequence>& dropped);
  Result<void> close_groups(PruneMode mode);
  Result<void> keep_forked(Retention& judged);
  Result<Sequence> end_of_group(const std::vector<Sequence>& bases, std::size_t index);
  Result<std::optional<Group>> plan_group(Sequence base, Sequence last);
  /// Returns what is kept of the group if everything between the kept ones goes.
  Result<std::int64_t> least_bytes(const Chain& chain, const std::vector<Sequence>& kept, Sequence tail);
  Result<void> add_tail(const Chain& chain, Sequence last, Kept& kept);
  Result<void> close_group(const Group& group, PruneMode mode);
  Result<void> write_file(const std::string& path, std::string_view text);
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
  const Newest newest_;
  std::unique_ptr<File> lock_;
  std::uint32_t seed_ = 0;
  Sequence fork_at_;                   // of a fork: the last shared checkpoint
  PrunedList list_;                    // current list
  PrunedList next_;                    // next list
  std::vector<PrunedCaller> callers_;  // of the checkpoints dropped now
  std::vector<DamagedGroup> damaged_;  // groups of which checkpoints can't be read
  std::vector<DoubtfulCheckpoint> doubtful_;
  std::set<std::string> kept_blobs_;  // of kept checkpoints of closed groups
  bool new_names_ = false;            // whether the next list refers to new files
  PruneReport report_;
  std::optional<PrunedImage> image_;  // collects what closing the groups would write
};

}  // namespace pawl
