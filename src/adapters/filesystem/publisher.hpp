// From the journal to the readable files.
//
// Two ways. Lazily: what was saved is appended to the files without any sync, so that people see it; the
// journal still holds it, and readers trust the journal. Settled: the files are brought to exactly what the
// journal says, synced, and only then may the journal forget. What an earlier process left unsynced is
// written anew when it is settled, because a page that failed to reach the disk can look clean.
//
// A run's lines stand in the order of their numbers; every line is a copy of the journal's bytes, so that
// writing it twice writes the same bytes to the same place. Several processes may publish the same run, one
// after the other (a kernel lock per run): each writes its own records and those that come before them.
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

/// What journals hold of one run, in order, perhaps with gaps (what is missing was published before).
/// Views into the segments.
struct RunBatch {
  std::optional<std::string_view> run;
  std::vector<JournalRecord> checkpoints;
  std::vector<JournalRecord> events;
  std::vector<JournalRecord> audit;
};
using RunBatches = std::map<std::string, RunBatch, std::less<>>;

/// Adds a segment's records.
Result<void> collect(const SegmentView& segment, RunBatches& batches);

enum class Publish : std::uint8_t {
  lazy,
  closing,  // lazily, with the roots of the audit trail
  settled,
};

/// Not thread-safe: one publishing thread.
class Publisher {
 public:
  Publisher(FileSystem& files, const Environment& environment, const FilesystemOptions& options);

  /// Writes a run's records. Lazily: false where they can't be appended now (someone else is at it, or
  /// earlier ones are missing). Settled: durable after `sync`.
  Result<bool> publish(std::string_view run, const RunBatch& batch, Publish mode);
  /// Makes everything published as `settled` since the last call durable. After a failure nothing written
  /// before is trusted any more.
  Result<void> sync();

 private:
  struct Lines {
    std::string_view run;
    std::string path;
    std::uint64_t first_possible = 1;  // the number that a file's first line has
    bool by_sequence = false;          // lines are numbered by the checkpoint's sequence, not by the record's number
  };
  struct Known {
    std::uint64_t last_number = 0;
    std::uint64_t end = 0;
  };
  struct KnownRoot {
    SettledRoot root;
    std::uint64_t end = 0;
  };
  static constexpr std::size_t kKnownMax = 4096;
  Result<bool> is_erased(std::string_view run, Publish mode);
  Result<bool> publish_locked(std::string_view run, const RunBatch& batch, Publish mode);
  Result<void> make_folders(std::string_view run, const RunBatch& batch, Publish mode);
  Result<bool> publish_checkpoints(std::string_view run, const RunBatch& batch, Publish mode);
  Result<std::uint64_t> first_event_after_earlier_days(std::string_view run, std::string_view day);
  Result<bool> publish_events(std::string_view run, const RunBatch& batch, Publish mode);
  Result<void> publish_roots(std::string_view run, std::span<const JournalRecord> audit, Publish mode);
  Result<void> write_whole(const std::string& path, std::string_view text, Publish mode);
  Result<bool> append(const Lines& lines, std::span<const JournalRecord> records, Publish mode);
  Result<bool> append_unbroken(const Lines& lines, std::span<const JournalRecord> records, Publish mode);
  Result<std::optional<Known>> append_point(File& file, const Lines& lines, std::uint64_t first, std::uint64_t last,
                                            Publish mode);
  void touch(const std::string& path, std::shared_ptr<File> file, Publish mode);

  FileSystem& files_;
  const Environment environment_;
  const FilesystemOptions options_;
  std::map<std::string, Known> known_;                    // files whose lines this process wrote itself
  std::map<std::string, KnownRoot> known_roots_;          // the same for files of roots
  std::set<std::string> written_;                         // whole files this process wrote itself
  std::map<std::string, std::shared_ptr<File>> touched_;  // to be synced
  std::set<std::string> folders_;                         // to be synced
};

}  // namespace pawl
