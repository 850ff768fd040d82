// Damaged batches of a journal, and the runs that they may belong to.
//
// A damaged batch stops only the runs that may have records in it. Three things narrow them down: the records that can
// still be verified on their own, the filter in the header of the batch, and later records of a run in the same
// journal, which prove that nothing newer was lost.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "adapters/filesystem/journal_format.hpp"

namespace pawl {

constexpr std::uint64_t kUnknownSequence = std::numeric_limits<std::uint64_t>::max();

/// Consecutive batches of one journal that can't be read.
struct LostBatches {
  std::string file;         // the segment, or the journal's folder if the segment is missing
  std::uint64_t slot = 0;   // of the segment; 0: unknown
  Hole place = {};          // in the segment; empty: unknown
  std::uint64_t first = 0;  // batch numbers; 0: unknown
  std::uint64_t last = 0;
  bool nothing_lost = false;             // the files contain all of their records, or only a header is damaged
  bool in_files = false;                 // the files contain all of their records
  bool settled = false;                  // the catalogue, too
  bool any_run = false;                  // it is unknown which runs had records in them
  std::uint64_t saves_max = 0;           // no run lost more checkpoints than that
  std::vector<RunsFilter> filters = {};  // runs that one of these names may be affected
  std::map<std::string, std::uint64_t, std::less<>> runs = {};   // affected runs, with the highest lost checkpoint
  std::map<std::string, std::uint64_t, std::less<>> later = {};  // first checkpoint of each run after these batches
  std::vector<JournalRecord> intact = {};       // records that can still be read; views into the segment
  std::vector<JournalRecord> differences = {};  // intact ones whose group is not known to be right yet
  std::vector<JournalRecord> unreadable = {};   // the others of these runs; only what is outside their text counts
  Error error = {};

  /// Returns the highest checkpoint that the run may have lost, kUnknownSequence if it is unknown, or nothing if the
  /// run is not affected.
  [[nodiscard]] std::optional<std::uint64_t> highest_lost(std::string_view run) const;
  /// Returns whether the catalogue and the readable records together may lack saves of the run. They may still be in
  /// the files of the run.
  [[nodiscard]] bool may_hide(std::string_view run) const;
  [[nodiscard]] bool may_hide_any() const;
  /// Returns the highest number of an event or audit entry of the run that can't be read, 0 if there is none.
  [[nodiscard]] std::uint64_t highest_number(std::string_view run, RecordType type) const;
  /// Returns the first checkpoint after `after` of which a record can't be read, kUnknownSequence if there is none.
  [[nodiscard]] std::uint64_t first_unreadable(std::string_view run, std::uint64_t after) const;
  /// The same for a record that is not the checkpoint itself, but an event or an audit entry.
  [[nodiscard]] std::uint64_t first_unrecorded(std::string_view run, std::uint64_t after) const;
  /// Adds what the bytes of a part tell.
  void add(const SalvagedBatch& part);
  /// Returns the affected runs for a message: "a, b", or "unknown".
  [[nodiscard]] std::string runs_text() const;
};

}  // namespace pawl
