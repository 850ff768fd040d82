#include "adapters/filesystem/run_reader.hpp"

#include <algorithm>
#include <limits>

#include "adapters/filesystem/erased_file.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/numbered_lines.hpp"
#include "adapters/filesystem/payload_reader.hpp"
#include "adapters/filesystem/pruned_file.hpp"
#include "base/confined.hpp"
#include "domain/erasure.hpp"
#include "domain/labels.hpp"

namespace pawl {
namespace {

std::string describe_which(const Which& which) {
  switch (which.by) {
    case Which::By::name: return fmt::format("with the name '{}'", which.label);
    case Which::By::stage: return fmt::format("of the stage '{}'", which.label);
    case Which::By::step: return fmt::format("of the step '{}'", which.label);
    case Which::By::uuid: return fmt::format("with the UUID {}", which.uuid.text());
    case Which::By::latest: return "at all";
    case Which::By::sequence: return std::to_string(which.sequence.value);
  }
  return {};
}

}  // namespace

Result<RunInfo> run_info(std::string_view run, const RunRecord& record, const CheckpointInfo& last) {
  PAWL_TRY_ASSIGN(RunId id, RunId::parse(run));
  return RunInfo{.id = std::move(id),
                 .uuid = record.uuid,
                 .created = record.created,
                 .updated = last.created,
                 .latest = last.sequence,
                 .status = last.status,
                 .kind = last.kind,
                 .durability = record.durability,
                 .workflow = record.workflow,
                 .workflow_hash = record.workflow_hash,
                 .session = record.session,
                 .fork_of_run = record.fork_of_run,
                 .fork_of_sequence = record.fork_of_sequence};
}

RunReader::RunReader(FileSystem& files, KeyRing& keys, std::string run, std::shared_ptr<const JournalSnapshot> snapshot)
    : files_(files),
      keys_(keys),
      run_(std::move(run)),
      snapshot_(std::move(snapshot)),
      records_(snapshot_->find(run_)) {}

/// A number above the last one, also in the audit trail, was never used. A missing one below was pruned or lost.
Error RunReader::not_found(Sequence sequence) {
  if (const auto list = pruned(); list && (*list)->is_aside(sequence)) {
    return Error{Code::checkpoint_set_aside,
                 fmt::format("checkpoint {} of run '{}' was damaged and set aside by a fallback", sequence.value, run_),
                 layout::aside(run_),
                 {},
                 0,
                 Advice::list_checkpoints,
                 {.run = run_}};
  }
  if (const auto list = pruned(); list && (*list)->is_dropped(sequence)) {
    return Error{Code::checkpoint_pruned,
                 fmt::format("checkpoint {} of run '{}' was pruned", sequence.value, run_),
                 {},
                 {},
                 0,
                 Advice::list_checkpoints,
                 {.run = run_}};
  }
  // Saved with the damaged batch, or based on something in it.
  if (auto doubt = snapshot_->doubt(run_)) return std::move(doubt->error);
  if (sequence && sequence <= latest().value_or(last_audited().value_or(Sequence()))) {
    return Error{Code::chain_broken,
                 fmt::format("checkpoint {} of run '{}' is missing", sequence.value, run_),
                 layout::checkpoints(run_),
                 {},
                 0,
                 Advice::check_store,
                 {.run = run_}};
  }
  return Error{Code::checkpoint_not_found,
               fmt::format("run '{}' has no checkpoint {}", run_, sequence.value),
               {},
               {},
               0,
               Advice::list_checkpoints,
               {.run = run_}};
}

Result<RunRecord> RunReader::run_record() {
  if (run_record_) return *run_record_;
  PAWL_TRY(refuse_erased(files_, run_));
  if (records_ != nullptr && records_->run) {
    PAWL_TRY_ASSIGN(run_record_, decode_run(records_->run->text));
    return *run_record_;
  }
  const std::string path = layout::run_file(run_);
  auto text = files_.read_file(path, 1ULL << 20);
  if (!text && text.error().code == Code::input_unreadable) {
    if (auto doubt = snapshot_->doubt(run_)) return std::unexpected(std::move(doubt->error));
    PAWL_TRY_ASSIGN(const auto checkpoints, files_.list(layout::checkpoints(run_)));
    if (!checkpoints.empty() || records_ != nullptr) {
      return fail(Error{Code::store_damaged,
                        fmt::format("run.json of run '{}' is missing but the run has checkpoints", run_),
                        path,
                        "restore the file from a backup",
                        0,
                        Advice::check_store,
                        {.run = run_}});
    }
    return fail(Error{Code::run_not_found,
                      fmt::format("there is no run '{}' in this store", run_),
                      {},
                      "check that --store or PAWL_STORE names the right store",
                      0,
                      Advice::list_runs});
  }
  if (!text) return std::unexpected(text.error());
  auto record = decode_run(*text);
  if (record && record->run != run_) record = fail(Code::store_damaged, "run.json belongs to run '{}'", record->run);
  if (!record) return fail(at(record.error(), path));
  run_record_ = std::move(*record);
  return *run_record_;
}

Result<std::uint32_t> RunReader::seed() {
  PAWL_TRY_ASSIGN(const RunRecord record, run_record());
  return seal_seed(record.uuid);
}

Result<RunCodec*> RunReader::codec() {
  if (!codec_) {
    PAWL_TRY_ASSIGN(const RunRecord record, run_record());
    PAWL_TRY_ASSIGN(codec_, keys_.codec(run_, record));
  }
  return &*codec_;
}

Result<const PrunedList*> RunReader::pruned() {
  if (!pruned_) {
    PAWL_TRY_ASSIGN(const std::uint32_t run_seed, seed());
    PAWL_TRY_ASSIGN(pruned_, load_pruned(files_, run_, run_seed));
  }
  return &*pruned_;
}

Result<std::vector<Sequence>> RunReader::bases() {
  if (bases_) return *bases_;
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  PAWL_TRY_ASSIGN(const Sequence shared, fork_at());
  const ChainSource source{files_, run_, records_, *list, shared};
  PAWL_TRY_ASSIGN(auto found, list_bases(source));
  PAWL_TRY_ASSIGN(const std::uint32_t run_seed, seed());
  PAWL_TRY_ASSIGN(const Sequence audited, last_audited());
  PAWL_TRY(drop_stray_bases(source, run_seed, audited, found));
  bases_ = std::move(found);
  return *bases_;
}

Result<Sequence> RunReader::base_of(Sequence sequence) {
  PAWL_TRY_ASSIGN(const auto all, bases());
  const auto above = std::ranges::upper_bound(all, sequence);
  if (above == all.begin()) return fail(not_found(sequence));
  return *std::prev(above);
}

Result<Chain> RunReader::chain(Sequence base, Sequence up_to) {
  PAWL_TRY_ASSIGN(const std::uint32_t run_seed, seed());
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  PAWL_TRY_ASSIGN(const Sequence shared, fork_at());
  return read_chain({files_, run_, records_, *list, shared}, run_seed, base, up_to);
}

Result<RecordView> RunReader::link(const Chain& links, Sequence sequence) {
  if (const RecordView* record = links.find(sequence)) return *record;
  if (links.damage) return std::unexpected(*links.damage);
  return fail(not_found(sequence));
}

/// A damaged batch matters if it may have contained something newer than everything that can be read.
Result<Sequence> RunReader::latest() {
  auto newest = latest_readable();
  auto doubt = snapshot_->doubt(run_);
  if (!doubt || (!newest && !is_refusal(newest.error().code))) return newest;
  const auto list = pruned();
  const Sequence lost{doubt->highest_lost};
  const bool counts = !list || !(*list)->is_aside(lost);
  if (counts && (!newest || *newest < lost)) return std::unexpected(std::move(doubt->error));
  return newest;
}

Result<Sequence> RunReader::newest_stored() {
  Sequence newest;
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  if (records_ != nullptr && !records_->checkpoints.empty())
    newest = list->last_there({records_->checkpoints.rbegin()->first});
  PAWL_TRY_ASSIGN(const auto all, bases());
  if (all.empty()) return newest;
  PAWL_TRY_ASSIGN(const Sequence in_file, last_difference(all.back()));
  return std::max({newest, all.back(), in_file});
}

/// Returns the newest sequence in the journals and files, unless something newer is missing.
Result<Sequence> RunReader::latest_readable() {
  PAWL_TRY(run_record());
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  PAWL_TRY_ASSIGN(const auto all, bases());
  if (all.empty()) {
    PAWL_TRY_ASSIGN(const Sequence named, highest_in_names());
    if (named) {
      return fail(Error{Code::chain_broken,
                        fmt::format("checkpoint {} of run '{}' is missing, and later ones depend on it",
                                    list->next_there({1}).value, run_),
                        layout::checkpoints(run_),
                        "restore the file from a backup",
                        0,
                        Advice::check_store,
                        {.run = run_}});
    }
    return fail(Error{Code::no_valid_checkpoint,
                      fmt::format("run '{}' has no checkpoint", run_),
                      layout::checkpoints(run_),
                      {},
                      0,
                      Advice::check_store,
                      {.run = run_}});
  }
  PAWL_TRY_ASSIGN(const Sequence newest, newest_stored());
  // A missing file leaves a trace only in the audit trail, which lists every checkpoint.
  PAWL_TRY_ASSIGN(const Sequence audited, last_audited());
  if (list->last_there(audited) > newest) {
    return fail(
        Error{Code::chain_broken,
              fmt::format("checkpoints {} to {} of run '{}' are missing", newest.value + 1, audited.value, run_),
              layout::differences(run_, all.back()),
              "older checkpoints can be restored by number",
              0,
              Advice::check_store,
              {.run = run_}});
  }
  PAWL_TRY_ASSIGN(const Sequence shared, fork_at());
  if (newest == shared) {
    return fail(
        Error{Code::chain_broken,
              fmt::format("checkpoint {} of run '{}', the first after the fork, is missing", newest.value + 1, run_),
              layout::checkpoints(run_),
              {},
              0,
              Advice::check_store,
              {.run = run_}});
  }
  return newest;
}

Result<Sequence> RunReader::last_audited() {
  const auto file = files_.open(layout::audit(run_), OpenMode::read);
  if (!file) return Sequence();
  PAWL_TRY_ASSIGN(const auto line, last_line_below(**file, kHighest));
  const auto entry = line ? decode_audit(line->text) : fail(Code::checksum_mismatch, "it is missing");
  return entry ? entry->sequence : Sequence();
}

/// Returns the last checkpoint in the file of differences after `base`, or `base` if there is none.
Result<Sequence> RunReader::last_difference(Sequence base) {
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  if (const Sequence before = list->before_aside(base, {kHighest}); before.value != kHighest) return before;
  if (list->rewritten(base) != nullptr) return list->tail_end(base);
  const std::string path = layout::differences(run_, base);
  const auto file = files_.open(path, OpenMode::read);
  if (!file)
    return file.error().code == Code::input_unreadable ? Result<Sequence>(base) : std::unexpected(file.error());
  PAWL_TRY_ASSIGN(const std::uint64_t size, (*file)->size());
  PAWL_TRY_ASSIGN(const auto line, last_line_below(**file, kHighest));
  const Sequence last{line ? line->number : base.value};
  const bool ends_well = line ? line->end == size : size == 0;
  const bool journal_goes_on = records_ != nullptr && records_->checkpoints.contains(last.value + 1);
  if (!ends_well && !journal_goes_on) {
    return fail(Error{Code::checkpoint_corrupt,
                      fmt::format("checkpoint {} of run '{}' is damaged", last.value + 1, run_),
                      path,
                      "older checkpoints can be restored by number",
                      0,
                      Advice::check_store,
                      {.run = run_}});
  }
  return last;
}

Result<Sequence> RunReader::resolve(const Which& which) {
  PAWL_TRY(run_record());
  if (which.by == Which::By::sequence) {
    PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
    if (list->is_dropped(which.sequence)) return fail(not_found(which.sequence));
    return which.sequence;
  }
  PAWL_TRY_ASSIGN(const Sequence last, latest());
  if (which.by == Which::By::latest) return last;
  PAWL_TRY_ASSIGN(const Sequence found, search(which, last));
  if (found) return found;
  return fail(Error{Code::checkpoint_not_found,
                    fmt::format("run '{}' has no checkpoint {}", run_, describe_which(which)),
                    {},
                    {},
                    0,
                    Advice::list_checkpoints,
                    {.run = run_}});
}

/// Reads the history of the run backwards; linear in its length.
Result<Sequence> RunReader::search(const Which& which, Sequence up_to) {
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  PAWL_TRY_ASSIGN(const Sequence shared, fork_at());
  while ((up_to = list->last_there(up_to)) > shared) {
    PAWL_TRY_ASSIGN(const Sequence base, base_of(up_to));
    PAWL_TRY_ASSIGN(const Chain links, chain(base, up_to));
    if (links.damage) return std::unexpected(*links.damage);
    PAWL_TRY(link(links, up_to));
    for (auto found = links.links.rbegin(); found != links.links.rend(); ++found) {
      if (found->record.sequence <= shared || list->is_dropped(found->record.sequence)) continue;
      PAWL_TRY_ASSIGN(const CheckpointInfo info, decode_info(found->record));
      if (fits(info, which)) return info.sequence;
    }
    up_to.value = base.value - 1;
  }
  PAWL_TRY_ASSIGN(RunReader* const parent, origin());
  return parent == nullptr ? Sequence() : parent->search(which, shared);
}

Result<CheckpointInfo> RunReader::info_of(const RecordView& record) {
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  PAWL_TRY_ASSIGN(RunCodec* const coder, codec());
  PAWL_TRY_ASSIGN(CheckpointInfo info, coder->info(record));
  if (const PrunedList::Sums* sums = list->rewritten(info.sequence)) info.checksum = "sha256:" + sums->was;
  return info;
}

Result<std::string> RunReader::payload_of(const RecordView& record) {
  PAWL_TRY_ASSIGN(RunCodec* const coder, codec());
  PAWL_TRY_ASSIGN(const RunRecord run, run_record());
  return read_payload({files_, run_, run.salt}, *coder, record);
}

Result<std::string> RunReader::rebuild(const Chain& links, Sequence sequence) {
  PAWL_TRY_ASSIGN(const RecordView last, link(links, sequence));
  PAWL_TRY_ASSIGN(const RunRecord run, run_record());
  Sequence first = sequence;
  while (!links.find(first)->whole() && first > links.base) first.value -= 1;
  if (!links.find(first)->whole())
    return fail(Code::chain_broken, "checkpoint {} has no full checkpoint before it", sequence.value);
  std::string state;
  if (links.borrowed && first == links.base) {
    PAWL_TRY_ASSIGN(RunReader* const parent, origin());
    PAWL_TRY_ASSIGN(Restored restored, parent->restore({.by = Which::By::sequence, .sequence = first}));
    state = std::move(restored.state);
  } else {
    PAWL_TRY_ASSIGN(state, payload_of(*links.find(first)));
  }
  PAWL_TRY_ASSIGN(const CheckpointInfo info, decode_info(last));
  if (info.state_bytes < (1ULL << 32)) state.reserve(info.state_bytes);
  for (Sequence next = first.next(); next <= sequence; next = next.next()) {
    const RecordView& record = *links.find(next);
    if (record.payload_kind == Payload::diff && record.how.empty() && !run.encrypted) {
      PAWL_TRY(apply_encoded_splices(state, record.payload));
    } else {
      PAWL_TRY_ASSIGN(const std::string payload, payload_of(record));
      PAWL_TRY(apply_encoded_splices(state, payload));
    }
  }
  if (state.size() != info.state_bytes) {
    return fail(Error{Code::state_reconstruction_failed,
                      fmt::format("checkpoint {} of run '{}' should have {} bytes but has {}", sequence.value, run_,
                                  info.state_bytes, state.size()),
                      {},
                      {},
                      0,
                      Advice::check_store,
                      {.run = run_}});
  }
  return state;
}

Result<Restored> RunReader::restore(const Which& which) {
  PAWL_TRY_ASSIGN(const Sequence sequence, resolve(which));
  PAWL_TRY_ASSIGN(RunReader* const home, home_of(sequence));
  if (home != this) return home->restore({.by = Which::By::sequence, .sequence = sequence});
  PAWL_TRY_ASSIGN(const Sequence base, base_of(sequence));
  PAWL_TRY_ASSIGN(const Chain links, chain(base, sequence));
  Restored restored;
  PAWL_TRY_ASSIGN(restored.state, rebuild(links, sequence));
  PAWL_TRY_ASSIGN(restored.info, info_of(*links.find(sequence)));
  return restored;
}

Result<CheckpointInfo> RunReader::info(const Which& which) {
  PAWL_TRY_ASSIGN(const Sequence sequence, resolve(which));
  PAWL_TRY_ASSIGN(RunReader* const home, home_of(sequence));
  if (home != this) return home->info({.by = Which::By::sequence, .sequence = sequence});
  PAWL_TRY_ASSIGN(const Sequence base, base_of(sequence));
  PAWL_TRY_ASSIGN(const Chain links, chain(base, sequence));
  PAWL_TRY_ASSIGN(const RecordView record, link(links, sequence));
  return info_of(record);
}

Result<std::vector<CheckpointInfo>> RunReader::list(Sequence after, std::size_t limit) {
  PAWL_TRY_ASSIGN(const Sequence last, latest());
  return list_up_to(after, last, limit);
}

Result<std::vector<CheckpointInfo>> RunReader::list_up_to(Sequence after, Sequence last, std::size_t limit) {
  PAWL_TRY_ASSIGN(const Sequence shared, fork_at());
  std::vector<CheckpointInfo> found;
  if (after < shared) {
    PAWL_TRY_ASSIGN(RunReader* const parent, origin());
    PAWL_TRY_ASSIGN(found, parent->list_up_to(after, std::min(last, shared), limit));
  }
  PAWL_TRY(list_own(std::max(after, shared), last, limit, found));
  return found;
}

Result<void> RunReader::list_own(Sequence after, Sequence last, std::size_t limit, std::vector<CheckpointInfo>& found) {
  PAWL_TRY_ASSIGN(const PrunedList* const list, pruned());
  Sequence next = list->next_there(after.next());
  while (next <= last && found.size() < limit) {
    PAWL_TRY_ASSIGN(const Sequence base, base_of(next));
    PAWL_TRY_ASSIGN(const Chain links, chain(base, last));
    PAWL_TRY(link(links, next));
    for (const ChainLink& entry : links.links) {
      if (entry.record.sequence < next || entry.record.sequence > last || found.size() >= limit ||
          list->is_dropped(entry.record.sequence))
        continue;
      PAWL_TRY_ASSIGN(CheckpointInfo info, info_of(entry.record));
      found.push_back(std::move(info));
      next = entry.record.sequence.next();
    }
    if (links.damage) return std::unexpected(*links.damage);
    next = list->next_there(next);
  }
  return {};
}

Result<std::vector<Event>> RunReader::events(std::uint64_t after_number, std::size_t limit) {
  PAWL_TRY_ASSIGN(const RunRecord record, run_record());
  if (!record.fork_of_run || after_number >= record.fork_events) return own_events(after_number, limit);
  PAWL_TRY_ASSIGN(RunReader* const parent, origin());
  const std::size_t shared = std::min<std::uint64_t>(limit, record.fork_events - after_number);
  PAWL_TRY_ASSIGN(std::vector<Event> listed, parent->events(after_number, shared));
  if (listed.size() < shared) {
    return fail(Error{Code::chain_broken,
                      fmt::format("run '{}' shares {} events with run '{}', which has {}", run_, record.fork_events,
                                  record.fork_of_name, after_number + listed.size()),
                      layout::events_folder(record.fork_of_name),
                      {},
                      0,
                      Advice::check_store,
                      {.run = run_}});
  }
  if (listed.size() == limit) return listed;
  PAWL_TRY_ASSIGN(std::vector<Event> own, own_events(record.fork_events, limit - listed.size()));
  std::ranges::move(own, std::back_inserter(listed));
  return listed;
}

Result<std::vector<Event>> RunReader::own_events(std::uint64_t after_number, std::size_t limit) {
  PAWL_TRY(refuse_doubt());
  PAWL_TRY_ASSIGN(const std::uint32_t run_seed, seed());
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::events_folder(run_)));
  std::vector<std::string> names;
  for (const FolderEntry& entry : entries) {
    if (is_event_file(entry)) names.push_back(entry.name);
  }
  std::ranges::sort(names);
  PAWL_TRY_ASSIGN(RunCodec* const coder, codec());
  std::map<std::uint64_t, StoredEvent> found;
  std::optional<Error> damage;
  PAWL_TRY_ASSIGN(const RunRecord run, run_record());
  std::uint64_t skipped = run.fork_events;
  for (const std::string& name : names) {
    const std::string path = join_path(layout::events_folder(run_), name);
    PAWL_TRY_ASSIGN(const std::string text, files_.read_file(path));
    for_each_line(text, [&](std::string_view line, bool) {
      // Lines before the page are not verified, as long as their numbers increase by one.
      if (skipped < after_number && line_number(line) == skipped + 1) {
        ++skipped;
        return true;
      }
      auto event = decode_event(line, run_seed);
      if (!event) damage = at(event.error(), path);
      if (event && event->event.number > after_number) found.emplace(event->event.number, std::move(*event));
      return !damage && found.size() < limit;
    });
    if (damage || found.size() >= limit) break;
  }
  // A power loss may have spoiled lines that were not synced. The journal contains those, and all that follow.
  const std::uint64_t next = found.empty() ? skipped + 1 : found.rbegin()->first + 1;
  const bool journal_goes_on = records_ != nullptr && records_->events.contains(next);
  if (damage && !journal_goes_on) return std::unexpected(*damage);
  if (records_ != nullptr) {
    for (auto next_record = records_->events.upper_bound(after_number); next_record != records_->events.end();
         ++next_record) {
      const auto& [number, record] = *next_record;
      if (number - after_number > limit) break;
      if (found.contains(number)) continue;
      PAWL_TRY_ASSIGN(StoredEvent stored, decode_event(without_newline(record.text), run_seed));
      found.emplace(number, std::move(stored));
    }
  }
  std::vector<Event> listed;
  for (auto& [number, stored] : found) {
    if (listed.size() == limit) break;
    const std::uint64_t expected = std::max(after_number, run.fork_events) + listed.size() + 1;
    if (number != expected) {
      return fail(Error{Code::chain_broken,
                        fmt::format("event {} of run '{}' is missing", expected, run_),
                        layout::events_folder(run_),
                        {},
                        0,
                        Advice::check_store,
                        {.run = run_}});
    }
    PAWL_TRY_ASSIGN(Event event, coder->event(std::move(stored)));
    listed.push_back(std::move(event));
  }
  if (listed.size() < limit) PAWL_TRY(check_last_events());
  return listed;
}

