// A chain: a full checkpoint and the differences after it, assembled from journals and files.
//
// A line in a file with a valid checksum is a copy of a durable record, so it is as good as the record in the journal.
// A line without one is either a copy that a crash truncated, in which case a journal still contains the record, or it
// is damaged.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "adapters/filesystem/journal_reader.hpp"
#include "codec/pruned_text.hpp"
#include "codec/record_text.hpp"

namespace pawl {

/// A copy in a file that differs from the record in the journal.
struct BadCopy {
  Sequence sequence;
  bool by_crash = false;        // a power loss or a killed writer can have left it so
  std::string_view found = {};  // from the start of the copy to the end of its file
};

struct ChainLink {
  RecordView record;
  bool from_journal = false;
};

/// Movable. Its views stay valid as long as the snapshot exists.
struct Chain {
  Sequence base;
  std::vector<ChainLink> links;  // base, base + 1, ... without a gap
  std::optional<Error> damage;   // why the chain ends early
  Sequence damaged;              // the damaged checkpoint
  bool borrowed = false;         // the base is the last checkpoint that a fork shares; its link has no record
  std::vector<BadCopy> bad_copies;
  std::optional<Error> bad_line;            // the file of differences ends with an invalid line
  std::unique_ptr<std::string> whole_text;  // the text that views of the files refer to
  std::unique_ptr<std::string> lines_text;

  [[nodiscard]] const RecordView* find(Sequence sequence) const {
    if (sequence < base || sequence.value - base.value >= links.size()) return nullptr;
    return &links[sequence.value - base.value].record;
  }
};

/// Where the chains of a run are read from. Checkpoints in groups that `pruned` closed are ignored in journals and
/// older files.
struct ChainSource {
  FileSystem& files;
  std::string_view run;
  const RunRecords* records = nullptr;  // null if the journals contain nothing of the run
  const PrunedList& pruned;
  Sequence fork_at = {};  // of a fork: the checkpoint that its first differences are based on
};

/// Returns the full checkpoints of a run in files and journals, ascending. The first one of a fork is the borrowed one.
[[nodiscard]] Result<std::vector<Sequence>> list_bases(const ChainSource& source);

/// Removes those that are above `audited`, the last checkpoint in the audit trail, in no journal, and no checkpoint of
/// the run: somebody put a file with such a name there. Does nothing if `audited` is 0, because the trail is unknown.
Result<void> drop_stray_bases(const ChainSource& source, std::uint32_t seed, Sequence audited,
                              std::vector<Sequence>& bases);

/// Returns the chain of `base` up to `up_to`, or as much of it as exists. Fails only if the operating system can't
/// read.
[[nodiscard]] Result<Chain> read_chain(const ChainSource& source, std::uint32_t seed, Sequence base, Sequence up_to);

/// Returns the path of the file of a full checkpoint.
[[nodiscard]] std::string whole_path(const ChainSource& source, Sequence base);
/// Returns the path of the file of the differences after it.
[[nodiscard]] std::string lines_path(const ChainSource& source, Sequence base);

}  // namespace pawl
