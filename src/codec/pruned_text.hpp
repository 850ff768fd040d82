// What pruning leaves behind, as text: docs/formats/checkpoint.md, "Pruned".
//
// Invariants: every number in `closed` is either in `dropped` or in `kept`; nothing in `kept` is in `dropped`.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "codec/record_text.hpp"
#include "text/index_ranges.hpp"

namespace pawl {

/// A run's file pruned.json.
struct PrunedList {
  struct Sums {
    std::string was;  // of the record as it was saved: the audit trail has it
    std::string is;   // of the record that took its place
  };
  Timestamp at;                        // of the last prune
  IndexRanges dropped;                 // not to be seen any more
  IndexRanges closed;                  // what journals and older files hold of these does not count any more
  std::map<std::uint64_t, Sums> kept;  // of the closed ones: each has a file of its own
  std::uint64_t callers = 0;           // lines in the file of callers' ids
  IndexRanges aside;  // damaged, and given up by a fallback: aside.json has them; in memory they are in `dropped`, too

  [[nodiscard]] bool is_dropped(Sequence sequence) const { return dropped.contains(sequence.value); }
  [[nodiscard]] bool is_closed(Sequence sequence) const { return closed.contains(sequence.value); }
  [[nodiscard]] bool is_aside(Sequence sequence) const { return aside.contains(sequence.value); }
  /// `up_to`, or the last one behind `base` before something was set aside: no group goes on behind that.
  [[nodiscard]] Sequence before_aside(Sequence base, Sequence up_to) const;
  /// 0: nothing was.
  [[nodiscard]] Sequence last_aside() const { return {aside.empty() ? 0 : aside.ranges().rbegin()->second}; }
  [[nodiscard]] const Sums* rewritten(Sequence sequence) const {
    const auto found = kept.find(sequence.value);
    return found == kept.end() ? nullptr : &found->second;
  }
  /// The first one from `sequence` on that was not dropped.
  [[nodiscard]] Sequence next_there(Sequence sequence) const { return {dropped.next_missing(sequence.value)}; }
  /// The last one up to `sequence` that was not dropped; 0: none.
  [[nodiscard]] Sequence last_there(Sequence sequence) const;
};

[[nodiscard]] std::string encode_pruned(const PrunedList& list, std::uint32_t seed);
/// Fails with store_damaged, or unsupported_version.
[[nodiscard]] Result<PrunedList> decode_pruned(std::string_view text, std::uint32_t seed);

/// What answers the caller's id of a save that was pruned. Of `info` only sequence, id, kind, checksum and caller's id.
struct PrunedCaller {
  std::uint64_t number = 0;  // of its line, from 1
  CheckpointInfo info;
  std::string fingerprint;
};
[[nodiscard]] std::string encode_pruned_caller(const PrunedCaller& caller, std::uint32_t seed);
[[nodiscard]] Result<PrunedCaller> decode_pruned_caller(std::string_view line, std::uint32_t seed);

}  // namespace pawl
