#include "adapters/filesystem/copied_groups.hpp"

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/pruned_file.hpp"

namespace pawl {
namespace {

class UncopiedGroups {
 public:
  UncopiedGroups(FileSystem& files, const std::string& run, Sequence fork_at, PrunedList& list)
      : files_(files), run_(run), fork_at_(fork_at), list_(list) {}

  /// Kept checkpoints whose files are missing.
  Result<void> find_missing_kept() {
    const auto kept = list_.kept;
    for (const auto& [number, sums] : kept) {
      const Sequence sequence{number};
      const Sequence end = list_.tail_end(sequence);
      PAWL_TRY_ASSIGN(const bool there, files_.exists(layout::kept(run_, sequence)));
      PAWL_TRY_ASSIGN(const bool tail, files_.exists(layout::kept_differences(run_, sequence)));
      if (there && (tail || end == sequence)) continue;
      if (!there) list_.kept.erase(number);
      list_.tails.erase(number);
      drop(there ? sequence.next() : sequence, end);
    }
    return {};
  }

  /// Checkpoints between those that are there.
  Result<void> find_gaps(const RunRecords* records) {
    IndexRanges there = list_.closed;
    for (const auto& [first, last] : list_.dropped.ranges()) {
      there.add(first, last);
    }
    if (records != nullptr) {
      for (const auto& [number, found] : records->checkpoints) there.add(number);
    }
    PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::checkpoints(run_)));
    for (const FolderEntry& entry : entries) {
      const auto base = base_in_file_name(entry.name);
      const auto borrowed = sequence_in_file_name(entry.name, "checkpoint_", ".jsonl");
      if (base) PAWL_TRY(add_group(*base, *base, there));
      if (borrowed && borrowed == fork_at_) PAWL_TRY(add_group(*borrowed, borrowed->next(), there));
    }
    if (there.empty()) return {};
    const std::uint64_t highest = there.ranges().rbegin()->second;
    for (std::uint64_t first = there.next_missing(fork_at_.value + 1); first < highest;) {
      const std::uint64_t last = there.ranges().upper_bound(first)->first - 1;
      drop({first}, {last});
      list_.closed.add(first, last);
      first = there.next_missing(last + 1);
    }
    return {};
  }

  [[nodiscard]] const IndexRanges& dropped() const { return dropped_; }

 private:
  Result<void> add_group(Sequence base, Sequence first, IndexRanges& there) {
    Sequence last = base;
    const auto lines = files_.open(layout::differences(run_, base), OpenMode::read);
    if (!lines && lines.error().code != Code::input_unreadable) return std::unexpected(lines.error());
    if (lines) {
      PAWL_TRY_ASSIGN(const auto line, last_line_below(**lines, kHighest));
      if (line) last = std::max(last, Sequence{line->number});
    }
    there.add(first.value, last.value);
    return {};
  }

  void drop(Sequence first, Sequence last) {
    for (std::uint64_t next = list_.dropped.next_missing(first.value); next <= last.value;) {
      const auto after = list_.dropped.ranges().upper_bound(next);
      const bool is_last = after == list_.dropped.ranges().end() || after->first > last.value;
      const std::uint64_t end = is_last ? last.value : after->first - 1;
      dropped_.add(next, end);
      next = list_.dropped.next_missing(end + 1);
    }
    list_.dropped.add(first.value, last.value);
  }

  FileSystem& files_;
  const std::string& run_;
  const Sequence fork_at_;
  PrunedList& list_;
  IndexRanges dropped_;
};

}  // namespace

Result<IndexRanges> drop_uncopied(FileSystem& files, const std::string& run, std::uint32_t seed, Sequence fork_at,
                                  const RunRecords* records) {
  PAWL_TRY_ASSIGN(PrunedList list, load_pruned(files, run, seed));
  UncopiedGroups groups(files, run, fork_at, list);
  PAWL_TRY(groups.find_missing_kept());
  PAWL_TRY(groups.find_gaps(records));
  const std::uint64_t listed = list.callers;
  PAWL_TRY_ASSIGN(list.callers, count_copied_callers(files, run, list, seed));
  if (groups.dropped().empty() && list.callers == listed) return IndexRanges();
  PAWL_TRY(replace_pruned(files, run, list, seed));
  return groups.dropped();
}

}  // namespace pawl
