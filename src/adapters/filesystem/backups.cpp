#include "adapters/filesystem/backups.hpp"

#include <algorithm>
#include <cerrno>

#include "adapters/filesystem/backup_file.hpp"
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/run_export.hpp"

namespace pawl {
namespace {

constexpr std::size_t kDigits = 16;

std::string prefix_of(const std::string& name) { return fmt::format(".{}.restore-", name); }
std::string prefix_of_file(const std::string& name) { return fmt::format(".{}.backup-", name); }

bool is_unfinished(std::string_view entry, const std::string& prefix) {
  return entry.size() == prefix.size() + kDigits && entry.starts_with(prefix) &&
         entry.substr(prefix.size()).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string lock_of(const std::string& folder) { return join_path(folder, "store.lock"); }

/// Removes what restores left that were killed. A restore that is running holds its lock.
Result<void> remove_unfinished(FileSystem& parent, const std::string& name) {
  PAWL_TRY_ASSIGN(const auto entries, parent.list(""));
  for (const FolderEntry& entry : entries) {
    if (!entry.is_folder || !is_unfinished(entry.name, prefix_of(name))) continue;
    PAWL_TRY_ASSIGN(const auto lock, parent.open(lock_of(entry.name), OpenMode::create));
    PAWL_TRY_ASSIGN(const bool locked, lock->try_lock(layout::kWriterByte));
    if (locked) PAWL_TRY(remove_all(parent, entry.name));
  }
  return {};
}

/// The same for backups.
Result<void> remove_unfinished_files(FileSystem& folder, const std::string& name) {
  PAWL_TRY_ASSIGN(const auto entries, folder.list(""));
  for (const FolderEntry& entry : entries) {
    if (entry.is_folder || !is_unfinished(entry.name, prefix_of_file(name))) continue;
    const auto file = folder.open(entry.name, OpenMode::write);
    if (!file) continue;  // somebody else's, or just removed
    PAWL_TRY_ASSIGN(const bool locked, (*file)->try_lock(layout::kWriterByte));
    if (locked) PAWL_TRY(folder.remove(entry.name));
  }
  return {};
}

Result<void> refuse_existing(const BackupPlace& place) {
  PAWL_TRY_ASSIGN(const bool exists, place.folder->exists(place.name));
  if (!exists || place.existing == ExistingBackup::replace) return {};
  return fail(Error{Code::backup_exists, "the file already exists", place.name,
                    "choose another name, or pass --force to replace it", 0});
}

/// Files are copied as they are. Whoever makes a backup should hear of damage before all older backups are replaced.
Result<void> add_damage(FilesystemStore& store, WrittenBackup& written) {
  const auto report = store.check({}, Repair::no);
  if (!report && report.error().code == Code::unsupported_version) return {};
  if (!report) {
    written.damage.push_back({report.error().where, "the store can't be checked: " + report.error().message});
    return {};
  }
  std::vector<BackupNote> found;
  for (const Finding& finding : report->findings) {
    const bool bad = finding.severity == Finding::Severity::damage || finding.severity == Finding::Severity::mendable;
    const auto is_same = [&](const BackupNote& note) {
      // A path in an error of the system is absolute.
      return finding.file == note.path || finding.file.starts_with(note.path + "/") ||
             finding.file.ends_with("/" + note.path);
    };
    if (bad && std::ranges::none_of(written.damage, is_same) && std::ranges::none_of(found, is_same))
      found.push_back({finding.file, finding.what});
  }
  written.damage.insert(written.damage.end(), found.begin(), found.end());
  return {};
}

Result<WrittenBackup> write_backup(FilesystemStore& store, const BackupPlace& place, const std::string& temporary,
                                   const ShowBackupProgress& show) {
  PAWL_TRY_ASSIGN(const auto file, place.folder->open(temporary, OpenMode::create_empty));
  PAWL_TRY_ASSIGN(const bool locked, file->try_lock(layout::kWriterByte));
  if (!locked) return fail(Error{Code::store_busy, "another process is writing this file", temporary, "try again", 0});
  PAWL_TRY_ASSIGN(WrittenBackup written, store.back_up(*file, show));
  PAWL_TRY(file->sync(SyncPoint::backup_file));
  PAWL_TRY(refuse_existing(place));
  PAWL_TRY(place.folder->rename(temporary, place.name));
  PAWL_TRY(place.folder->sync_folder("", SyncPoint::backup_name));
  PAWL_TRY(add_damage(store, written));
  return written;
}

Result<void> refuse_used_folder(FileSystem& parent, const std::string& name) {
  const auto entries = parent.list(name);
  if (entries && entries->empty()) return {};
  if (!entries && entries.error().os_error != ENOTDIR) return std::unexpected(entries.error());
  return fail(Error{Code::folder_not_empty, entries ? "the folder is not empty" : "it is a file, not a folder", name,
                    "choose a new folder", 0});
}

Result<void> make_parents_of(FileSystem& files, std::string_view path, std::string& last) {
  const std::string_view folder = parent_folder(path);
  if (folder == last) return {};
  for (std::size_t slash = folder.find('/');; slash = folder.find('/', slash + 1)) {
    if (!folder.empty()) PAWL_TRY(files.make_folder(folder.substr(0, slash)));
    if (slash == std::string_view::npos) break;
  }
  last = folder;
  return {};
}

class Unpacker {
 public:
  Unpacker(FileSystem& files, BackupReader& reader, const ShowBackupProgress& show)
      : files_(files), reader_(reader), show_(show) {}

  Result<RestoredStore> unpack() {
    for (bool first = true;; first = false) {
      PAWL_TRY_ASSIGN(const auto entry, reader_.next());
      if (!entry) break;
      if (first != (entry->path == kBackupAbout))
        return fail(Error{Code::backup_damaged,
                          "backup.json is not the first entry of the backup",
                          {},
                          "use another backup, or copy this one again",
                          0});
      PAWL_TRY(first ? read_about() : entry->path == kBackupSums ? Result<void>() : write_file(*entry));
      if (show_) show_({0, 0, restored_.content_bytes});
    }
    return restored_;
  }

 private:
  Result<void> read_about() {
    std::string text;
    for (;;) {
      PAWL_TRY_ASSIGN(const std::string piece, reader_.content());
      if (piece.empty() || text.size() > 4096) break;
      text += piece;
    }
    PAWL_TRY_ASSIGN(const BackupAbout about, decode_backup_about(text));
    restored_.store = about.store;
    restored_.at = about.at;
    return {};
  }

  Result<void> write_file(const TarHeader& entry) {
    PAWL_TRY(make_parents_of(files_, entry.path, last_folder_));
    PAWL_TRY_ASSIGN(const bool exists, files_.exists(entry.path));
    if (exists)
      return fail(Error{Code::backup_damaged,
                        fmt::format("the backup contains '{}' twice", entry.path),
                        {},
                        "use another backup, or copy this one again",
                        0});
    PAWL_TRY_ASSIGN(const auto file, files_.open(entry.path, OpenMode::create_empty));
    for (std::uint64_t at = 0;;) {
      PAWL_TRY_ASSIGN(const std::string piece, reader_.content());
      if (piece.empty()) break;
      PAWL_TRY(file->write_at(at, piece));
      at += piece.size();
    }
    ++restored_.files;
    restored_.content_bytes += entry.size_bytes;
    return {};
  }

  FileSystem& files_;
  BackupReader& reader_;
  const ShowBackupProgress& show_;
  RestoredStore restored_;
  std::string last_folder_ = "?";
};

/// Checks the store as fsck does, and repairs what a crash had left in the original. What was damaged when the backup
/// was made is reported, and restored as it was.
Result<void> check_restored(FileSystem& files, const Environment& environment, RestoredStore& restored) {
  PAWL_TRY_ASSIGN(const auto store, FilesystemStore::open(files, environment, {}));
  const auto record = store->store_record();
  if (!record && record.error().code == Code::unsupported_version) return std::unexpected(record.error());
  if (!record || record->id != restored.store)
    return fail(Error{Code::backup_damaged,
                      "store.json in the backup is missing or belongs to another store",
                      {},
                      "use another backup, or copy this one again",
                      0});
  PAWL_TRY_ASSIGN(CheckReport report, store->check({}, Repair::no));
  if (report.damaged()) {
    PAWL_TRY_ASSIGN(report, store->check({}, Repair::yes));
  }
  restored.runs = report.runs;
  restored.erased = report.erased;
  restored.checkpoints = report.checkpoints;
  for (Finding& finding : report.findings) {
    const bool bad = finding.severity == Finding::Severity::damage || finding.severity == Finding::Severity::mendable;
    if (bad) restored.damage.push_back(std::move(finding));
  }
  return {};
}

Result<RestoredStore> restore_to(const std::string& folder, BackupReader& reader, const RestorePlace& place,
                                 const ShowBackupProgress& show) {
  FileSystem& parent = *place.parent;
  FolderFiles files(parent, folder);
  PAWL_TRY_ASSIGN(RestoredStore restored, Unpacker(files, reader, show).unpack());
  PAWL_TRY(check_restored(files, place.environment, restored));
  PAWL_TRY(parent.sync_all(SyncPoint::restored_files));
  PAWL_TRY(refuse_used_folder(parent, place.name));
  // Replaces an empty folder, and fails if it is not empty any more.
  PAWL_TRY(parent.rename(folder, place.name));
  PAWL_TRY(parent.sync_folder("", SyncPoint::restored_name));
  return restored;
}

}  // namespace

Result<WrittenBackup> create_backup(FilesystemStore& store, const BackupPlace& place, const ShowBackupProgress& show) {
  PAWL_TRY(refuse_existing(place));
  PAWL_TRY(remove_unfinished_files(*place.folder, place.name));
  const std::string temporary = fmt::format("{}{:016x}", prefix_of_file(place.name), place.environment.random->next());
  if (place.announce) place.announce(temporary);
  auto written = write_backup(store, place, temporary, show);
  if (!written) static_cast<void>(place.folder->remove(temporary));
  return written;
}

Result<RestoredStore> restore_backup(File& file, const RestorePlace& place, const ShowBackupProgress& show) {
  FileSystem& parent = *place.parent;
  BackupReader reader(file);
  PAWL_TRY_ASSIGN(const BackupTotals totals, reader.totals());
  if (totals.content_bytes > place.bytes_max) {
    return fail(Error{Code::backup_too_large,
                      fmt::format("the store in the backup has {} bytes; at most {} are allowed here",
                                  totals.content_bytes, place.bytes_max),
                      {},
                      "free space on the disk; if you trust the file, pass a higher limit with --max-size",
                      0});
  }
  PAWL_TRY(refuse_used_folder(parent, place.name));
  PAWL_TRY(remove_unfinished(parent, place.name));
  const std::string folder = fmt::format("{}{:016x}", prefix_of(place.name), place.environment.random->next());
  bool is_own = true;  // no other restore removes or uses the folder
  const auto restore = [&]() -> Result<RestoredStore> {
    PAWL_TRY(parent.make_folder(folder));
    PAWL_TRY_ASSIGN(const auto lock, parent.open(lock_of(folder), OpenMode::create));
    PAWL_TRY_ASSIGN(is_own, lock->try_lock(layout::kWriterByte));
    if (!is_own)
      return fail(Error{Code::store_busy, "another restore to this folder is running", folder, "try again", 0});
    return restore_to(folder, reader, place, show);
  };
  const auto restored = restore();
  // Cleaning up is best effort: the next restore tries again.
  if (!restored && is_own) static_cast<void>(remove_all(parent, folder));
  return restored;
}

}  // namespace pawl
