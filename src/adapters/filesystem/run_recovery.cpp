// RunReader and FilesystemStore: the trustworthy part of a damaged run.
#include <algorithm>
#include <limits>

#include "adapters/filesystem/failure_log.hpp"
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/run_rebuilder.hpp"

namespace pawl {
namespace {

/// Returns each base with the highest number that may follow it, up to `highest`.
std::vector<GroupRange> group_ranges(const std::vector<Sequence>& bases, Sequence highest, Sequence up_to) {
  std::vector<GroupRange> ranges;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    if (up_to && bases[i] > up_to) break;
    const Sequence end{i + 1 < bases.size() ? bases[i + 1].value - 1 : std::max(highest, bases[i]).value};
    ranges.push_back({bases[i], end});
  }
  return ranges;
}

void add_damage(Recovered& recovered, const std::vector<FoundDamage>& found) {
  for (auto damage = found.rbegin(); damage != found.rend(); ++damage) recovered.damage.push_back(damage->error);
}

std::uint64_t count_lines(std::string_view text) {
  std::uint64_t lines = 0;
  for_each_line(text, [&](std::string_view, bool) { return ++lines > 0; });
  return lines;
}

}  // namespace

/// File names show which checkpoints existed, whatever the files contain. A file of differences has one line per
/// number.
Result<Sequence> RunReader::highest_in_names() {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::checkpoints(run_)));
  Sequence highest;
  Sequence last_lines;
  PAWL_TRY_ASSIGN(const auto known, bases());
  PAWL_TRY_ASSIGN(const Sequence audited, last_audited());
  for (const FolderEntry& entry : entries) {
    if (entry.is_folder) continue;
    for (const std::string_view suffix : {".json", ".jsonl"}) {
      const auto base = sequence_in_file_name(entry.name, "checkpoint_", suffix);
      if (!base) continue;
      const bool stray = audited && *base > audited && (known.empty() || *base > known.back());
      if (stray) continue;
      highest = std::max(highest, *base);
      if (suffix == ".jsonl") last_lines = std::max(last_lines, *base);
    }
    if (const auto kept = sequence_in_file_name(entry.name, "kept_", ".json")) highest = std::max(highest, *kept);
    if (const auto tail = sequence_in_file_name(entry.name, "kept_", ".jsonl")) highest = std::max(highest, *tail);
  }
  if (!last_lines) return highest;
  PAWL_TRY_ASSIGN(const std::string text, files_.read_file(layout::differences(run_, last_lines)));
  return std::max(highest, Sequence{last_lines.value + count_lines(text)});
}

Result<Sequence> RunReader::highest_in_events() {
  Sequence highest;
  PAWL_TRY_ASSIGN(const std::uint32_t run_seed, seed());
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::events_folder(run_)));
  std::string newest;
  for (const FolderEntry& entry : entries) {
    if (is_event_file(entry)) newest = std::max(newest, entry.name);
  }
  if (!newest.empty()) {
    PAWL_TRY_ASSIGN(const auto file, files_.open(join_path(layout::events_folder(run_), newest), OpenMode::read));
    PAWL_TRY_ASSIGN(const auto line, last_line_below(*file, kHighest));
    const auto event = line ? decode_event(line->text, run_seed) : fail(Code::checksum_mismatch, "it is missing");
    if (event) highest = event->event.sequence;
  }
  if (records_ != nullptr && !records_->events.empty())
    highest = std::max(highest, records_->events.rbegin()->second.sequence);
  return highest;
}

Result<Sequence> RunReader::highest() {
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  PAWL_TRY_ASSIGN(const Sequence named, highest_in_names());
  PAWL_TRY_ASSIGN(const Sequence in_events, highest_in_events());
  PAWL_TRY_ASSIGN(const Sequence audited, last_audited());
  Sequence highest = std::max({named, in_events, audited, list->last_aside()});
  if (records_ == nullptr) return highest;
  if (!records_->checkpoints.empty()) highest = std::max(highest, Sequence{records_->checkpoints.rbegin()->first});
  if (!records_->audit.empty()) highest = std::max(highest, records_->audit.rbegin()->second.sequence);
  return highest;
}

