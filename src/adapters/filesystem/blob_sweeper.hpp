// Removes the blobs of a run that no record refers to.
#pragma once

#include <functional>
#include <set>

#include "adapters/filesystem/chain_reader.hpp"

namespace pawl {

/// A writer reuses a blob whose name exists. It therefore holds a lock (layout::kBlobByte) from before it checks the
/// name until its record is durable. Blobs are removed only under that lock, after the records were read again.
class BlobSweeper {
 public:
  using TakeSnapshot = std::function<Result<std::shared_ptr<JournalSnapshot>>()>;
  /// `pruned` is the current list, or the next one, and must outlive this object. `fork_at` as in ChainSource.
  BlobSweeper(FileSystem& files, std::string_view run, std::uint32_t seed, const PrunedList& pruned, Sequence fork_at)
      : files_(files), run_(run), seed_(seed), pruned_(pruned), fork_at_(fork_at) {}

  /// Returns the number of bytes freed. Removes nothing while a writer is about to refer to a blob.
  Result<std::int64_t> sweep(const JournalSnapshot& snapshot, File& lock, const TakeSnapshot& fresh);
  /// Returns the blobs that a sweep would remove if the list were in effect. `planned` contains blobs of kept
  /// checkpoints that have no file yet.
  Result<std::set<std::string>> unneeded(const JournalSnapshot& snapshot, const std::set<std::string>& planned);
  /// Returns their size in bytes.
  Result<std::int64_t> estimate(const JournalSnapshot& snapshot, const std::set<std::string>& planned);

 private:
  enum class Missing : std::uint8_t { stops, is_planned };  // meaning of a missing file of a kept checkpoint
  Result<std::set<std::string>> candidates();
  /// Removes from `names` the blobs that a record at or after `from` refers to. Returns false if a record can't be
  /// read; then no blob may be removed.
  Result<bool> spare_needed(const JournalSnapshot& snapshot, Sequence from, Missing missing,
                            std::set<std::string>& names);
  Result<std::int64_t> sweep_locked(const TakeSnapshot& fresh, std::set<std::string> names);
  Result<std::int64_t> size_of(const std::string& name);

  FileSystem& files_;
  const std::string run_;
  const std::uint32_t seed_;
  const PrunedList& pruned_;
  const Sequence fork_at_;
  Sequence newest_base_;  // of the checkpoints examined
};

}  // namespace pawl
