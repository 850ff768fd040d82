// RunReader: the last records of a run, and the saves with a caller's id.
#include "adapters/filesystem/run_reader.hpp"

#include <algorithm>
#include <limits>
#include <ranges>

#include "adapters/filesystem/erased_file.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/numbered_lines.hpp"
#include "adapters/filesystem/payload_reader.hpp"
#include "adapters/filesystem/pruned_file.hpp"
#include "base/hash.hpp"
#include "domain/save_rules.hpp"

namespace pawl {

Result<std::optional<RunHead>> RunReader::head() {
  auto record = run_record();
  if (!record && record.error().code == Code::run_not_found) return std::optional<RunHead>();
  if (!record) return std::unexpected(record.error());
  RunHead head;
  head.run = *record;
  PAWL_TRY_ASSIGN(const Sequence last, latest());
  PAWL_TRY_ASSIGN(head.base, base_of(last));
  PAWL_TRY_ASSIGN(const Chain links, chain(head.base, last));
  PAWL_TRY_ASSIGN(head.state, rebuild(links, last));
  PAWL_TRY_ASSIGN(RunCodec* const coder, codec());
  PAWL_TRY_ASSIGN(head.latest, coder->info(links.links.back().record));
  for (std::size_t i = 1; i < links.links.size(); ++i) head.differences_bytes += links.links[i].record.text.size() + 1;
  head.differences = links.links.size() - 1;
  if (links.borrowed) {
    PAWL_TRY_ASSIGN(head.differences_bytes, lent_bytes(last));
  }
  PAWL_TRY(audit_head(head));
  PAWL_TRY(event_head(head));
  PAWL_TRY(refuse_doubt());
  constexpr std::uint64_t kLookBytes = 16 << 10;
  PAWL_TRY_ASSIGN(const TrailEnd end, trail_end(kLookBytes));
  PAWL_TRY(refuse_short_trail(end, last));
  head.event_number = std::max(head.event_number, end.event);  // the number of a lost event is not used again
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  head.base_is_kept = list->rewritten(head.base) != nullptr || (links.borrowed && list->is_closed(head.base.next()));
  if (const Sequence aside = list->last_aside(); aside > last) {
    // A fallback was interrupted after it set the damage aside and before its first save.
    PAWL_TRY_ASSIGN(const std::string text, files_.read_file(layout::aside(run_)));
    head.latest.sequence = aside;
    head.latest.created = std::max(head.latest.created, head.audited_at);
    head.aside_sum = aside_sum(text);
  }
  return std::optional(std::move(head));
}

namespace {

Result<void> add_identified(const RecordView& record, RunReader::IdentifiedSaves& saves) {
  if (record.metadata.find("\"caller\":") == std::string_view::npos) return {};
  PAWL_TRY_ASSIGN(CheckpointInfo info, decode_info(record));
  if (!info.caller_id.empty()) saves.emplace_back(std::move(info), decode_fingerprint(record));
  return {};
}

}  // namespace

Result<RunReader::IdentifiedSaves> RunReader::saves_with_caller_id() {
  PAWL_TRY_ASSIGN(const auto all, bases());
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  IdentifiedSaves saves;
  for (const Sequence base : all) {
    PAWL_TRY_ASSIGN(const Chain links, chain(base, Sequence{kHighest}));
    for (const ChainLink& entry : links.links) {
      // Dropped checkpoints are in the file of pruned callers, with their original checksums.
      if (!list->is_dropped(entry.record.sequence)) PAWL_TRY(add_identified(entry.record, saves));
    }
  }
  for (auto& [info, fingerprint] : saves) {
    if (const PrunedList::Sums* sums = list->rewritten(info.sequence)) info.checksum = "sha256:" + sums->was;
  }
  PAWL_TRY_ASSIGN(const std::uint32_t run_seed, seed());
  PAWL_TRY_ASSIGN(auto callers, load_pruned_callers(files_, run_, *list, run_seed));
  for (PrunedCaller& caller : callers) saves.emplace_back(std::move(caller.info), std::move(caller.fingerprint));
  std::ranges::sort(saves, {}, [](const auto& save) { return save.first.sequence; });
  return saves;
}

Result<bool> RunReader::is_undone(Sequence saved) {
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  if (list->is_aside(saved)) return true;
  PAWL_TRY_ASSIGN(const std::uint64_t before, events_up_to(saved));
  PAWL_TRY_ASSIGN(const auto later, events(before, SIZE_MAX));
  return pawl::is_undone(saved, later);
}

Result<RunReader::IdentifiedSaves> RunReader::journal_saves_with_caller_id() {
  IdentifiedSaves saves;
  if (records_ == nullptr) return saves;
  for (const auto& [sequence, found] : records_->checkpoints) {
    PAWL_TRY_ASSIGN(const std::uint32_t run_seed, seed());
    PAWL_TRY_ASSIGN(const RecordView record, decode_checkpoint(without_newline(found.record.text), run_seed));
    PAWL_TRY(add_identified(record, saves));
  }
  return saves;
}

namespace {

/// Returns whether the journals contain every line from the last one in the file on.
bool is_unbroken(const std::map<std::uint64_t, JournalRecord>& records, std::uint64_t last_in_file) {
  std::uint64_t next = last_in_file + 1;
  for (auto found = records.upper_bound(last_in_file); found != records.end(); ++found, ++next) {
    if (found->first != next) return false;
  }
  return true;
}

Result<std::uint64_t> last_number_in(FileSystem& files, const std::string& path) {
  const auto file = files.open(path, OpenMode::read);
  if (!file) return file.error().code == Code::input_unreadable ? Result<std::uint64_t>(0) : fail(file.error());
  PAWL_TRY_ASSIGN(const auto line, last_line_below(**file, kHighest));
  return line ? line->number : 0;
}

}  // namespace

Result<std::uint64_t> RunReader::last_audited_event() {
  NumberedLines lines = NumberedLines::of_trail(files_, run_, records_ == nullptr ? nullptr : &records_->audit);
  std::uint64_t last = 0;
  while (true) {
    PAWL_TRY_ASSIGN(const auto line, lines.next());
    if (!line) return last;
    auto entry = decode_audit(line->text);
    if (!entry) return fail(at(entry.error(), std::string(line->file)));
    last = std::max(last, entry->event);
  }
}

namespace {

std::string combined_sum(std::string_view salt, const std::map<std::uint64_t, Sha256>& hashes) {
  std::string all;
  for (const auto& [number, hash] : hashes) all += bytes_of(hash);
  return "sha256:" + to_hex(sha256(salt, all));
}

}  // namespace

Result<RunReader::TrailEnd> RunReader::trail_end(std::uint64_t bytes) {
  TrailEnd end;
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  bool newest = true;  // of the journals, or of the file
  const auto look = [&](std::string_view line) {
    // Most entries say only that a checkpoint was saved, and of these only the newest counts.
    if (!newest && line.find("\"event") == std::string_view::npos) return;
    const auto entry = decode_audit(line);
    if (!entry) return;
    newest = false;
    end.checkpoint = std::max(end.checkpoint, entry->sequence);
    end.event = std::max(end.event, entry->event);
    const bool counts = !list->is_aside(entry->sequence);
    if (entry->events.empty() || !counts || entry->sequence <= end.events) return;
    end.events = entry->sequence;
    end.events_sum = entry->events;
  };
  if (records_ != nullptr) {
    for (const auto& [number, record] : records_->audit | std::views::reverse) look(without_newline(record.text));
  }
  if (const auto file = files_.open(layout::audit(run_), OpenMode::read)) {
    PAWL_TRY_ASSIGN(const std::uint64_t size, (*file)->size());
    const std::uint64_t from = size > bytes ? size - bytes : 0;
    PAWL_TRY_ASSIGN(const std::string text, (*file)->read_at(from, size - from));
    std::vector<std::string_view> lines;
    for_each_line(text, [&](std::string_view line, bool) {
      lines.push_back(line);
      return true;
    });
    if (from != 0 && !lines.empty()) lines.front() = {};  // it may begin before
    newest = true;
    for (const std::string_view line : lines | std::views::reverse) look(line);
  }
  return end;
}

Result<void> RunReader::refuse_short_trail(const TrailEnd& end, Sequence newest) {
  PAWL_TRY_ASSIGN(const Sequence shared, fork_at());
  if (newest <= shared || end.checkpoint >= newest) return {};
  return fail(Error{Code::chain_broken,
                    fmt::format("the audit trail of run '{}' ends at checkpoint {}, but the run has checkpoint {}",
                                run_, end.checkpoint.value, newest.value),
                    layout::audit(run_),
                    "restore the file from a backup; the checkpoints can be read without it",
                    0,
                    Advice::check_store,
                    {.run = run_}});
}

Result<void> RunReader::refuse_lost_events(const TrailEnd& end) {
  if (!end.events && end.event == 0) return {};
  PAWL_TRY_ASSIGN(const RunRecord record, run_record());
  PAWL_TRY_ASSIGN(const std::uint32_t run_seed, seed());
  std::uint64_t number = record.fork_events;
  Sequence last;
  std::map<std::uint64_t, Sha256> hashes;  // of the events of checkpoint end.events
  const auto look = [&](std::string_view line) {
    const auto event = decode_event(line, run_seed);
    if (!event) return;
    number = std::max(number, event->event.number);
    last = std::max(last, event->event.sequence);
    if (event->event.sequence == end.events) hashes.emplace(event->event.number, sha256(record.salt, line));
  };
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::events_folder(run_)));
  std::string newest;
  for (const FolderEntry& entry : entries) {
    if (is_event_file(entry)) newest = std::max(newest, entry.name);
  }
  bool is_whole = true;
  if (!newest.empty()) {
    const auto file = files_.open(join_path(layout::events_folder(run_), newest), OpenMode::read);
    if (!file) return std::unexpected(file.error());
    PAWL_TRY_ASSIGN(const std::uint64_t size, (*file)->size());
    const std::uint64_t from = size > kPieceBytes ? size - kPieceBytes : 0;
    PAWL_TRY_ASSIGN(const std::string text, (*file)->read_at(from, size - from));
    is_whole = from == 0;
    PAWL_TRY_ASSIGN(const auto last_line, last_line_below(**file, kHighest));
    if (last_line) look(last_line->text);  // it may be longer than the part that is looked at
    for_each_line(text, [&](std::string_view line, bool) {
      look(line);  // a part of a line has no valid checksum
      return true;
    });
  }
  if (records_ != nullptr) {
    for (const auto& [index, event] : records_->events) look(without_newline(event.text));
  }
  bool complete = last >= end.events && number >= end.event;
  // Several events are saved together. If the file is long, the first of them may not have been looked at.
  if (complete && is_whole && !hashes.empty()) complete = combined_sum(record.salt, hashes) == end.events_sum;
  if (complete) return {};
  return fail(Error{Code::chain_broken,
                    fmt::format("events of run '{}' are missing after event {}", run_, number),
                    layout::events_folder(run_),
                    "restore the files from a backup",
                    0,
                    Advice::check_store,
                    {.run = run_}});
}