/// Returns stored entries with the data of the events that they refer to.
Result<std::vector<AuditEntry>> RunReader::audit(std::uint64_t after, std::size_t limit) {
  PAWL_TRY_ASSIGN(const auto erased, load_erased(files_, run_));  // of an erased run, only the trail remains
  if (!erased || erased->removed) PAWL_TRY(run_record());
  if (!erased) {
    PAWL_TRY(refuse_doubt());
    PAWL_TRY_ASSIGN(const Sequence newest, newest_stored());
    PAWL_TRY_ASSIGN(const TrailEnd end, trail_end(kPieceBytes));
    PAWL_TRY(refuse_short_trail(end, newest));
  }
  NumberedLines lines = NumberedLines::of_trail(files_, run_, records_ == nullptr ? nullptr : &records_->audit);
  std::vector<AuditEntry> found;
  std::map<std::uint64_t, std::size_t> by_event;
  while (found.size() < limit) {
    PAWL_TRY_ASSIGN(const auto line, lines.next());
    if (!line) break;
    if (line->number <= after) continue;
    auto entry = decode_audit(line->text);
    if (!entry) return fail(at(entry.error(), std::string(line->file)));
    if (entry->event != 0) by_event.emplace(entry->event, found.size());
    found.push_back(std::move(*entry));
  }
  if (by_event.empty() || erased) return found;
  const std::uint64_t first = by_event.begin()->first;
  PAWL_TRY_ASSIGN(const std::vector<Event> told, events(first - 1, by_event.rbegin()->first - first + 1));
  for (const Event& event : told) {
    if (const auto entry = by_event.find(event.number); entry != by_event.end()) found[entry->second].data = event.data;
  }
  return found;
}

Result<RunInfo> RunReader::overview() {
  PAWL_TRY_ASSIGN(const auto erased, load_erased(files_, run_));
  if (erased && !erased->removed) return info_of_erased(*erased);
  PAWL_TRY_ASSIGN(const RunRecord record, run_record());
  PAWL_TRY_ASSIGN(const Sequence sequence, latest());
  PAWL_TRY_ASSIGN(const Sequence base, base_of(sequence));
  PAWL_TRY_ASSIGN(const Chain links, chain(base, sequence));
  PAWL_TRY_ASSIGN(const RecordView last, link(links, sequence));
  PAWL_TRY_ASSIGN(const CheckpointInfo info, decode_info(last));  // without its encrypted part
  return run_info(run_, record, info);
}

Result<RunInfo> RunReader::listing() {
  auto info = overview();
  if (info || !is_confined(info.error())) return info;
  const auto record = run_record();
  const bool described = record || is_confined(record.error());
  if (!described || is_gone(info.error().code)) return info;
  PAWL_TRY_ASSIGN(RunInfo damaged, run_info(run_, record ? *record : RunRecord(), {}));
  damaged.updated = std::max(damaged.created, newest_known_time());
  damaged.status = Status::damaged;
  return damaged;
}

}  // namespace pawl
