// Reads journals concurrently with their writers. Takes no lock and writes nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/filesystem/journal_losses.hpp"
#include "ports/environment.hpp"
#include "ports/file_system.hpp"

namespace pawl {

struct SegmentView {
  std::uint64_t slot = 0;  // number in the file name
  SegmentHeader header;
  std::uint64_t header_offset = 0;  // position of the current copy
  std::string bytes;                // up to the last valid batch, or everything if a batch is invalid
  SegmentScan scan;                 // views into `bytes`
  bool copied = false;              // its journal is a copy, so what follows the end may be missing
  bool has_remains = false;         // of a copy: batches follow that were written while the copy was made
};

/// Returns the position up to which the journal is durable, if its writer recorded it on this boot.
[[nodiscard]] Result<std::optional<Watermark>> read_watermark(FileSystem& files, std::uint64_t number,
                                                              std::string_view boot_id);

/// Returns whether the journal was copied from another place, and no writer has taken the copy over.
[[nodiscard]] Result<bool> is_copied_journal(FileSystem& files, std::uint64_t number);

/// Reads the header and the existing batches of a segment into `view`.
Result<void> read_batches(File& file, SegmentView& view, std::uint64_t first_look_bytes = 32ULL << 10);

/// One journal as it was read. Movable; its views stay valid.
struct JournalView {
  std::uint64_t number = 0;
  std::vector<std::unique_ptr<SegmentView>> segments;  // by position, oldest first
  std::optional<Watermark> watermark;                  // of this boot, if any
  std::optional<PublishedRange> published;             // of this boot, if any
  std::uint64_t last_batch = 0;                        // highest valid number
  std::uint64_t visible_batch = 0;                     // highest number that readers may return
  bool torn = false;                                   // an invalid batch at the end
  bool copied = false;                                 // it is a copy that no writer has taken over yet
  std::optional<Error> damage;                         // an invalid batch elsewhere, a gap, or a damaged header
  std::vector<std::unique_ptr<SegmentView>> wrecks;    // segments without a valid header; their batches are in `after`
  std::vector<LostBatches> lost;                       // batches that can't be read, with what is known about them

  /// Returns whether batches follow the watermark: a writer is active, or died.
  [[nodiscard]] bool has_unconfirmed() const { return last_batch > visible_batch; }
};

/// Reads journal `number`. Fails only if the operating system can't read; damage is part of the view.
/// `store_text` is the content of store.json: a segment with another store's ID is not read. Empty: not checked.
[[nodiscard]] Result<JournalView> read_journal(FileSystem& files, std::uint64_t number, std::string_view boot_id,
                                               std::string_view store_text);
/// Returns the content of store.json, or nothing if it can't be read, which is reported elsewhere.
[[nodiscard]] std::string read_store_text(FileSystem& files);

/// Returns whether an unconfirmed batch contains records of this run.
[[nodiscard]] Result<bool> mentions_unconfirmed(const JournalView& journal, std::string_view run);

/// Returns the numbers of all journals, ascending.
[[nodiscard]] Result<std::vector<std::uint64_t>> list_journals(FileSystem& files);

/// Returns whether any journal has a segment. Before the first one is created, store.json is durable.
[[nodiscard]] Result<bool> has_segments(FileSystem& files);

/// The records of a run in all journals that are not recycled yet, by sequence and number.
struct RunRecords {
  struct Checkpoint {
    JournalRecord record;
    std::uint64_t journal = 0;
  };
  std::optional<JournalRecord> run;
  std::map<std::uint64_t, Checkpoint> checkpoints;  // by sequence
  std::map<std::uint64_t, JournalRecord> events;    // by number
  std::map<std::uint64_t, JournalRecord> audit;     // by number
  std::uint64_t first_unpublished = 0;              // first audit entry that the file may lack; 0: none
};

/// All journals at one point in time. Its contents stay readable whatever the writers do. Everything else was published
/// before, so files must be read after the snapshot is taken.
class JournalSnapshot {
 public:
  /// Which records it contains: all, or only those that may be missing in the files of the runs.
  enum class Records : std::uint8_t { all, unpublished };
  /// Journal `except` is not read (0: all are).
  [[nodiscard]] static Result<std::shared_ptr<JournalSnapshot>> take(FileSystem& files, std::string_view boot_id,
                                                                     Records records = Records::all,
                                                                     std::uint64_t except = 0);

  /// Returns null if no journal contains records of the run.
  [[nodiscard]] const RunRecords* find(std::string_view run) const;
  [[nodiscard]] const std::map<std::string, RunRecords, std::less<>>& runs() const { return runs_; }
  [[nodiscard]] const std::vector<JournalView>& journals() const { return journals_; }
  /// Returns the number of the last batch of each journal.
  [[nodiscard]] std::vector<std::uint64_t> last_batches() const;
  /// Returns the first damage, whichever runs it affects.
  [[nodiscard]] const std::optional<Error>& damage() const { return damage_; }
  /// What damaged journals may have contained of a run.
  struct Doubt {
    std::uint64_t highest_lost = 0;  // highest checkpoint; kUnknownSequence: unknown
    std::uint64_t lost_event = 0;    // highest number of an event that can't be read; 0: none is known
    std::uint64_t lost_entry = 0;    // the same for entries of the audit trail
    Error error;                     // names the file, the run and the way out
  };
  /// Returns nothing if no damaged batch may contain records of the run.
  [[nodiscard]] std::optional<Doubt> doubt(std::string_view run) const;
  /// Returns whether damaged batches may contain saves of the run that neither the catalogue nor this snapshot knows.
  [[nodiscard]] bool may_hide(std::string_view run) const;
  /// Returns whether there is any run for which `may_hide` can be true.
  [[nodiscard]] bool may_hide_any() const;
  /// Returns whether the store is a copy, made while it was in use, that no writer has opened yet.
  [[nodiscard]] bool copied() const;
  /// Returns whether a new snapshot would be the same: no batch was added and no segment recycled since. Cheap. Returns
  /// true only if every journal has a watermark of this boot.
  [[nodiscard]] Result<bool> is_current(FileSystem& files, std::string_view boot_id, std::uint64_t except = 0) const;
  /// The same for a writer, which must also know of batches that their writer did not acknowledge: nothing was written
  /// behind the last batches either. Journal `except` is not part of the snapshot.
  [[nodiscard]] Result<bool> is_untouched(FileSystem& files, std::string_view boot_id, std::uint64_t except) const;
  /// Returns false if a segment was recycled since. Files may then have been read too early and must be read again.
  [[nodiscard]] Result<bool> still_valid(FileSystem& files) const;

 private:
  Result<void> index(JournalView& journal, Records wanted);
  Result<void> index(const JournalRecord& record, std::uint64_t journal, bool published);
  /// Adds the differences of damaged batches whose group is certain. The others count as unreadable.
  Result<void> place_differences(FileSystem& files, JournalView& journal, Records wanted);

  std::vector<JournalView> journals_;
  std::map<std::string, RunRecords, std::less<>> runs_;
  std::optional<Error> damage_;
};

}  // namespace pawl