Result<void> RunReader::check_last_events() {
  PAWL_TRY_ASSIGN(const TrailEnd end, trail_end(kPieceBytes));
  return refuse_lost_events(end);
}

Result<void> RunReader::refuse_doubt() {
  auto doubt = snapshot_->doubt(run_);
  if (!doubt) return {};
  PAWL_TRY(latest());
  PAWL_TRY_ASSIGN(const RunRecord record, run_record());
  PAWL_TRY_ASSIGN(const std::uint64_t entries_in_file, last_number_in(files_, layout::audit(run_)));
  PAWL_TRY_ASSIGN(const std::uint64_t events_in_file, last_published_event(record.fork_events));
  const RunRecords none;
  const RunRecords& journal = records_ == nullptr ? none : *records_;
  const bool unbroken = is_unbroken(journal.audit, entries_in_file) && is_unbroken(journal.events, events_in_file);
  if (!unbroken) return std::unexpected(std::move(doubt->error));
  // Numbers at the end can be missing without a gap.
  const std::uint64_t entries = std::max(entries_in_file, journal.audit.empty() ? 0 : journal.audit.rbegin()->first);
  const std::uint64_t events = std::max(events_in_file, journal.events.empty() ? 0 : journal.events.rbegin()->first);
  PAWL_TRY_ASSIGN(const std::uint64_t audited_event, last_audited_event());
  if (entries >= doubt->lost_entry && events >= std::max(doubt->lost_event, audited_event)) return {};
  return std::unexpected(std::move(doubt->error));
}

