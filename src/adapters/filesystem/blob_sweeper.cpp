#include "adapters/filesystem/blob_sweeper.hpp"

#include <limits>

#include "adapters/filesystem/layout.hpp"

namespace pawl {

/// Lists the files of all blobs, including temporary ones: under the lock, nobody is writing one.
Result<std::set<std::string>> BlobSweeper::candidates() {
  std::set<std::string> names;
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::blobs(run_)));
  for (const FolderEntry& entry : entries) {
    if (!entry.is_folder) names.insert(entry.name);
  }
  return names;
}

Result<bool> BlobSweeper::spare_needed(const JournalSnapshot& snapshot, Sequence from, Missing missing,
                                       std::set<std::string>& names) {
  const ChainSource source{files_, run_, snapshot.find(run_), pruned_, fork_at_};
  PAWL_TRY_ASSIGN(const auto bases, list_bases(source));
  for (const Sequence base : bases) {
    if (names.empty()) return true;
    if (base < from) continue;
    if (missing == Missing::is_planned && pruned_.rewritten(base) != nullptr) {
      PAWL_TRY_ASSIGN(const bool there, files_.exists(whole_path(source, base)));
      if (!there) continue;
    }
    PAWL_TRY_ASSIGN(const Chain chain,
                    read_chain(source, seed_, base, Sequence{std::numeric_limits<std::uint64_t>::max()}));
    if (chain.damage) return false;
    newest_base_ = base;
    for (const ChainLink& link : chain.links) {
      if (link.record.payload_kind != Payload::state_blob && link.record.payload_kind != Payload::diff_blob) continue;
      PAWL_TRY_ASSIGN(const std::string name, decode_text_payload(link.record.payload));
      names.erase(name);
    }
  }
  return true;
}

Result<std::int64_t> BlobSweeper::size_of(const std::string& name) {
  const auto file = files_.open(layout::blob(run_, name), OpenMode::read);
  if (!file && file.error().code == Code::input_unreadable) return 0;
  if (!file) return std::unexpected(file.error());
  PAWL_TRY_ASSIGN(const std::uint64_t size, (*file)->size());
  return static_cast<std::int64_t>(size);
}

Result<std::set<std::string>> BlobSweeper::unneeded(const JournalSnapshot& snapshot,
                                                    const std::set<std::string>& planned) {
  PAWL_TRY_ASSIGN(std::set<std::string> names, candidates());
  if (names.empty()) return names;
  PAWL_TRY_ASSIGN(const bool readable, spare_needed(snapshot, {}, Missing::is_planned, names));
  for (const std::string& name : planned) names.erase(name);
  if (!readable) names.clear();
  return names;
}

Result<std::int64_t> BlobSweeper::estimate(const JournalSnapshot& snapshot, const std::set<std::string>& planned) {
  PAWL_TRY_ASSIGN(const std::set<std::string> names, unneeded(snapshot, planned));
  std::int64_t bytes = 0;
  for (const std::string& name : names) {
    PAWL_TRY_ASSIGN(const std::int64_t size, size_of(name));
    bytes += size;
  }
  return bytes;
}

Result<std::int64_t> BlobSweeper::sweep(const JournalSnapshot& snapshot, File& lock, const TakeSnapshot& fresh) {
  PAWL_TRY_ASSIGN(std::set<std::string> names, candidates());
  if (names.empty()) return 0;
  PAWL_TRY_ASSIGN(const bool readable, spare_needed(snapshot, {}, Missing::stops, names));
  if (!readable || names.empty()) return 0;
  // The process that replaced the list may have been killed before the name was durable.
  PAWL_TRY(files_.sync_folder(layout::checkpoints(run_), SyncPoint::pruned_list_name));
  PAWL_TRY_ASSIGN(const bool locked, lock.try_lock(layout::kBlobByte));
  if (!locked) return 0;
  auto freed = sweep_locked(fresh, std::move(names));
  PAWL_TRY(lock.unlock(layout::kBlobByte));
  return freed;
}

/// Checks the records again: those added since the first check are in the group of the base that was newest then, or
/// later.
Result<std::int64_t> BlobSweeper::sweep_locked(const TakeSnapshot& fresh, std::set<std::string> names) {
  PAWL_TRY_ASSIGN(const auto snapshot, fresh());
  if (snapshot->damage()) return 0;
  for (const JournalView& journal : snapshot->journals()) {
    if (!journal.has_unconfirmed()) continue;
    PAWL_TRY_ASSIGN(const bool mentioned, mentions_unconfirmed(journal, run_));
    if (mentioned) return 0;
  }
  PAWL_TRY_ASSIGN(const bool readable, spare_needed(*snapshot, newest_base_, Missing::stops, names));
  if (!readable) return 0;
  std::int64_t freed = 0;
  for (const std::string& name : names) {
    PAWL_TRY_ASSIGN(const std::int64_t size, size_of(name));
    PAWL_TRY(files_.remove(layout::blob(run_, name)));
    freed += size;
  }
  // Otherwise they can be back after a power loss.
  if (!names.empty()) PAWL_TRY(files_.sync_folder(layout::blobs(run_), SyncPoint::erased_names));
  return freed;
}

}  // namespace pawl
