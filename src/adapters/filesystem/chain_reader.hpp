// A whole checkpoint and the differences behind it, put together from journals and files.
//
// Any line in a file that has its checksum is a copy of a record that was durable, so it is as good as the
// journal's. A line without it is either a copy that a crash cut short, and then a journal still holds the
// record, or it is damage.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "adapters/filesystem/journal_reader.hpp"
#include "codec/pruned_text.hpp"
#include "codec/record_text.hpp"

namespace pawl {

/// A copy in a file that does not fit, of a record that a journal holds.
struct BadCopy {
  Sequence sequence;
  bool cut_short = false;       // its beginning is right: whoever wrote it did not come to the end
  std::string_view found = {};  // from its beginning to the end of its file
};

struct ChainLink {
  RecordView record;
  bool from_journal = false;
};

/// Movable; its views stay valid as long as the snapshot lives.
struct Chain {
  Sequence base;
  std::vector<ChainLink> links;  // base, base + 1, ... without a gap
  std::optional<Error> damage;   // why it ends before it should
  Sequence damaged;              // which one that is
  bool borrowed = false;         // the base is the last checkpoint that a fork shares: its link has no record
  std::vector<BadCopy> bad_copies;
  std::optional<Error> bad_line;            // the file of differences ends in something that is no line of it
  std::unique_ptr<std::string> whole_text;  // what views of the files point into
  std::unique_ptr<std::string> lines_text;

  [[nodiscard]] const RecordView* find(Sequence sequence) const {
    if (sequence < base || sequence.value - base.value >= links.size()) return nullptr;
    return &links[sequence.value - base.value].record;
  }
};

/// Where a run's chains are read from. What `pruned` has closed does not count in journals and older files.
struct ChainSource {
  FileSystem& files;
  std::string_view run;
  const RunRecords* records = nullptr;  // null: nothing in the journals
  const PrunedList& pruned;
  Sequence fork_at = {};  // of a fork: what its first checkpoints are differences to
};

/// Where a run's whole checkpoints are: in files, and in journals. Ascending. Of a fork the first is the borrowed one.
[[nodiscard]] Result<std::vector<Sequence>> list_bases(const ChainSource& source);

/// The chain of `base` up to `up_to`, or as far as it goes. Fails only where the operating system can't read.
[[nodiscard]] Result<Chain> read_chain(const ChainSource& source, std::uint32_t seed, Sequence base, Sequence up_to);

/// The file in which a whole checkpoint stands.
[[nodiscard]] std::string whole_path(const ChainSource& source, Sequence base);

}  // namespace pawl