Result<void> RunReader::refuse_unknown_saves() {
  PAWL_TRY_ASSIGN(const Sequence newest, latest());
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  PAWL_TRY_ASSIGN(Sequence expected, fork_at());
  expected = list->next_there(expected.next());
  const auto missing = [&] {
    return fail(Error{Code::chain_broken,
                      fmt::format("checkpoint {} of run '{}' is missing", expected.value, run_),
                      layout::checkpoints(run_),
                      {},
                      0,
                      Advice::check_store,
                      {.run = run_}});
  };
  PAWL_TRY_ASSIGN(const auto all, bases());
  for (const Sequence base : all) {
    PAWL_TRY_ASSIGN(const Chain links, chain(base, {kHighest}));
    if (links.damage && !list->is_dropped(links.damaged)) return std::unexpected(*links.damage);
    for (const ChainLink& found : links.links) {
      if (found.record.sequence > expected) return missing();
      if (found.record.sequence == expected) expected = list->next_there(expected.next());
    }
  }
  return expected <= newest ? missing() : Result<void>();
}

/// Returns the last entry, from the file or a journal.
Result<void> RunReader::audit_head(RunHead& head) {
  std::string line;
  std::uint64_t number = 0;
  if (records_ != nullptr && !records_->audit.empty()) {
    number = records_->audit.rbegin()->first;
    line = without_newline(records_->audit.rbegin()->second.text);
  }
  if (const auto file = files_.open(layout::audit(run_), OpenMode::read)) {
    PAWL_TRY_ASSIGN(const auto found, last_line_below(**file, kHighest));
    if (found && found->number > number) line = found->text;
  }
  if (line.empty()) {
    return fail(Error{Code::chain_broken, fmt::format("the audit trail of run '{}' is missing", run_),
                      layout::audit(run_), "restore the file from a backup; the run can be read without it", 0});
  }
  auto entry = decode_audit(line);
  if (!entry) return fail(at(entry.error(), layout::audit(run_)));
  head.audited_at = entry->at;
  head.audit_index = entry->index;
  head.audit_hash = entry->hash;
  return {};
}

