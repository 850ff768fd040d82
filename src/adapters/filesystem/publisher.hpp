// Copies records from the journal to the readable files.
//
// There are two modes. Lazy: saved records are appended to the files without a sync, so that people see them. The
// journal still contains them, and readers trust the journal. Settled: the files are made to match the journal exactly
// and synced, and only then may the journal discard the records. Unsynced data of an earlier process is rewritten when
// it is settled, because a page that failed to reach the disk can look clean.
//
// The lines of a run are ordered by number. Every line is a copy of the bytes in the journal, so that writing it twice
// writes the same bytes to the same place. Several processes may publish the same run, one after the other (a kernel
// lock per run). Each writes its own records and those before them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "adapters/filesystem/journal_reader.hpp"
#include "adapters/filesystem/options.hpp"
#include "audit/roots.hpp"
#include "ports/environment.hpp"

namespace pawl {

/// The records of one run in the journals, in order. Gaps are possible: missing records were published before. Contains
/// views into the segments.
struct RunBatch {
  std::optional<std::string_view> run;
  std::vector<JournalRecord> checkpoints;
  std::vector<JournalRecord> events;
  std::vector<JournalRecord> audit;
};
using RunBatches = std::map<std::string, RunBatch, std::less<>>;

/// Returns every record of the run that the journals contain.
[[nodiscard]] RunBatch whole_batch(const RunRecords& records);
/// Returns the first record after a gap in the numbers, or the end. `last` is the number of the last line in the file.
[[nodiscard]] std::vector<JournalRecord>::const_iterator first_unconnected(const std::vector<JournalRecord>& records,
                                                                           std::uint64_t last);
/// Adds the records of a segment.
Result<void> collect(const SegmentView& segment, RunBatches& batches);

enum class Publish : std::uint8_t {
  lazy,
  closing,  // lazy, with the roots of the audit trail
  settled,
};

/// Not thread-safe: only one thread publishes.
class Publisher {
 public:
  Publisher(FileSystem& files, const Environment& environment, const FilesystemOptions& options);

  /// Writes the records of a run. Lazy: returns false if they can't be appended now, because another process is
  /// publishing or earlier records are missing. Settled: durable after `sync`.
  Result<bool> publish(std::string_view run, const RunBatch& batch, Publish mode);
  /// Writes a missing or damaged merkle_roots.json again, durably. The valid roots at its beginning stay, and a damaged
  /// file is kept in recovery/. Changes nothing if the audit trail is damaged or contradicts a root.
  Result<void> rewrite_roots(std::string_view run);
  /// Makes everything durable that was published as `settled` since the last call. After a failure, nothing written
  /// before is trusted.
  Result<void> sync();

 private:
  struct Lines {
    std::string_view run;
    std::string path;
    std::uint64_t first_possible = 1;  // number of the first line of a file
    bool by_sequence = false;          // lines are numbered by the checkpoint's sequence, not by the record's number
    bool in_new_folder = false;
  };
  /// Folders that this publication created: nobody has published into them, so nothing has to be looked up there.
  struct NewFolders {
    bool checkpoints = false;
    bool audit = false;
  };
  struct Known {
    std::uint64_t last_number = 0;
    std::uint64_t end = 0;
  };
  struct KnownRoot {
    SettledRoot root;
    std::uint64_t begin = 0;  // where its text was written
    std::uint64_t end = 0;
  };
  static Result<bool> is_last_root(File& file, const KnownRoot& known, std::uint32_t seed);
  static constexpr std::size_t kKnownMax = 4096;
  Result<std::unique_ptr<File>> lock_run(std::string_view run, OpenMode open, Publish mode);
  Result<bool> is_erased(std::string_view run, Publish mode);
  Result<bool> publish_locked(std::string_view run, const RunBatch& batch, Publish mode);
  Result<NewFolders> make_folders(std::string_view run, const RunBatch& batch, Publish mode);
  Result<bool> publish_checkpoints(std::string_view run, const RunBatch& batch, Publish mode, bool in_new_folder);
  Result<std::uint64_t> first_event_after_earlier_days(std::string_view run, std::string_view day);
  Result<bool> publish_events(std::string_view run, const RunBatch& batch, Publish mode);
  Result<void> publish_roots(std::string_view run, std::span<const JournalRecord> audit, Publish mode,
                             bool in_new_folder);
  Result<void> write_whole(const std::string& path, std::string_view text, Publish mode);
  Result<void> write_new(const std::string& path, std::string_view text, Publish mode);
  Result<bool> append(Lines lines, std::span<const JournalRecord> records, Publish mode);
  Result<bool> append_unbroken(const Lines& lines, std::span<const JournalRecord> records, Publish mode);
  Result<std::optional<Known>> append_point(File& file, const Lines& lines, std::uint64_t first, std::uint64_t last,
                                            Publish mode);
  Result<void> sync_names(const std::string& folder);
  void touch(const std::string& path, std::shared_ptr<File> file, Publish mode);

  FileSystem& files_;
  const Environment environment_;
  const FilesystemOptions options_;
  std::map<std::string, Known> known_;                    // files whose lines this process wrote
  std::map<std::string, KnownRoot> known_roots_;          // the same for files of roots
  std::set<std::string> written_;                         // complete files that this process wrote
  std::map<std::string, std::shared_ptr<File>> touched_;  // to be synced
  std::set<std::string> folders_;                         // to be synced
};

}  // namespace pawl
