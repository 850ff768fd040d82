// The files that pruning writes: docs/formats/checkpoint.md, "Pruned".
//
// Invariants: every number in `closed` is in `dropped`, in `kept` or in a tail. A number in `kept` is in `dropped` only
// if it has a tail, which needs it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "codec/record_text.hpp"
#include "text/index_ranges.hpp"

namespace pawl {

/// The content of pruned.json of a run.
struct PrunedList {
  struct Sums {
    std::string was;  // of the record as it was saved; the audit trail contains it
    std::string is;   // of the record that replaced it
  };
  Timestamp at;                        // of the last prune
  IndexRanges dropped;                 // no longer visible
  IndexRanges closed;                  // journals and older files no longer count for these
  std::map<std::uint64_t, Sums> kept;  // of the closed ones; each has its own file
  /// Kept checkpoints whose differences are kept, too, in a file of their own: up to and including this one.
  std::map<std::uint64_t, std::uint64_t> tails;
  std::uint64_t callers = 0;  // number of lines in the file of caller IDs
  IndexRanges aside;          // damaged, and set aside by a fallback: stored in aside.json; in memory also in `dropped`

  [[nodiscard]] bool is_dropped(Sequence sequence) const { return dropped.contains(sequence.value); }
  [[nodiscard]] bool is_closed(Sequence sequence) const { return closed.contains(sequence.value); }
  [[nodiscard]] bool is_aside(Sequence sequence) const { return aside.contains(sequence.value); }
  /// Returns `up_to`, or the last one after `base` before a checkpoint that was set aside, because no group continues
  /// beyond that.
  [[nodiscard]] Sequence before_aside(Sequence base, Sequence up_to) const;
  /// 0 if nothing was set aside.
  [[nodiscard]] Sequence last_aside() const { return {aside.empty() ? 0 : aside.ranges().rbegin()->second}; }
  [[nodiscard]] const Sums* rewritten(Sequence sequence) const {
    const auto found = kept.find(sequence.value);
    return found == kept.end() ? nullptr : &found->second;
  }
  /// Returns the last one in the tail of a kept checkpoint, or that checkpoint itself if it has none.
  [[nodiscard]] Sequence tail_end(Sequence base) const {
    const auto found = tails.find(base.value);
    return found == tails.end() ? base : Sequence{found->second};
  }
  /// Returns whether nothing of it is stored any more. A dropped checkpoint may still be in its group or in a tail.
  [[nodiscard]] bool is_gone(Sequence sequence) const;
  /// Returns the first one from `sequence` on that was not dropped.
  [[nodiscard]] Sequence next_there(Sequence sequence) const { return {dropped.next_missing(sequence.value)}; }
  /// Returns the last one up to `sequence` that was not dropped, or 0.
  [[nodiscard]] Sequence last_there(Sequence sequence) const;
};

[[nodiscard]] std::string encode_pruned(const PrunedList& list, std::uint32_t seed);
/// Fails with store_damaged, or unsupported_version.
[[nodiscard]] Result<PrunedList> decode_pruned(std::string_view text, std::uint32_t seed);

/// The answer to the caller ID of a save that was pruned. Of `info` only sequence, id, kind, checksum and caller ID are
/// set.
struct PrunedCaller {
  std::uint64_t number = 0;  // number of its line, counted from 1
  CheckpointInfo info;
  std::string fingerprint;
};
[[nodiscard]] std::string encode_pruned_caller(const PrunedCaller& caller, std::uint32_t seed);
[[nodiscard]] Result<PrunedCaller> decode_pruned_caller(std::string_view line, std::uint32_t seed);

}  // namespace pawl
