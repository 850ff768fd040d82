// Reading journals beside their writers: takes no lock, writes nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/filesystem/journal_format.hpp"
#include "ports/environment.hpp"
#include "ports/file_system.hpp"

namespace pawl {

struct SegmentView {
  std::uint64_t slot = 0;  // number in the file's name
  SegmentHeader header;
  std::uint64_t header_offset = 0;  // which copy it is
  std::string bytes;                // up to the last valid batch, or all of it where something is bad
  SegmentScan scan;                 // views into `bytes`
};

/// How far the journal is durable, if its writer said so on this boot.
[[nodiscard]] Result<std::optional<Watermark>> read_watermark(FileSystem& files, std::uint64_t number,
                                                              std::string_view boot_id);

/// Reads a segment's header and batches into `view`, as far as there are any.
Result<void> read_batches(File& file, SegmentView& view);

/// One journal as it was read. Movable; its views stay valid.
struct JournalView {
  std::uint64_t number = 0;
  std::vector<std::unique_ptr<SegmentView>> segments;  // by position, oldest first
  std::optional<Watermark> watermark;                  // of this boot, where there is one
  std::optional<PublishedRange> published;             // of this boot, where there is one
  std::uint64_t last_batch = 0;                        // highest valid number
  std::uint64_t visible_batch = 0;                     // highest number that readers may show
  bool torn = false;                                   // a bad batch at the very end
  std::optional<Error> damage;                         // a bad batch elsewhere, a gap, a damaged header

  /// Whether batches stand behind the watermark: a writer is at work, or died.
  [[nodiscard]] bool has_unconfirmed() const { return last_batch > visible_batch; }
};

/// Reads journal `number`. Fails only where the operating system can't read; damage is part of the view.
[[nodiscard]] Result<JournalView> read_journal(FileSystem& files, std::uint64_t number, std::string_view boot_id);

/// Whether a batch that is not confirmed holds something of this run.
[[nodiscard]] Result<bool> mentions_unconfirmed(const JournalView& journal, std::string_view run);

/// The numbers of all journals, ascending.
[[nodiscard]] Result<std::vector<std::uint64_t>> list_journals(FileSystem& files);

/// A run's records in all journals that are not yet recycled, by sequence and number.
struct RunRecords {
  struct Checkpoint {
    JournalRecord record;
    std::uint64_t journal = 0;
  };
  std::optional<JournalRecord> run;
  std::map<std::uint64_t, Checkpoint> checkpoints;  // by sequence
  std::map<std::uint64_t, JournalRecord> events;    // by number
  std::map<std::uint64_t, JournalRecord> audit;     // by number
};

/// All journals at one moment. What it shows stays readable however the writers go on; what it does not
/// show was published before, so files are read after it.
class JournalSnapshot {
 public:
  /// Which records it holds: all, or those that need not be in the runs' files yet.
  enum class Records : std::uint8_t { all, unpublished };
  [[nodiscard]] static Result<std::shared_ptr<JournalSnapshot>> take(FileSystem& files, std::string_view boot_id,
                                                                     Records records = Records::all);

  /// Null where no journal holds anything of it.
  [[nodiscard]] const RunRecords* find(std::string_view run) const;
  [[nodiscard]] const std::map<std::string, RunRecords, std::less<>>& runs() const { return runs_; }
  [[nodiscard]] const std::vector<JournalView>& journals() const { return journals_; }
  /// The number of the last batch of each journal.
  [[nodiscard]] std::vector<std::uint64_t> last_batches() const;
  /// Damage that makes "the latest" uncertain, and what was torn.
  [[nodiscard]] const std::optional<Error>& damage() const { return damage_; }
  /// Whether taking it again would give the same: no batch was added and no segment recycled since. Cheap.
  /// Only journals with a watermark of this boot can say so.
  [[nodiscard]] Result<bool> is_current(FileSystem& files, std::string_view boot_id) const;
  /// False: a segment was recycled since, so what files held may have been read too early. Read again.
  [[nodiscard]] Result<bool> still_valid(FileSystem& files) const;

 private:
  Result<void> index(const JournalView& journal, Records wanted);

  std::vector<JournalView> journals_;
  std::map<std::string, RunRecords, std::less<>> runs_;
  std::optional<Error> damage_;
};

}  // namespace pawl
