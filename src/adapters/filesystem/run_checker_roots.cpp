// RunChecker: merkle_roots.json against the audit trail, and the trail of an erased run.
#include <algorithm>
#include <limits>

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/run_checker.hpp"
#include "domain/event_types.hpp"

namespace pawl {

Result<void> RunChecker::read_roots() {
  PAWL_TRY_ASSIGN(const auto text, read_if_there(files_, layout::roots(run_)));
  if (!text) return {};
  ++report_.files;
  roots_ = parse_roots(*text, seed_);
  return {};
}

void RunChecker::check_root(std::string_view line) {
  if (!add_entry(trail_, fmt::format("{}\n", line)) || !roots_ || next_root_ == roots_->roots.size()) return;
  const SettledRoot& root = roots_->roots[next_root_];
  if (root.tree.size() != trail_.tree.size()) return;
  ++next_root_;
  if (different_root_ == 0 && root != trail_) different_root_ = root.tree.size();
}

/// A missing or damaged file can be written again from the audit trail. A valid root that the trail contradicts proves
/// that the trail changed.
void RunChecker::check_roots() {
  const std::string path = layout::roots(run_);
  // If the erasure already found the damage, nothing more can be done about it.
  const bool known = erased_ && erased_->damaged_entry != 0;
  const auto damage = [&](std::string what) {
    if (known)
      what += fmt::format("; it was already damaged at entry {} when the run was erased", erased_->damaged_entry);
    add(known ? Finding::Severity::note : Finding::Severity::damage, Code::audit_damaged, path, {}, std::move(what));
  };
  const auto mendable = [&](std::string what) {
    add(Finding::Severity::mendable, Code::audit_damaged, path, {}, std::move(what));
  };
  const std::uint64_t entries = trail_.tree.size();
  const std::uint64_t size = !roots_ || roots_->roots.empty() ? 0 : roots_->roots.back().tree.size();
  const std::uint64_t in_journal = records_ == nullptr ? 0 : records_->first_unpublished;
  const bool unfinished = in_journal != 0 && in_journal <= size + 1;
  std::uint64_t settled = in_journal == 0 ? entries : std::min(entries, in_journal - 1);
  if (last_audited_ == event_type::kErased) --settled;  // no root covers the erasure
  // Older versions wrote no roots. Their trails don't start with this entry.
  if (first_audited_ != event_type::kRunCreated) settled = 0;
  if (different_root_ != 0) {
    damage(fmt::format("the Merkle root over {} entries does not match the audit trail", different_root_));
  } else if (size > entries) {
    damage(fmt::format("the audit trail ends at entry {}, but the roots cover {}", entries, size));
  } else if (!roots_ && settled > 0) {
    mendable("the file is missing");
  } else if (roots_ && !roots_->fault.empty() && unfinished) {
    add(Finding::Severity::note, Code::checksum_mismatch, path, {}, "a crash truncated the file; it will be rewritten");
  } else if (roots_ && !roots_->fault.empty()) {
    mendable(roots_->fault);
  } else if (size < settled) {
    mendable(fmt::format("the roots cover only {} of {} settled entries", size, settled));
  }
}

/// Reports a damaged entry. If the erasure already found the damage, nothing more can be done about it.
Result<void> RunChecker::check_erased_trail(File& trail, std::uint64_t entry, const Error& bad) {
  const bool known = erased_->damaged_entry == entry;
  add(known ? Finding::Severity::note : Finding::Severity::damage, bad.code, bad.where, {},
      known ? fmt::format("entry {} was already damaged when the run was erased", entry) : bad.message);
  PAWL_TRY_ASSIGN(const auto last, last_line_below(trail, std::numeric_limits<std::uint64_t>::max()));
  const auto decoded = last ? decode_audit(last->text) : fail(Code::chain_broken, "it is missing");
  last_audited_ = decoded ? decoded->type : std::string();
  return {};
}

}  // namespace pawl
