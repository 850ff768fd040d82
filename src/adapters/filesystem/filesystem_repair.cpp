// FilesystemStore: setting aside damaged batches of a journal.
//
// The order matters, because a crash may interrupt the repair anywhere. First everything that is lost is copied to
// recovery/. Then the readable records are published and synced, and each run that lost checkpoints gets a list of
// them, so that their numbers are not used again. Only then is the journal emptied. Until then the next repair finds
// the same damage and does the same again.
#include <algorithm>

#include "adapters/filesystem/failure_log.hpp"
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "base/confined.hpp"
#include "base/hash.hpp"

namespace pawl {
namespace {

using Severity = Finding::Severity;

/// The names of the runs that have readable records in a journal.
Result<std::set<std::string>> runs_in_journal(const JournalView& journal) {
  std::set<std::string> runs;
  for (const auto* segments : {&journal.wrecks, &journal.segments}) {
    for (const auto& segment : *segments) {
      for (const auto* batches : {&segment->scan.batches, &segment->scan.after}) {
        for (const Batch& batch : *batches) {
          PAWL_TRY_ASSIGN(const auto records, decode_records(batch));
          for (const JournalRecord& record : records) runs.emplace(record.run);
        }
      }
    }
  }
  for (const LostBatches& lost : journal.lost) {
    for (const JournalRecord& record : lost.intact) runs.emplace(record.run);
  }
  return runs;
}

std::uint64_t highest_in(const RunBatch& batch) {
  std::uint64_t highest = 0;
  for (const auto* records : {&batch.checkpoints, &batch.events, &batch.audit}) {
    for (const JournalRecord& record : *records) highest = std::max(highest, record.sequence.value);
  }
  return highest;
}

/// The last entry of a run's audit trail in its file.
struct FileEnd {
  std::uint64_t number = 0;    // 0: there is none
  std::uint64_t sequence = 0;  // of its checkpoint; everything up to it is in files
};

Result<FileEnd> end_of_trail(FileSystem& files, const std::string& run) {
  const auto trail = files.open(layout::audit(run), OpenMode::read);
  if (!trail && trail.error().code == Code::input_unreadable) return FileEnd();
  if (!trail) return std::unexpected(trail.error());
  PAWL_TRY_ASSIGN(const auto line, last_line_below(**trail, kHighest));
  if (!line) return FileEnd();
  const auto entry = decode_audit(line->text);
  return FileEnd{line->number, entry ? entry->sequence.value : 0};
}

/// Copies what can't be read to recovery/ and returns the name of the copy.
Result<std::string> keep_lost(FileSystem& files, const JournalView& journal, const LostBatches& lost) {
  if (lost.slot == 0) return std::string();
  PAWL_TRY_ASSIGN(const std::string bytes, files.read_file(layout::segment(journal.number, lost.slot)));
  std::string_view kept(bytes);
  kept = kept.substr(0, kept.find_last_not_of('\0') + 1);
  const std::string name =
      fmt::format("recovery/journal-{}-{:08}-{}.bin", journal.number, lost.slot, to_hex(crc32c(kept)));
  PAWL_TRY(set_aside(files, name, kept));
  return name;
}

/// Empties a segment: nothing in it has the new generation. The old header stays in force until the new one is written.
Result<void> empty_segment(FileSystem& files, std::uint64_t journal, const SegmentView& segment,
                           const SegmentHeader& header, bool has_header) {
  PAWL_TRY_ASSIGN(const auto file, files.open(layout::segment(journal, segment.slot), OpenMode::write));
  constexpr std::uint64_t kSecond = kSegmentHeaderBytes / 2;
  const std::uint64_t place = has_header ? kSecond - segment.header_offset : 0;
  PAWL_TRY_ASSIGN(const std::uint64_t size, file->size());
  if (size < kSegmentHeaderBytes) PAWL_TRY(file->resize(kSegmentHeaderBytes));
  PAWL_TRY(file->write_at(place, encode_segment_header(header)));
  PAWL_TRY(file->sync(SyncPoint::segment_recycled));
  PAWL_TRY(file->write_at(kSecond - place, std::string(kSegmentHeaderUsed, '\0')));
  return file->sync(SyncPoint::segment_recycled);
}

}  // namespace

/// Publishes the records of a run that connect to its files. Returns the highest checkpoint that any record mentions.
Result<std::uint64_t> FilesystemStore::publish_connected(const std::string& run,
                                                         const std::shared_ptr<JournalSnapshot>& snapshot) {
  const RunRecords* const records = snapshot->find(run);
  if (records == nullptr) return 0;
  const auto described = RunReader(files_, keys_, run, snapshot).run_record();
  if (!described && is_machine_failure(described.error().code)) return std::unexpected(described.error());
  RunBatch batch = whole_batch(*records);
  const std::uint64_t highest = highest_in(batch);
  if (!described) return highest;
  for (auto* const of_type : {&batch.checkpoints, &batch.events, &batch.audit})
    std::erase_if(*of_type, [&](const JournalRecord& record) { return record.run_uuid != described->uuid; });
  const auto nothing = std::make_shared<JournalSnapshot>();
  PAWL_TRY_ASSIGN(const FileEnd end, end_of_trail(files_, run));
  std::uint64_t events = 0;
  if (const auto found = RunReader(files_, keys_, run, nothing).published_events()) events = *found;
  batch.audit.erase(first_unconnected(batch.audit, end.number), batch.audit.end());
  batch.events.erase(first_unconnected(batch.events, events), batch.events.end());
  // A save of which something is missing does not count, nor does anything after it. Of its records, only the audit
  // entries are published, if they are all there with their events.
  std::uint64_t complete = end.sequence;
  for (const JournalRecord& record : batch.audit) complete = std::max(complete, record.sequence.value);
  for (const JournalView& journal : snapshot->journals()) {
    for (const LostBatches& lost : journal.lost) {
      if (lost.nothing_lost) continue;
      complete = std::min(complete, lost.first_unreadable(run, end.sequence) - 1);
      const std::uint64_t unrecorded = lost.first_unrecorded(run, end.sequence);
      for (auto* const of_type : {&batch.events, &batch.audit})
        std::erase_if(*of_type, [&](const JournalRecord& record) { return record.sequence.value >= unrecorded; });
    }
  }
  std::uint64_t next = std::max(end.sequence, described->fork_of_sequence.value) + 1;
  const auto follows = [&](std::uint64_t sequence) {
    if (sequence <= next) return true;
    RunReader reader(files_, keys_, run, nothing);
    const auto pruned = reader.pruned();
    return (pruned && (*pruned)->is_aside({sequence - 1})) ||
           reader.info({.by = Which::By::sequence, .sequence = {sequence - 1}});
  };
  const auto lost = std::ranges::find_if(batch.checkpoints, [&](const JournalRecord& record) {
    const bool gap = record.sequence.value > complete || !follows(record.sequence.value);
    next = std::max(next, record.sequence.value + 1);
    return gap;
  });
  batch.checkpoints.erase(lost, batch.checkpoints.end());
  const Lock lock(publish_mutex_);
  auto published = publisher_.publish(run, batch, Publish::settled);
  if (!published && is_confined(published.error())) {
    // Its files end before the first of these checkpoints, which nothing connects to them.
    batch.checkpoints.clear();
    published = publisher_.publish(run, batch, Publish::settled);
  }
  if (!published && !is_confined(published.error())) return std::unexpected(published.error());
  return highest;
}

/// Lists the checkpoints that the run lost, so that its next save gets a number that was never used.
Result<std::optional<Finding>> FilesystemStore::list_lost(const std::string& run, std::uint64_t highest,
                                                          const LostBatches& lost, const std::string& kept,
                                                          std::map<std::string, Restored>& complete) {
  const auto nothing = std::make_shared<JournalSnapshot>();
  RunReader reader(files_, keys_, run, nothing);
  Finding finding{Severity::mended, Code::records_lost, lost.file, run, {}, {}, {}, Advice::none};
  const std::string where = kept.empty() ? std::string() : fmt::format("; the damaged bytes are in {}", kept);
  const auto described = reader.run_record();
  if (!described && !is_confined(described.error()) && described.error().code != Code::run_not_found)
    return std::unexpected(described.error());
  if (!described && lost.runs.find(run) == lost.runs.end()) return std::optional<Finding>();
  if (!described) {
    finding.what = fmt::format("all of run '{}' was in the damaged batch and is lost{}", run, where);
    return std::optional(std::move(finding));
  }
  auto found = reader.recover({});
  if (!found && is_confined(found.error())) {
    finding.what =
        fmt::format("no checkpoint of run '{}' can be read any more: {}{}", run, found.error().message, where);
    return std::optional(std::move(finding));
  }
  PAWL_TRY_ASSIGN(Recovered recovered, std::move(found));
  const std::uint64_t newest = recovered.checkpoint.info.sequence.value;
  const std::uint64_t seen = std::max(highest, recovered.highest.value);
  const auto known = lost.highest_lost(run);
  const std::uint64_t last =
      known && *known == kUnknownSequence ? seen + lost.saves_max : std::max(seen, known.value_or(0));
  if (last <= newest) return std::optional<Finding>();
  PAWL_TRY_ASSIGN(const PrunedList* const list, reader.pruned());
  if (list->is_aside({last})) return std::optional<Finding>();  // an earlier repair was interrupted
  const AsideEntry entry{.at = environment_.clock->now(),
                         .from = {newest + 1},
                         .to = {last},
                         .back_to = {newest},
                         .why = lost.error.message};
  PAWL_TRY(add_aside(files_, run, entry, seal_seed(described->uuid)));
  complete.try_emplace(run, std::move(recovered.checkpoint));
  finding.sequence = {newest + 1};
  finding.what =
      known && *known == kUnknownSequence
          ? fmt::format("checkpoints after {} may be lost; the run continues from {}, and its next number is {}{}",
                        newest, newest, last + 1, where)
          : fmt::format("{} lost; the run continues from checkpoint {}{}",
                        last == newest + 1 ? fmt::format("checkpoint {} is", last)
                                           : fmt::format("checkpoints {} to {} are", newest + 1, last),
                        newest, where);
  return std::optional(std::move(finding));
}

/// Returns the newest state of a run that can be read although an older checkpoint is lost.
std::optional<Restored> FilesystemStore::newest_complete(const std::string& run,
                                                         const std::shared_ptr<JournalSnapshot>& snapshot) {
  auto restored = RunReader(files_, keys_, run, snapshot).restore({});
  return restored ? std::optional(std::move(*restored)) : std::nullopt;
}

Result<void> FilesystemStore::repair_journal(std::uint64_t number, std::vector<Finding>& findings,
                                             std::map<std::string, Restored>& complete) {
  PAWL_TRY_ASSIGN(const auto owner, files_.open(layout::journal_owner(number), OpenMode::create));
  PAWL_TRY_ASSIGN(const bool locked, owner->try_lock(layout::kWriterByte));
  if (!locked) return {};  // its writer is alive; the finding says so
  PAWL_TRY_ASSIGN(const auto snapshot, JournalSnapshot::take(files_, environment_.owner.boot_id));
  const auto journal = std::ranges::find(snapshot->journals(), number, &JournalView::number);
  if (journal == snapshot->journals().end() || !journal->damage) return {};
  if (journal->damage->code == Code::unsupported_version) return {};
  std::vector<std::string> kept;
  std::map<std::string, Restored> newest;
  for (const LostBatches& lost : journal->lost) {
    PAWL_TRY_ASSIGN(kept.emplace_back(), keep_lost(files_, *journal, lost));
  }
  PAWL_TRY_ASSIGN(std::set<std::string> runs, runs_in_journal(*journal));
  std::set<std::string> affected;
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
  for (const FolderEntry& entry : entries) {
    if (entry.is_folder && RunId::parse(entry.name) && snapshot->doubt(entry.name)) affected.insert(entry.name);
  }
  for (const LostBatches& lost : journal->lost) {
    for (const auto& [run, sequence] : lost.runs) affected.insert(run);
  }
  // Of an erased run, only what its files say counts.
  for (auto run = affected.begin(); run != affected.end();) {
    PAWL_TRY_ASSIGN(const bool erased, files_.exists(layout::erased(*run)));
    run = erased ? affected.erase(run) : std::next(run);
  }
  for (const std::string& run : affected) {
    if (!snapshot->doubt(run)) continue;
    if (auto state = newest_complete(run, snapshot)) newest.insert_or_assign(run, std::move(*state));
  }
  std::map<std::string, std::uint64_t> highest;
  for (const std::string& run : runs) {
    PAWL_TRY_ASSIGN(highest[run], publish_connected(run, snapshot));
  }
  {
    const Lock lock(publish_mutex_);
    PAWL_TRY(publisher_.sync());
  }
  // Records that can't be read may be in files that their writer did not sync.
  if (!journal->lost.empty()) PAWL_TRY(files_.sync_all(SyncPoint::published_all));
  for (const std::string& run : affected) {
    for (std::size_t i = 0; i < journal->lost.size(); ++i) {
      if (!journal->lost[i].highest_lost(run)) continue;
      PAWL_TRY_ASSIGN(auto finding, list_lost(run, highest[run], journal->lost[i], kept[i], complete));
      if (!finding) continue;
      if (auto state = newest.extract(run)) complete.insert_or_assign(run, std::move(state.mapped()));
      PAWL_TRY(pawl::log_failure(files_, environment_, *finding));
      findings.push_back(std::move(*finding));
    }
  }
  // The files have what the damaged batches lost, but the catalogue may not.
  if (!journal->lost.empty()) PAWL_TRY(rebuild_catalogue());
  return empty_journal(*journal, *owner);
}

Result<void> FilesystemStore::empty_journal(const JournalView& journal, File& owner) {
  std::uint64_t last = journal.last_batch;
  std::uint64_t position = 0;
  for (const auto& segment : journal.segments) {
    last = std::max(last, segment->header.settled_through);
    position = std::max(position, segment->header.position);
  }
  for (const LostBatches& lost : journal.lost) last = std::max(last, lost.last);
  for (const auto* segments : {&journal.segments, &journal.wrecks}) {
    for (const auto& segment : *segments) {
      const SegmentHeader header{store_id_, journal.number, ++position, environment_.random->next() | 1U, last};
      PAWL_TRY(empty_segment(files_, journal.number, *segment, header, segments == &journal.segments));
    }
  }
  // The marks speak of batches that no longer exist.
  return owner.write_at(kWatermarkOffset, std::string(2 * kWatermarkBytes, '\0'));
}

/// Finds the runs whose list of lost checkpoints was written by a repair that was interrupted before it saved them
/// again.
Result<void> FilesystemStore::find_unrecorded(std::vector<Finding>& findings,
                                              std::map<std::string, Restored>& complete) {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
  for (const FolderEntry& entry : entries) {
    if (!entry.is_folder || !RunId::parse(entry.name) || complete.contains(entry.name)) continue;
    const auto listed = files_.exists(layout::aside(entry.name));
    if (!listed && !is_confined(listed.error())) return std::unexpected(listed.error());
    if (!listed || !*listed) continue;
    RunReader reader(files_, keys_, entry.name, std::make_shared<JournalSnapshot>());
    const auto pruned = reader.pruned();
    auto restored = pruned ? reader.restore({}) : std::unexpected(pruned.error());
    if (!restored && is_confined(restored.error())) continue;  // it has a finding of its own
    if (!restored) return std::unexpected(restored.error());
    const Sequence newest = restored->info.sequence;
    const Sequence last = (*pruned)->last_aside();
    if (last <= newest) continue;
    findings.push_back({Severity::mended,
                        Code::records_lost,
                        layout::aside(entry.name),
                        entry.name,
                        newest.next(),
                        fmt::format("checkpoints {} to {} are lost, as an interrupted repair found out; the run "
                                    "continues from checkpoint {}",
                                    newest.value + 1, last.value, newest.value),
                        {},
                        Advice::none});
    complete.try_emplace(entry.name, std::move(*restored));
  }
  return {};
}

/// Saves the newest complete state of each run that lost something again, as its next checkpoint. With it, the audit
/// trail records the loss.
Result<void> FilesystemStore::save_again(const std::map<std::string, Restored>& complete) {
  for (const auto& [run, restored] : complete) {
    PAWL_TRY_ASSIGN(const RunId id, RunId::parse(run));
    const auto opened = open_run(id, {});
    // Without the key of an encrypted run, its next writer does this.
    if (!opened && category(opened.error().code) != Category::storage) continue;
    if (!opened) return std::unexpected(opened.error());
    const auto& writer = *opened;
    SaveRequest request;
    request.body = restored.state;
    request.kind = restored.info.kind;
    request.status = restored.info.status;
    request.reason = restored.info.reason;
    request.name = restored.info.name;
    request.stage = restored.info.stage;
    request.step = restored.info.step;
    request.also = restored.info.also;
    request.metadata = restored.info.metadata;
    request.duplicates = Duplicates::write;
    PAWL_TRY(writer->save(request));
    PAWL_TRY(writer->flush());
  }
  return {};
}

}  // namespace pawl
