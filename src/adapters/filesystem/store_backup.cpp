#include "adapters/filesystem/store_backup.hpp"

#include <algorithm>
#include <cerrno>

#include "adapters/filesystem/erased_file.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/pruned_file.hpp"
#include "codec/record_text.hpp"
#include "codec/store_keys.hpp"

namespace pawl {
namespace {

constexpr int kRoundsMax = 3;
constexpr int kBackupDepthMax = 64;
constexpr std::size_t kCarriedBatchBytes = 2U << 20U;
constexpr std::uint64_t kSmallFileMax = 64U << 20U;
constexpr std::uint64_t kKeyTextMax = 256;

/// Returns nothing if the file does not exist.
Result<std::optional<std::string>> read_small(FileSystem& files, const std::string& path) {
  auto text = files.read_file(path, kSmallFileMax);
  if (text) return std::optional(std::move(*text));
  if (text.error().code == Code::input_unreadable) return std::optional<std::string>();
  return std::unexpected(text.error());
}

bool is_log(std::string_view path, std::string_view run) {
  return path.starts_with(layout::logs(run)) && path.substr(layout::logs(run).size()).starts_with('/');
}

/// Returns whether the path can't be in a list of checksums.
bool has_odd_name(std::string_view path) {
  return path.size() > kTarPathBytesMax || std::ranges::any_of(path, [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7F;
         });
}

/// Logs grow all the time, and nothing depends on them.
template <class Files>
std::string stamp_of(const Files& files, std::string_view run) {
  std::string stamp;
  for (const auto& file : files) {
    if (!is_log(file.path, run)) stamp += fmt::format("{} {}\n", file.path, file.size_bytes);
  }
  return to_hex(sha256(stamp));
}

Result<void> wait_for_byte(File& lock, std::uint64_t byte, const std::string& run, Clock& clock) {
  for (std::int64_t waited_us = 0;; waited_us += kLockStepUs) {
    PAWL_TRY_ASSIGN(const bool locked, lock.try_lock(byte));
    if (locked) return {};
    if (waited_us >= kLockWaitUs) {
      return fail(Error{Code::store_busy,
                        fmt::format("timed out waiting for another process that is changing run '{}'", run),
                        {},
                        "try again",
                        0});
    }
    clock.sleep_us(kLockStepUs);
  }
}

}  // namespace

StoreBackup::StoreBackup(Place place, File& file, ShowBackupProgress show)
    : place_(std::move(place)),
      files_(*place_.files),
      out_(file, place_.environment.clock->now()),
      show_(std::move(show)),
      generation_(place_.environment.random->next() | 1U) {
  written_.at = place_.environment.clock->now();
}

Result<std::optional<WrittenBackup>> StoreBackup::write() {
  PAWL_TRY(add_store_files());
  // Every run that existed at the start is in the first snapshot, or its files exist when they are listed afterwards. A
  // run that is created after the second snapshot is left out: it may be a fork of a run that was copied too early.
  PAWL_TRY(take_snapshot());
  const auto first = snapshot_;
  PAWL_TRY_ASSIGN(std::vector<Candidate> runs, candidates());
  PAWL_TRY(take_snapshot());
  std::erase_if(runs, [&](const Candidate& one) {
    return !one.described && first->find(one.run) == nullptr && snapshot_->find(one.run) == nullptr;
  });
  PAWL_TRY(add_new_runs(runs));
  runs_all_ = runs.size();
  for (int round = 1; round <= kRoundsMax; ++round) {
    PAWL_TRY_ASSIGN(runs, copy_unchanged(runs));
    if (runs.empty() || round == kRoundsMax) break;
    for (Candidate& changed : runs) {
      PAWL_TRY_ASSIGN(changed, look_at(changed.run));
    }
    PAWL_TRY(take_snapshot());
  }
  for (const Candidate& busy : runs) PAWL_TRY(copy_held(busy.run));
  // A fork may have been copied before it was erased, and its parent afterwards.
  for (const std::string& run : copied_) {
    PAWL_TRY_ASSIGN(const bool erased, files_.exists(layout::erased(run)));
    if (erased) return std::optional<WrittenBackup>();
  }
  PAWL_TRY(add_recovery());
  PAWL_TRY(add_journal());
  written_.omitted.assign(omitted_.begin(), omitted_.end());
  PAWL_TRY_ASSIGN(const BackupTotals totals, out_.finish());
  written_.files = totals.files;
  written_.content_bytes = totals.content_bytes;
  written_.bytes = out_.file_bytes();
  return std::optional(std::move(written_));
}

Result<void> StoreBackup::add_store_files() {
  PAWL_TRY_ASSIGN(const auto text, read_small(files_, std::string(layout::kStoreFile)));
  if (!text) return fail(Error{Code::store_not_found, "the store is empty: nothing was saved yet", {}, {}, 0});
  auto record = decode_store(*text);
  if (!record) return fail(at(record.error(), std::string(layout::kStoreFile)));
  written_.store = record->id;
  if (record->key) key_id_ = record->key->id;
  PAWL_TRY(out_.add(std::string(kBackupAbout), encode_backup_about({written_.store, written_.at})));
  PAWL_TRY(out_.add(std::string(layout::kStoreFile), *text));
  PAWL_TRY(add_if_there("config.yaml"));
  return {};
}

/// Comes last, so that it contains nothing of a run that was erased meanwhile.
Result<void> StoreBackup::add_recovery() {
  PAWL_TRY_ASSIGN(auto entries, files_.list(layout::kRecovery));
  std::ranges::sort(entries, {}, &FolderEntry::name);
  for (const FolderEntry& entry : entries) {
    const std::string path = join_path(layout::kRecovery, entry.name);
    if (!entry.is_folder && may_be_in_backup(path)) PAWL_TRY(add_if_there(path));
  }
  return {};
}

Result<void> StoreBackup::add_if_there(const std::string& path) {
  PAWL_TRY_ASSIGN(const auto text, read_small(files_, path));
  if (text && is_store_key(*text)) omitted_.insert(path);
  return text && !is_store_key(*text) ? out_.add(path, *text) : Result<void>();
}

/// The key of the store may be anywhere in its folder, under any name.
bool StoreBackup::is_store_key(std::string_view text) const {
  if (key_id_.empty() || text.size() > kKeyTextMax) return false;
  const auto key = parse_key(text);
  return key && key_id(*key) == key_id_;
}

Result<std::vector<StoreBackup::Candidate>> StoreBackup::candidates() {
  PAWL_TRY_ASSIGN(auto entries, files_.list(layout::kRuns));
  std::ranges::sort(entries, {}, &FolderEntry::name);
  std::vector<Candidate> runs;
  for (const FolderEntry& entry : entries) {
    if (!entry.is_folder || !RunId::parse(entry.name)) continue;
    PAWL_TRY_ASSIGN(Candidate candidate, look_at(entry.name));
    runs.push_back(std::move(candidate));
  }
  return runs;
}

Result<StoreBackup::Candidate> StoreBackup::look_at(const std::string& run) {
  PAWL_TRY_ASSIGN(const auto files, files_of(run));
  const bool described = std::ranges::any_of(files, [&](const CopiedFile& file) {
    return file.path == layout::run_file(run) || file.path == layout::erased(run);
  });
  return Candidate{run, stamp_of(files, run), described};
}

/// Runs whose folder was created after the folders were listed. They are copied in the next round.
Result<void> StoreBackup::add_new_runs(std::vector<Candidate>& runs) {
  std::set<std::string_view> known;
  for (const Candidate& one : runs) known.insert(one.run);
  std::vector<Candidate> added;
  for (const auto& [run, records] : snapshot_->runs()) {
    if (!known.contains(run) && RunId::parse(run)) added.push_back({run, {}, true});
  }
  runs.insert(runs.end(), added.begin(), added.end());
  return {};
}

Result<void> StoreBackup::take_snapshot() {
  PAWL_TRY_ASSIGN(snapshot_, place_.snapshot());
  if (snapshot_->damage()) return std::unexpected(*snapshot_->damage());
  return {};
}

Result<void> StoreBackup::collect(const std::string& folder, int depth, std::vector<CopiedFile>& found) {
  if (depth > kBackupDepthMax) return fail(Code::read_failed, "the folders below {} are nested too deeply", folder);
  PAWL_TRY_ASSIGN(auto entries, files_.list(folder));
  std::ranges::sort(entries, {}, &FolderEntry::name);
  for (const FolderEntry& entry : entries) {
    const std::string path = join_path(folder, entry.name);
    if (entry.is_folder) {
      PAWL_TRY(collect(path, depth + 1, found));
      continue;
    }
    if (has_odd_name(path)) omitted_.insert(path);
    if (!may_be_in_backup(path)) continue;
    const auto file = files_.open(path, OpenMode::read);
    if (!file && file.error().code == Code::input_unreadable) continue;  // removed meanwhile
    if (!file && (file.error().os_error == ELOOP || file.error().os_error == EINVAL)) {
      omitted_.insert(path);  // a link, or not a regular file
      continue;
    }
    if (!file) return std::unexpected(file.error());
    PAWL_TRY_ASSIGN(const std::uint64_t size, (*file)->size());
    found.push_back({path, size});
  }
  return {};
}

/// Of an erased run, only what an erasure leaves, whether it is finished or not.
Result<std::vector<StoreBackup::CopiedFile>> StoreBackup::files_of(const std::string& run) {
  std::vector<CopiedFile> found;
  PAWL_TRY(collect(layout::run(run), 1, found));
  const std::string mark = layout::erased(run);
  if (!std::ranges::any_of(found, [&](const CopiedFile& file) { return file.path == mark; })) return found;
  std::erase_if(found, [&](const CopiedFile& file) {
    return file.path != mark && file.path != layout::run_file(run) &&
           !file.path.starts_with(layout::audit_folder(run) + "/");
  });
  return found;
}

/// Returns the runs that could not be copied because they have changed.
Result<std::vector<StoreBackup::Candidate>> StoreBackup::copy_unchanged(const std::vector<Candidate>& runs) {
  std::vector<Candidate> changed;
  for (const Candidate& candidate : runs) {
    PAWL_TRY_ASSIGN(const bool copied, copy(candidate));
    if (!copied) changed.push_back(candidate);
  }
  return changed;
}

Result<bool> StoreBackup::copy(const Candidate& candidate) {
  PAWL_TRY_ASSIGN(const auto roots, read_small(files_, layout::roots(candidate.run)));
  PAWL_TRY_ASSIGN(const auto files, files_of(candidate.run));
  if (stamp_of(files, candidate.run) != candidate.stamp) return false;
  return copy_files(candidate.run, files, roots);
}

/// While the two locks are held, nobody publishes, prunes or erases the run. Publishing continues as soon as the sizes
/// of the files are known. A message is removed once its effect is durable, so messages are read before the snapshot.
Result<void> StoreBackup::copy_held(const std::string& run) {
  PAWL_TRY_ASSIGN(const auto lock, files_.open(layout::run_lock(run), OpenMode::create));
  Clock& clock = *place_.environment.clock;
  PAWL_TRY(wait_for_byte(*lock, layout::kPrunerByte, run, clock));
  PAWL_TRY(wait_for_byte(*lock, layout::kPublisherByte, run, clock));
  std::vector<CopiedFile> inbox;
  PAWL_TRY(collect(layout::inbox(run), 2, inbox));
  std::vector<std::pair<std::string, std::string>> messages;
  for (const CopiedFile& file : inbox) {
    PAWL_TRY_ASSIGN(auto text, read_small(files_, file.path));
    if (text) messages.emplace_back(file.path, std::move(*text));
  }
  PAWL_TRY(take_snapshot());
  PAWL_TRY_ASSIGN(const auto roots, read_small(files_, layout::roots(run)));
  PAWL_TRY_ASSIGN(auto files, files_of(run));
  const bool erased = std::ranges::any_of(files, [&](const auto& file) { return file.path == layout::erased(run); });
  std::erase_if(files, [&](const auto& file) { return file.path.starts_with(layout::inbox(run) + "/"); });
  PAWL_TRY(lock->unlock(layout::kPublisherByte));
  PAWL_TRY_ASSIGN(const bool copied, copy_files(run, files, roots));
  if (!copied)
    return fail(
        Error{Code::store_busy, fmt::format("run '{}' changed while it was being copied", run), {}, "try again", 0});
  if (erased) return {};
  for (const auto& [path, text] : messages) PAWL_TRY(out_.add(path, text));
  return {};
}

/// The roots are replaced whenever the audit trail has grown. They were read before the size of the trail was noted, so
/// they are not ahead of it.
Result<bool> StoreBackup::copy_files(const std::string& run, const std::vector<CopiedFile>& files,
                                     const std::optional<std::string>& roots) {
  PAWL_TRY_ASSIGN(const std::string before, removals(run));
  out_.mark();
  bool complete = true;
  for (const CopiedFile& file : files) {
    if (!complete) break;
    if (file.path == layout::roots(run)) {
      if (roots) PAWL_TRY(out_.add(file.path, *roots));
      continue;
    }
    PAWL_TRY_ASSIGN(complete, copy_file(file));
    show_progress();
  }
  if (complete) {
    PAWL_TRY_ASSIGN(const std::string after, removals(run));
    complete = before == after;
  }
  if (!complete) {
    PAWL_TRY(out_.take_back());
    return false;
  }
  const auto mark = load_erased(files_, run);
  if (!mark && !is_refusal(mark.error().code)) return std::unexpected(mark.error());
  if (mark && *mark && !(*mark)->finished) PAWL_TRY(out_.add(layout::erasing(run), ""));
  if (mark && !*mark) copied_.push_back(run);
  if (mark && !*mark) PAWL_TRY(carry_records(run));  // a damaged mark still means that it was erased
  ++written_.runs;
  show_progress();
  return true;
}

Result<bool> StoreBackup::copy_file(const CopiedFile& file) {
  const bool log = file.path.find("/logs/") != std::string::npos;
  const auto opened = files_.open(file.path, OpenMode::read);
  if (!opened && opened.error().code == Code::input_unreadable) return log;  // a log that was pruned is not missed
  if (!opened) return std::unexpected(opened.error());
  if (!key_id_.empty() && file.size_bytes <= kKeyTextMax) {
    PAWL_TRY_ASSIGN(const std::string text, (*opened)->read_at(0, file.size_bytes));
    if (is_store_key(text)) {
      omitted_.insert(file.path);
      return true;
    }
  }
  const auto read = [&](std::uint64_t offset, std::uint64_t size) { return (*opened)->read_at(offset, size); };
  return out_.add(file.path, file.size_bytes, read, log ? BackupWriter::Short::is_filled : BackupWriter::Short::fails);
}

/// Returns the files that say what was removed from the run. They change before anything is removed.
Result<std::string> StoreBackup::removals(const std::string& run) {
  std::string text;
  for (const std::string& path : {layout::pruned(run), layout::aside(run), layout::erased(run)}) {
    PAWL_TRY_ASSIGN(const auto one, read_small(files_, path));
    text += one ? fmt::format("{} {}\n", one->size(), *one) : "-\n";
  }
  return text;
}

/// Adds the records that may be missing in the files to the journal of the backup, except pruned and erased ones.
Result<void> StoreBackup::carry_records(const std::string& run) {
  const RunRecords* records = snapshot_->find(run);
  if (records == nullptr) return {};
  PrunedList pruned;
  if (!records->checkpoints.empty()) {
    const Uuid& uuid = records->checkpoints.begin()->second.record.run_uuid;
    auto list = load_pruned(files_, run, seal_seed(uuid));
    // A damaged list is copied as it is, and reported by whoever reads the copy.
    if (!list && !is_refusal(list.error().code)) return std::unexpected(list.error());
    if (list) pruned = std::move(*list);
  }
  if (records->run) carry(*records->run);
  auto event = records->events.begin();
  auto entry = records->audit.begin();
  const auto carry_rest = [&](Sequence up_to) {
    for (; event != records->events.end() && event->second.sequence <= up_to; ++event) carry(event->second);
    for (; entry != records->audit.end() && entry->second.sequence <= up_to; ++entry) carry(entry->second);
    if (batch_.size() >= kCarriedBatchBytes) end_batch();
  };
  for (const auto& [number, found] : records->checkpoints) {
    const Sequence sequence = found.record.sequence;
    if (!pruned.is_closed(sequence) && !pruned.is_aside(sequence)) carry(found.record);
    carry_rest(sequence);
  }
  carry_rest(Sequence{UINT64_MAX});
  return {};
}

void StoreBackup::carry(const JournalRecord& record) {
  append_record(batch_, record);
  ++batch_records_;
}

void StoreBackup::end_batch() {
  if (batch_records_ == 0) return;
  journal_ += encode_batch(generation_, ++batches_, batch_records_, batch_);
  batch_.clear();
  batch_records_ = 0;
}

/// A store without a journal counts as damaged, so there is one even if it is empty.
Result<void> StoreBackup::add_journal() {
  end_batch();
  std::string segment = encode_segment_header({written_.store, 1, 1, generation_, 0});
  segment.resize(kSegmentHeaderBytes, '\0');
  segment += journal_;
  journal_.clear();
  if (segment.size() < place_.segment_bytes) segment.resize(place_.segment_bytes, '\0');
  return out_.add(layout::segment(1, 1), segment);
}

void StoreBackup::show_progress() {
  if (show_) show_({written_.runs, runs_all_, out_.totals().content_bytes});
}

}  // namespace pawl