Result<Recovered> RunReader::recover(const RecoverScope& scope) {
  PAWL_TRY_ASSIGN(const RunRecord record, run_record());
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  PAWL_TRY_ASSIGN(const auto all, bases());
  Recovered recovered;
  PAWL_TRY_ASSIGN(recovered.highest, highest());
  // A damaged journal may have contained something newer than everything else.
  if (auto doubt = snapshot_->doubt(run_)) {
    const bool known = doubt->highest_lost != kUnknownSequence;
    if (!known || Sequence{doubt->highest_lost} > recovered.highest) recovered.damage.push_back(doubt->error);
    if (known) recovered.highest = std::max(recovered.highest, Sequence{doubt->highest_lost});
  }
  PAWL_TRY_ASSIGN(const Sequence fork, fork_at());
  Result<Restored> shared;
  if (fork) {
    const auto parent = origin();
    shared = parent ? (*parent)->restore({.by = Which::By::sequence, .sequence = fork})
                    : Result<Restored>(std::unexpected(parent.error()));
  }
  const RebuildSource source{{files_, run_, records_, *list, fork}, record, keys_, &shared};
  const std::vector<GroupRange> ranges = group_ranges(all, list->last_there(recovered.highest), scope.up_to);
  std::optional<Restored> newest;
  if (scope.extent == RecoverExtent::all) {
    PAWL_TRY_ASSIGN(auto groups, rebuild_groups(source, ranges, scope));
    for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
      recovered.rebuilt += group->rebuilt;
      add_damage(recovered, group->damage);
      if (!newest && group->newest) newest = std::move(group->newest);
    }
  } else {
    for (auto range = ranges.rbegin(); range != ranges.rend() && !newest; ++range) {
      PAWL_TRY_ASSIGN(RebuiltGroup group, rebuild_group(source, *range, scope));
      recovered.rebuilt += group.rebuilt;
      // Damage before the newest intact checkpoint does not affect it.
      if (group.newest)
        std::erase_if(group.damage,
                      [&](const FoundDamage& damage) { return damage.sequence < group.newest->info.sequence; });
      add_damage(recovered, group.damage);
      newest = std::move(group.newest);
    }
  }
  const Sequence first = list->next_there({std::max<std::uint64_t>(1, fork.value)});
  const Sequence before_all{all.empty() ? list->last_there(recovered.highest).value : all.front().value - 1};
  const bool begins_late =
      first <= before_all && (scope.extent == RecoverExtent::all || !newest) && (!scope.up_to || first <= scope.up_to);
  if (begins_late) {
    recovered.damage.push_back(
        Error{Code::chain_broken,
              fmt::format("checkpoints {} to {} of run '{}' are missing", first.value, before_all.value, run_),
              layout::checkpoints(run_),
              {},
              0,
              Advice::check_store,
              {.run = run_}});
  }
  if (newest) {
    recovered.checkpoint = std::move(*newest);
    return recovered;
  }
  if (recovered.damage.empty()) {
    return fail(Error{Code::checkpoint_not_found,
                      fmt::format("run '{}' has no checkpoint that early", run_),
                      {},
                      {},
                      0,
                      Advice::list_checkpoints,
                      {.run = run_}});
  }
  return fail(Error{Code::no_valid_checkpoint,
                    fmt::format("no checkpoint of run '{}' can be used: {}", run_, recovered.damage.front().message),
                    recovered.damage.front().where,
                    "restore the run's folder from a backup",
                    0,
                    Advice::check_store,
                    {.run = run_}});
}

Result<RunHead> RunReader::head_behind_damage(Sequence back_to, Timestamp now) {
  // No number may be used twice, so the highest one in a damaged batch must be known. A repair sets the batch aside.
  if (auto doubt = snapshot_->doubt(run_); doubt && doubt->highest_lost == kUnknownSequence)
    return std::unexpected(std::move(doubt->error));
  PAWL_TRY_ASSIGN(Recovered recovered, recover({}));
  const Sequence whole = recovered.checkpoint.info.sequence;
  if (recovered.damage.empty())
    return fail(Code::parent_conflict, "run '{}' has no damage after checkpoint {}", run_, whole.value);
  if (whole != back_to) {
    return fail(Code::parent_conflict, "the newest undamaged checkpoint of run '{}' is {}, but {} was expected", run_,
                whole.value, back_to.value);
  }
  RunHead head;
  PAWL_TRY_ASSIGN(head.run, run_record());
  PAWL_TRY_ASSIGN(head.base, base_of(whole));
  head.state = std::move(recovered.checkpoint.state);
  head.latest = std::move(recovered.checkpoint.info);
  PAWL_TRY(audit_head(head));
  PAWL_TRY(event_head(head));
  head.latest.sequence = recovered.highest;
  head.latest.created = std::max(head.latest.created, head.audited_at);
  head.to_set_aside = AsideEntry{.at = now,
                                 .from = whole.next(),
                                 .to = recovered.highest,
                                 .back_to = whole,
                                 .why = recovered.damage.back().message};
  return head;
}

/// While a writer is active, apparent damage may be a write in progress, so it is checked again.
Result<Recovered> FilesystemStore::recover(const RunId& run, const RecoverScope& scope) {
  std::optional<Recovered> damaged;
  auto sound = read_consistently(run.text(), [&](auto snapshot) -> Result<Recovered> {
    damaged.reset();
    auto recovered = RunReader(files_, keys_, run.text(), std::move(snapshot)).recover(scope);
    if (!recovered || recovered->damage.empty()) return recovered;
    damaged = std::move(*recovered);
    return std::unexpected(damaged->damage.front());
  });
  if (damaged) return std::move(*damaged);
  return sound;
}

Result<void> FilesystemStore::log_failure(const RecoveryFailure& failure) {
  Finding finding;
  finding.code = failure.code;
  finding.run = failure.run;
  finding.file = failure.file;
  finding.what = failure.what;
  return pawl::log_failure(files_, environment_, finding);
}

}  // namespace pawl
