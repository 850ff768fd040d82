// Removes the blobs of a run that no record refers to any more.
#pragma once

#include <functional>
#include <set>

#include "adapters/filesystem/chain_reader.hpp"

namespace pawl {

/// A writer takes the name of a blob that is there as the blob itself. So it holds a lock (layout::kBlobByte) from
/// before it looks until its record is durable, and blobs are removed only under that lock, after the records were
/// read again.
class BlobSweeper {
 public:
  using TakeSnapshot = std::function<Result<std::shared_ptr<JournalSnapshot>>()>;
  /// `pruned` is the list in force, or the one that will be; it must outlive this. `fork_at` as in ChainSource.
  BlobSweeper(FileSystem& files, std::string_view run, std::uint32_t seed, const PrunedList& pruned, Sequence fork_at)
      : files_(files), run_(run), seed_(seed), pruned_(pruned), fork_at_(fork_at) {}

  /// The bytes that were freed. Leaves everything where a writer is about to refer to a blob.
  Result<std::int64_t> sweep(const JournalSnapshot& snapshot, File& lock, const TakeSnapshot& fresh);
  /// The bytes that a sweep would free, were the list in force. `planned`: blobs of checkpoints that it keeps and that
  /// have no file yet.
  Result<std::int64_t> estimate(const JournalSnapshot& snapshot, const std::set<std::string>& planned);

 private:
  enum class Missing : std::uint8_t { stops, is_planned };  // the file of a checkpoint that is kept
  Result<std::set<std::string>> candidates();
  /// Takes those away that a record from `from` on refers to. False: a record can't be read, nothing may go.
  Result<bool> spare_needed(const JournalSnapshot& snapshot, Sequence from, Missing missing,
                            std::set<std::string>& names);
  Result<std::int64_t> sweep_locked(const TakeSnapshot& fresh, std::set<std::string> names);
  Result<std::int64_t> size_of(const std::string& name);

  FileSystem& files_;
  const std::string run_;
  const std::uint32_t seed_;
  const PrunedList& pruned_;
  const Sequence fork_at_;
  Sequence newest_base_;  // of what was looked at
};

}  // namespace pawl
