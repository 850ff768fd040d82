#include <map>
#include <set>

#include "adapters/filesystem/backup_file.hpp"
#include "adapters/filesystem/backups.hpp"
#include "adapters/filesystem/journal_format.hpp"
#include "adapters/filesystem/layout.hpp"
#include "codec/erased_text.hpp"
#include "codec/record_text.hpp"

namespace pawl {
namespace {

std::unexpected<Error> backup_refused(std::string what) {
  return fail(Error{Code::backup_damaged, std::move(what), {}, "use another backup, or copy this one again", 0});
}

class BackupChecker {
 public:
  BackupChecker(BackupReader& reader, const ShowBackupProgress& show) : reader_(reader), show_(show) {}

  Result<CheckedBackup> check() {
    for (bool first = true;; first = false) {
      PAWL_TRY_ASSIGN(const auto entry, reader_.next());
      if (!entry) break;
      if (first != (entry->path == kBackupAbout))
        return backup_refused("backup.json is not the first entry of the backup");
      PAWL_TRY(read_entry(*entry));
      if (show_) show_({0, 0, checked_.content_bytes});
    }
    if (!has_store_) return backup_refused("store.json in the backup is missing");
    checked_.runs = runs_.size();
    for (const auto& [run, counts] : erased_) {
      checked_.runs -= runs_.contains(run) ? 1U : 0U;
      checked_.erased += counts ? 1U : 0U;
    }
    return checked_;
  }

 private:
  Result<void> read_entry(const TarHeader& entry) {
    const std::string& path = entry.path;
    if (path == kBackupAbout) {
      PAWL_TRY_ASSIGN(const std::string text, content());
      PAWL_TRY_ASSIGN(const BackupAbout about, decode_backup_about(text));
      checked_.store = about.store;
      checked_.at = about.at;
      return {};
    }
    if (path == kBackupSums) return {};
    if (!names_.insert(path).second) return backup_refused(fmt::format("the backup contains '{}' twice", path));
    ++checked_.files;
    checked_.content_bytes += entry.size_bytes;
    PAWL_TRY(note_run(path));
    if (path == layout::kStoreFile) return read_store();
    if (path == layout::segment(1, 1)) return read_journal_of_backup();
    return {};  // the reader checks what is not read here
  }

  Result<void> note_run(std::string_view path) {
    const std::string prefix = std::string(layout::kRuns) + "/";
    if (!path.starts_with(prefix)) return {};
    const std::string run(path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size()));
    if (path == layout::run_file(run)) runs_.insert(run);
    if (path != layout::erased(run)) return {};
    PAWL_TRY_ASSIGN(const std::string text, content());
    const auto mark = decode_erased(text);
    erased_.emplace(run, !mark || !mark->removed);
    return {};
  }

  Result<void> read_store() {
    PAWL_TRY_ASSIGN(const std::string text, content());
    const auto record = decode_store(text);
    if (!record && record.error().code == Code::unsupported_version) return std::unexpected(record.error());
    if (!record || record->id != checked_.store)
      return backup_refused("store.json in the backup is missing or belongs to another store");
    has_store_ = true;
    return {};
  }

  /// A run may be only in the journal.
  Result<void> read_journal_of_backup() {
    PAWL_TRY_ASSIGN(const std::string segment, content());
    const auto header = decode_segment_header(segment);
    if (!header) return backup_refused("the journal in the backup can't be read");
    const SegmentScan scan = scan_segment(segment, header->generation);
    if (scan.bad_batch) return backup_refused("the journal in the backup is damaged");
    for (const Batch& batch : scan.batches) {
      const auto records = decode_records(batch);
      if (!records) return backup_refused("the journal in the backup is damaged");
      for (const JournalRecord& record : *records) {
        if (record.type == RecordType::checkpoint) runs_.insert(std::string(record.run));
      }
    }
    return {};
  }

  Result<std::string> content() {
    std::string text;
    for (;;) {
      PAWL_TRY_ASSIGN(const std::string piece, reader_.content());
      if (piece.empty()) return text;
      text += piece;
    }
  }

  BackupReader& reader_;
  const ShowBackupProgress& show_;
  CheckedBackup checked_;
  bool has_store_ = false;
  std::set<std::string> names_;
  std::set<std::string> runs_;
  std::map<std::string, bool> erased_;  // whether it counts: a removed run does not
};

}  // namespace

Result<CheckedBackup> check_backup(File& file, const ShowBackupProgress& show) {
  BackupReader reader(file);
  return BackupChecker(reader, show).check();
}

}  // namespace pawl
