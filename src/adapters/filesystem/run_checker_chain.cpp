// RunChecker: missing checkpoints, and those that depend on a damaged one.
#include <algorithm>

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/run_checker.hpp"

namespace pawl {
namespace {

constexpr std::size_t kAffectedMax = 100'000;  // a group has fewer checkpoints; `last` may come from a damaged file

}  // namespace

/// Reports the checkpoints from `first` up to `end` (exclusive) that were not dropped, one finding for each stretch.
void RunChecker::add_missing(std::uint64_t first, std::uint64_t end) {
  while ((first = pruned_.next_there({first}).value) < end) {
    const auto dropped = pruned_.dropped.ranges().upper_bound(first);
    const std::uint64_t stop = dropped == pruned_.dropped.ranges().end() ? end : std::min(end, dropped->first);
    add(Finding::Severity::damage, Code::chain_broken, layout::checkpoints(run_), Sequence{first},
        stop == first + 1 ? std::string("the checkpoint is missing")
                          : fmt::format("checkpoints {} to {} are missing", first, stop - 1));
    missing_.add(first, stop - 1);
    first = stop;
  }
}

/// Returns the last checkpoint in the audit trail's file, or 0.
Result<Sequence> RunChecker::last_audited() {
  const auto file = files_.open(layout::audit(run_), OpenMode::read);
  if (!file) return Sequence();
  PAWL_TRY_ASSIGN(const auto line, last_line_below(**file, kHighest));
  const auto entry = line ? decode_audit(line->text) : fail(Code::checksum_mismatch, "it is missing");
  return entry ? entry->sequence : Sequence();
}

/// Reports the damaged checkpoint, and with it those up to `end` that can't be read without it.
void RunChecker::add_damaged(const Chain& chain, Sequence end) {
  const bool in_journal = records_ != nullptr && !records_->checkpoints.empty();
  const std::uint64_t newest = std::max(stray_above_.value, in_journal ? records_->checkpoints.rbegin()->first : 0);
  const std::uint64_t last = std::min(end.value, newest);
  std::vector<Sequence> affected;
  sums_.put(chain.damaged.value, {});
  for (std::uint64_t next = chain.damaged.value + 1;
       affected.size() < kAffectedMax && (next = pruned_.next_there({next}).value) <= last; ++next) {
    sums_.put(next, {});
    affected.push_back({next});
  }
  std::string what = chain.damage->message;
  if (affected.size() == 1) {
    what += fmt::format("; checkpoint {} depends on it and can't be read", affected.front().value);
  } else if (!affected.empty()) {
    what += fmt::format("; checkpoints {} to {} depend on it and can't be read", affected.front().value,
                        affected.back().value);
  }
  add(Finding::Severity::damage, chain.damage->code,
      chain.damaged == chain.base ? whole_path(source(), chain.base) : lines_path(source(), chain.base), chain.damaged,
      std::move(what));
  report_.findings.back().affected = std::move(affected);
}

}  // namespace pawl
