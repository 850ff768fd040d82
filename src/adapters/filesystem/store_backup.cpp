#include "adapters/filesystem/store_backup.hpp"

#include <algorithm>
#include <cerrno>

#include "adapters/filesystem/erased_file.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/pruned_file.hpp"
#include "base/confined.hpp"
#include "codec/record_text.hpp"
#include "codec/store_keys.hpp"

namespace pawl {
namespace {

constexpr int kRoundsMax = 3;
constexpr int kBackupDepthMax = 64;
constexpr std::size_t kCarriedBatchBytes = 2U << 20U;
constexpr std::uint64_t kSmallFileMax = 64U << 20U;
constexpr std::uint64_t kSearchedBytes = 1U << 20U;
constexpr std::uint64_t kKeyTextMax = 256;
constexpr std::uint64_t kSigningKeyTextMax = 16U << 10U;

/// Returns nothing if the file does not exist, or its folder is not one, which is reported as damage of the folder.
Result<std::optional<std::string>> read_small(FileSystem& files, const std::string& path) {
  auto text = files.read_file(path, kSmallFileMax);
  if (text) return std::optional(std::move(*text));
  if (text.error().code == Code::input_unreadable || text.error().os_error == ENOTDIR)
    return std::optional<std::string>();
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

/// Returns whether this is a private key in PEM format, with nothing before it.
bool is_signing_key(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text.substr(begin).starts_with("-----BEGIN ") &&
         text.find("PRIVATE KEY-----") != std::string_view::npos;
}

/// Returns whether the error is about what the process may use, not about a file.
bool is_about_limits(const Error& error) {
  return error.os_error == EMFILE || error.os_error == ENFILE || error.os_error == ENOMEM;
}

std::vector<BackupNote> notes_of(const std::map<std::string, std::string>& all) {
  std::vector<BackupNote> notes;
  for (const auto& [path, why] : all) notes.push_back({path, why});
  return notes;
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

/// Returns whether the image contains this file or something else instead of it, or nothing. A prune that runs
/// meanwhile may have written the same files, but not its list.
bool is_replaced(const std::string& path, const std::string& run, const PrunedImage& image) {
  if (path == layout::pruned(run)) return true;
  if (std::ranges::any_of(image.files, [&](const auto& file) { return file.first == path; })) return true;
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  if (parent_folder(path) == layout::checkpoints(run)) return is_void(name, image.list);
  return parent_folder(path) == layout::blobs(run) && image.unneeded_blobs.contains(std::string(name));
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
  std::vector<Candidate> known;
  for (Candidate& one : runs) {
    const bool is_known = one.described || first->find(one.run) != nullptr || snapshot_->find(one.run) != nullptr;
    PAWL_TRY_ASSIGN(const bool lost, is_known ? Result<bool>(false) : is_lost(one.run));
    if (is_known || lost) known.push_back(std::move(one));
  }
  runs = std::move(known);
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
  written_.omitted = notes_of(omitted_);
  written_.damage = notes_of(damage_);
  written_.unpruned.assign(unpruned_.begin(), unpruned_.end());
  PAWL_TRY_ASSIGN(const BackupTotals totals, out_.finish());
  // backup.json is not part of the store.
  written_.files = totals.files - 1;
  written_.content_bytes = totals.content_bytes - encode_backup_about({written_.store, written_.at}).size();
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
  key_finder_.emplace(key_id_, place_.key);
  PAWL_TRY(out_.add(std::string(kBackupAbout), encode_backup_about({written_.store, written_.at})));
  PAWL_TRY(out_.add(std::string(layout::kStoreFile), *text));
  PAWL_TRY(add_if_there("config.yaml"));
  return {};
}

/// Comes last, so that it contains nothing of a run that was erased meanwhile.
Result<void> StoreBackup::add_recovery() {
  auto entries = files_.list(layout::kRecovery);
  if (!entries) return leave_out(std::string(layout::kRecovery), entries.error());
  std::ranges::sort(*entries, {}, &FolderEntry::name);
  for (const FolderEntry& entry : *entries) {
    const std::string path = join_path(layout::kRecovery, entry.name);
    if (!entry.is_folder && may_be_in_backup(path)) PAWL_TRY(add_if_there(path));
  }
  return {};
}

Result<void> StoreBackup::add_if_there(const std::string& path) {
  PAWL_TRY_ASSIGN(const auto text, read_named(path));
  if (!text) return {};
  if (!is_key(path, *text) && !key_finder_->is_in(*text)) return out_.add(path, *text);
  omitted_.emplace(path, "it contains a key");
  return {};
}

/// The key of the store may be anywhere in its folder, under any name. Other keys look like a hash, which a captured
/// output of a step may be; nothing depends on other files that people or steps have put there.
bool StoreBackup::is_key(std::string_view path, std::string_view text) const {
  if (text.size() <= kSigningKeyTextMax && is_signing_key(text)) return true;
  if (text.size() > kKeyTextMax) return false;
  const auto key = parse_key(text);
  if (!key) return false;
  if (key_id(*key) == key_id_) return true;
  const bool is_added = path.starts_with(layout::kRecovery) || path.find("/logs/") != std::string_view::npos;
  return is_added && !path.ends_with(".out");
}

Result<bool> StoreBackup::has_key(const CopiedFile& file, const BackupWriter::Read& read) const {
  if (key_id_.empty() || file.path.find("/logs/") == std::string::npos) return false;
  std::string text;  // a piece, and the end of the one before
  for (std::uint64_t at = 0; at < file.size_bytes;) {
    PAWL_TRY_ASSIGN(const std::string piece, read(at, std::min(kSearchedBytes, file.size_bytes - at)));
    if (piece.empty()) break;
    text += piece;
    if (key_finder_->is_in(text)) return true;
    text.erase(0, text.size() - std::min(text.size(), KeyFinder::kOverlapBytes));
    at += piece.size();
  }
  return false;
}

Result<void> StoreBackup::leave_out(const std::string& path, const Error& why) {
  if (is_about_limits(why)) return std::unexpected(why);
  const bool log = path.find("/logs/") != std::string::npos;
  const bool is_special = why.os_error == ELOOP || why.os_error == EINVAL || why.os_error == ENXIO;
  if (log && is_special) {
    omitted_.emplace(path, "it is not a regular file");
  } else {
    damage_.emplace(path, why.os_error == ELOOP ? "it is a symbolic link" : why.message);
  }
  return {};
}

Result<std::optional<std::string>> StoreBackup::read_named(const std::string& path) {
  auto text = read_small(files_, path);
  if (text) return text;
  PAWL_TRY(leave_out(path, text.error()));
  return std::optional<std::string>();
}

Result<std::vector<StoreBackup::Candidate>> StoreBackup::candidates() {
  PAWL_TRY_ASSIGN(auto entries, files_.list(layout::kRuns));
  std::ranges::sort(entries, {}, &FolderEntry::name);
  std::vector<Candidate> runs;
  for (const FolderEntry& entry : entries) {
    if (!RunId::parse(entry.name)) continue;
    if (!entry.is_folder) {
      damage_.emplace(layout::run(entry.name), "it is not a folder");
      continue;
    }
    PAWL_TRY_ASSIGN(Candidate candidate, look_at(entry.name));
    runs.push_back(std::move(candidate));
  }
  return runs;
}

/// Nothing describes the run. Its folder may be that of a run that is being created, or was when its process was
/// killed; such a run has no checkpoints, events or audit trail.
Result<bool> StoreBackup::is_lost(const std::string& run) {
  PAWL_TRY_ASSIGN(const Candidate now, look_at(run));
  if (now.described) return false;  // it was created after the second snapshot
  PAWL_TRY_ASSIGN(const auto files, files_of(run));
  const bool lost = std::ranges::any_of(files, [&](const CopiedFile& file) {
    return file.path.starts_with(layout::checkpoints(run) + "/") || file.path.starts_with(layout::events_folder(run)) ||
           file.path.starts_with(layout::audit_folder(run));
  });
  if (!lost) return false;
  damage_.emplace(layout::run(run), "run.json is missing, and no journal contains the run");
  lost_.insert(run);
  return true;
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
  // What a damaged journal still contains is copied.
  if (const auto& damage = snapshot_->damage()) damage_.emplace(damage->where, damage->message);
  return {};
}

Result<void> StoreBackup::collect(const std::string& folder, int depth, std::vector<CopiedFile>& found) {
  if (depth > kBackupDepthMax) return fail(Code::read_failed, "the folders below {} are nested too deeply", folder);
  auto entries = files_.list(folder);
  if (!entries) return leave_out(folder, entries.error());
  std::ranges::sort(*entries, {}, &FolderEntry::name);
  for (const FolderEntry& entry : *entries) {
    const std::string path = join_path(folder, entry.name);
    if (damage_.contains(path) || is_misplaced(path, entry, depth)) continue;
    if (entry.is_folder) {
      PAWL_TRY(collect(path, depth + 1, found));
      continue;
    }
    if (has_odd_name(path)) omitted_.emplace(path, "its name can't be stored in a backup");
    if (!may_be_in_backup(path)) continue;
    const auto file = files_.open(path, OpenMode::read);
    if (!file && file.error().code == Code::input_unreadable) continue;  // removed meanwhile
    if (!file) {
      PAWL_TRY(leave_out(path, file.error()));
      continue;
    }
    PAWL_TRY_ASSIGN(const std::uint64_t size, (*file)->size());
    found.push_back({path, size});
  }
  return {};
}

/// A file in the place of a folder of a run, or the other way round: such a backup could not be restored.
bool StoreBackup::is_misplaced(const std::string& path, const FolderEntry& entry, int depth) {
  if (depth != 1) return false;
  const auto part = run_part(entry.name);
  if (!part || entry.is_folder == (*part == RunPart::folder)) return false;
  if (*part == RunPart::file && !entry.is_folder) return false;
  damage_.emplace(path, entry.is_folder ? "it is a folder, not a file" : "it is not a folder");
  return true;
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
  PAWL_TRY_ASSIGN(const auto roots, read_named(layout::roots(candidate.run)));
  PAWL_TRY_ASSIGN(const auto files, files_of(candidate.run));
  if (stamp_of(files, candidate.run) != candidate.stamp) return false;
  PAWL_TRY_ASSIGN(const auto image, image_of(candidate.run));
  if (image) {
    // It must be of what is copied.
    PAWL_TRY_ASSIGN(const Candidate now, look_at(candidate.run));
    if (now.stamp != candidate.stamp) return false;
  }
  return copy_files(candidate.run, files, roots, image);
}

/// A process that has the run open keeps the data of checkpoints that were pruned meanwhile. The copy does not.
Result<std::optional<PrunedImage>> StoreBackup::image_of(const std::string& run) {
  const auto pruned = files_.exists(layout::pruned(run));
  const auto erased = files_.exists(layout::erased(run));
  for (const auto& looked : {pruned, erased}) {
    if (!looked && !is_confined(looked.error())) return std::unexpected(looked.error());
    if (!looked) return std::optional<PrunedImage>();  // reported when its files are copied
  }
  if (!*pruned || *erased || !place_.image) return std::optional<PrunedImage>();
  auto image = place_.image(run, snapshot_);
  if (image) return image;
  if (is_about_limits(image.error())) return image;
  // A damaged run is copied as it is. An encrypted one needs its key to be written anew.
  const bool needs_key = category(image.error().code) != Category::integrity;
  if (needs_key) unpruned_.insert(run);
  return std::optional<PrunedImage>();
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
    PAWL_TRY_ASSIGN(auto text, read_named(file.path));
    if (text) messages.emplace_back(file.path, std::move(*text));
  }
  PAWL_TRY(take_snapshot());
  PAWL_TRY_ASSIGN(const auto roots, read_named(layout::roots(run)));
  PAWL_TRY_ASSIGN(auto files, files_of(run));
  PAWL_TRY_ASSIGN(const auto image, image_of(run));
  const bool erased = std::ranges::any_of(files, [&](const auto& file) { return file.path == layout::erased(run); });
  std::erase_if(files, [&](const auto& file) { return file.path.starts_with(layout::inbox(run) + "/"); });
  PAWL_TRY(lock->unlock(layout::kPublisherByte));
  const std::size_t damage_before = damage_.size();
  PAWL_TRY_ASSIGN(const bool copied, copy_files(run, files, roots, image));
  if (!copied && damage_.size() > damage_before) {
    PAWL_TRY(lock->unlock(layout::kPrunerByte));
    return copy_held(run);  // without the file that can't be read
  }
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
                                     const std::optional<std::string>& roots, const std::optional<PrunedImage>& image) {
  PAWL_TRY_ASSIGN(const std::string before, removals(run));
  out_.mark();
  bool complete = true;
  for (const CopiedFile& file : files) {
    if (!complete) break;
    if (file.path == layout::roots(run)) {
      if (roots) PAWL_TRY(out_.add(file.path, *roots));
      continue;
    }
    if (image && is_replaced(file.path, run, *image)) continue;
    PAWL_TRY_ASSIGN(complete, copy_file(file));
    show_progress();
  }
  if (complete && image) PAWL_TRY(add_image(run, *image));
  if (complete) {
    PAWL_TRY_ASSIGN(const std::string after, removals(run));
    complete = before == after;
  }
  if (!complete) {
    PAWL_TRY(out_.take_back());
    return false;
  }
  const auto mark = load_erased(files_, run);
  if (!mark && !is_confined(mark.error())) return std::unexpected(mark.error());
  if (mark && *mark && !(*mark)->finished) PAWL_TRY(out_.add(layout::erasing(run), ""));
  if (mark && !*mark) copied_.push_back(run);
  if (mark && !*mark) PAWL_TRY(carry_records(run, image));  // a damaged mark still means that it was erased
  const bool is_removed = mark && *mark && (*mark)->removed;
  if (!lost_.contains(run) && !is_removed) ++(mark && !*mark ? written_.runs : written_.erased);
  show_progress();
  return true;
}

Result<void> StoreBackup::add_image(const std::string& run, const PrunedImage& image) {
  for (const auto& [path, text] : image.files) PAWL_TRY(out_.add(path, text));
  return out_.add(layout::pruned(run), image.list_text);
}

Result<bool> StoreBackup::copy_file(const CopiedFile& file) {
  const bool log = file.path.find("/logs/") != std::string::npos;
  const auto opened = files_.open(file.path, OpenMode::read);
  if (!opened && opened.error().code == Code::input_unreadable) return log;  // a log that was pruned is not missed
  if (!opened) {
    PAWL_TRY(leave_out(file.path, opened.error()));
    return true;
  }
  std::optional<Error> unreadable;
  const auto read = [&](std::uint64_t offset, std::uint64_t size) {
    auto piece = (*opened)->read_at(offset, size);
    if (!piece) unreadable = piece.error();
    return piece;
  };
  if (file.size_bytes <= kSigningKeyTextMax) {
    const auto text = read(0, file.size_bytes);
    if (text && is_key(file.path, *text)) {
      omitted_.emplace(file.path, "it contains a key");
      return true;
    }
  }
  const auto key = has_key(file, read);
  if (!key) {
    PAWL_TRY(leave_out(file.path, key.error()));
    return false;
  }
  if (*key) {
    omitted_.emplace(file.path, "it contains the key of the store");
    return true;
  }
  auto added =
      out_.add(file.path, file.size_bytes, read, log ? BackupWriter::Short::is_filled : BackupWriter::Short::fails);
  if (added || !unreadable) return added;
  // Everything of the run is taken back and copied again without this file.
  PAWL_TRY(leave_out(file.path, *unreadable));
  return false;
}

/// Returns the files that say what was removed from the run. They change before anything is removed.
Result<std::string> StoreBackup::removals(const std::string& run) {
  std::string text;
  for (const std::string& path : {layout::pruned(run), layout::aside(run), layout::erased(run)}) {
    PAWL_TRY_ASSIGN(const auto one, read_named(path));
    text += one ? fmt::format("{} {}\n", one->size(), *one) : "-\n";
  }
  // Entries may be moved to an archive while the trail is copied.
  auto audit = files_.list(layout::audit_folder(run));
  if (!audit && !is_confined(audit.error())) return std::unexpected(audit.error());
  if (!audit) return text;  // reported when its files are copied
  std::ranges::sort(*audit, {}, &FolderEntry::name);
  for (const FolderEntry& entry : *audit) text += entry.name + '\n';
  return text;
}

/// Adds the records that may be missing in the files to the journal of the backup, except pruned and erased ones.
Result<void> StoreBackup::carry_records(const std::string& run, const std::optional<PrunedImage>& image) {
  const RunRecords* records = snapshot_->find(run);
  if (records == nullptr) return {};
  PrunedList pruned;
  if (image) {
    pruned = image->list;
  } else if (!records->checkpoints.empty()) {
    const Uuid& uuid = records->checkpoints.begin()->second.record.run_uuid;
    auto list = load_pruned(files_, run, seal_seed(uuid));
    // A damaged list is copied as it is, and reported by whoever reads the copy.
    if (!list && !is_confined(list.error())) return std::unexpected(list.error());
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