Timestamp RunReader::newest_known_time() {
  Timestamp newest;
  const auto look = [&](std::string_view line) {
    if (const auto entry = decode_audit(without_newline(line))) newest = std::max(newest, entry->at);
  };
  if (records_ != nullptr && !records_->audit.empty()) look(records_->audit.rbegin()->second.text);
  if (const auto file = files_.open(layout::audit(run_), OpenMode::read)) {
    const auto line = last_line_below(**file, kHighest);
    if (line && *line) look((*line)->text);
  }
  return newest;
}

Result<void> RunReader::event_head(RunHead& head) {
  PAWL_TRY_ASSIGN(head.event_number, last_published_event(head.run.fork_events));
  if (records_ != nullptr && !records_->events.empty())
    head.event_number = std::max(head.event_number, records_->events.rbegin()->first);
  return {};
}

Result<std::uint64_t> RunReader::published_events() {
  PAWL_TRY_ASSIGN(const RunRecord record, run_record());
  return last_published_event(record.fork_events);
}

/// Returns the number of the last event in the files, or `before` if there is none.
Result<std::uint64_t> RunReader::last_published_event(std::uint64_t before) {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::events_folder(run_)));
  std::string newest;
  for (const FolderEntry& entry : entries) {
    if (is_event_file(entry)) newest = std::max(newest, entry.name);
  }
  if (newest.empty()) return before;
  PAWL_TRY_ASSIGN(const std::uint64_t last, last_number_in(files_, join_path(layout::events_folder(run_), newest)));
  return std::max(before, last);
}

}  // namespace pawl
