// FilesystemStore: taking over a copy that was made while the store was in use.
//
// The files of such a copy come from different moments. A journal may be older than the files of a run, a file may end
// in the middle of a line, and the audit trail may be ahead of the checkpoints. None of that is damage: the copy
// contains each run up to some checkpoint. The first process that opens the copy cuts off what is incomplete, keeps it
// in recovery/, publishes the rest of the journals and empties them, and removes the catalogue, which is rebuilt. After
// that, the copy is an ordinary store. If the process is killed before the journals are empty, the next one does the
// same again.
//
// A run whose key, or the checkpoint that it was forked from, was copied before it existed, can't be read. Such a run
// is not part of the copy: all of it is moved to recovery/.
#include <algorithm>
#include <charconv>
#include <functional>

#include "adapters/filesystem/copied_groups.hpp"
#include "adapters/filesystem/failure_log.hpp"
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/fork_notes.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/pruned_file.hpp"
#include "adapters/filesystem/trail_archiver.hpp"
#include "audit/roots.hpp"
#include "base/confined.hpp"
#include "base/hash.hpp"

namespace pawl {
namespace {

/// Cuts what a run has beyond its last complete checkpoint.
class CopiedRun {
 public:
  CopiedRun(FileSystem& files, KeyRing& keys, const Environment& environment, std::string run,
            std::shared_ptr<JournalSnapshot> snapshot)
      : files_(files),
        keys_(keys),
        environment_(environment),
        run_(std::move(run)),
        snapshot_(std::move(snapshot)),
        records_(snapshot_->find(run_)) {}

  /// Removes the files of a run whose run.json did not exist yet when its folder was copied.
  Result<void> remove_nameless() {
    PAWL_TRY_ASSIGN(const bool described, files_.exists(layout::run_file(run_)));
    if (described || (records_ != nullptr && records_->run)) return {};
    for (const std::string& folder :
         {layout::checkpoints(run_), layout::events_folder(run_), layout::audit_folder(run_)})
      PAWL_TRY(keep_all(folder));
    return {};
  }

  /// Returns whether the run can't be read because its key, or the checkpoint that it was forked from, did not exist
  /// yet when it was copied. The parent must have been settled. Anything else that is missing is damage.
  Result<bool> lacks_beginning() {
    const auto record = RunReader(files_, keys_, run_, snapshot_).run_record();
    if (!record) return not_lacking(record.error());
    PAWL_TRY_ASSIGN(const bool published, files_.exists(layout::run_file(run_)));
    PAWL_TRY_ASSIGN(const bool has_key, files_.exists(layout::run_key(run_)));
    // The key is written before run.json is, so it was not lost by copying if the copy has run.json.
    if (record->encrypted && !has_key && !published) return true;
    if (!record->fork_of_run || snapshot_->doubt(record->fork_of_name)) return false;
    RunReader parent(files_, keys_, record->fork_of_name, std::make_shared<JournalSnapshot>());
    const auto origin = parent.run_record();
    if (!origin && origin.error().code == Code::run_not_found) {
      // A parent whose folder is missing, although that of the fork was copied, had been removed before.
      PAWL_TRY_ASSIGN(const bool has_folder, files_.exists(layout::run(record->fork_of_name)));
      return has_folder || !published;
    }
    if (!origin) return not_lacking(origin.error());
    const auto newest = parent.newest_stored();
    if (!newest) return not_lacking(newest.error());
    return origin->uuid == *record->fork_of_run && *newest < record->fork_of_sequence;
  }

  /// Moves everything of the run to recovery/, also what the journals have of it. The description goes last, so that
  /// the next process does the same again if this one is killed.
  Result<void> remove() {
    PAWL_TRY(keep_records());
    for (const std::string& folder : {layout::checkpoints(run_), layout::events_folder(run_),
                                      layout::audit_folder(run_), layout::blobs(run_), layout::forks(run_)})
      PAWL_TRY(keep_all(folder));
    PAWL_TRY_ASSIGN(const bool has_folder, files_.exists(layout::run(run_)));
    if (!has_folder) return {};
    for (const std::string& path : {layout::run_key(run_), layout::run_file(run_)}) PAWL_TRY(keep_whole(path));
    return files_.sync_folder(layout::run(run_), SyncPoint::side_name);
  }

  /// Keeps what the journals have of the run, which are emptied.
  Result<void> keep_records() {
    if (records_ == nullptr) return {};
    const RunBatch batch = whole_batch(*records_);
    std::string texts(batch.run.value_or(""));
    for (const auto* records : {&batch.checkpoints, &batch.events, &batch.audit})
      for (const JournalRecord& record : *records) texts += record.text;
    return keep(layout::run(run_), texts);
  }

  /// Returns the records of the journals up to the last complete checkpoint, which is the end of the run in the copy.
  Result<RunBatch> cut() {
    PAWL_TRY(expand_trail(files_, run_));
    PAWL_TRY(drop_missing());
    PAWL_TRY_ASSIGN(const auto lines, line_files());
    for (const std::string& path : lines) PAWL_TRY(cut_file(path, [](std::string_view) { return true; }));
    RunBatch batch = records_ == nullptr ? RunBatch() : whole_batch(*records_);
    PAWL_TRY_ASSIGN(const std::uint32_t seed, RunReader(files_, keys_, run_, snapshot_).seed());
    PAWL_TRY_ASSIGN(Sequence complete, connect(batch));
    PAWL_TRY_ASSIGN(complete, before_missing_blobs(complete));
    PAWL_TRY_ASSIGN(complete, before_missing_events(complete, batch));
    for (auto* records : {&batch.checkpoints, &batch.events, &batch.audit})
      std::erase_if(*records, [&](const JournalRecord& record) { return record.sequence > complete; });
    PAWL_TRY(cut_file(layout::audit(run_), [&](std::string_view line) {
      const auto entry = decode_audit(line);
      return !entry || entry->sequence <= complete;
    }));
    for (const std::string& path : lines) {
      if (!path.starts_with(layout::events_folder(run_))) continue;
      PAWL_TRY(cut_file(path, [&](std::string_view line) { return number_after(line, "\"seq\":") <= complete.value; }));
    }
    PAWL_TRY(cut_checkpoints(complete));
    PAWL_TRY(cut_kept(complete, seed));
    const std::uint64_t entries = batch.audit.empty() ? 0 : batch.audit.back().number;
    PAWL_TRY(cut_roots(seed, entries));
    return batch;
  }

  /// Whether something incomplete was moved to recovery/.
  [[nodiscard]] bool has_cut() const { return has_cut_; }

 private:
  Result<void> drop_missing() {
    RunReader reader(files_, keys_, run_, snapshot_);
    PAWL_TRY_ASSIGN(const std::uint32_t seed, reader.seed());
    PAWL_TRY_ASSIGN(const Sequence fork_at, reader.fork_at());
    PAWL_TRY_ASSIGN(const IndexRanges dropped, drop_uncopied(files_, run_, seed, fork_at, records_));
    if (dropped.empty()) return {};
    has_cut_ = true;
    return log_failure(files_, environment_,
                       Finding{Finding::Severity::note,
                               Code::chain_broken,
                               layout::checkpoints(run_),
                               run_,
                               {},
                               fmt::format("this copy was made while the run was pruned; checkpoints {} were not "
                                           "copied, and count as pruned",
                                           dropped.text()),
                               {}});
  }

  /// What is damaged is not lacking: it stays and is reported later.
  static Result<bool> not_lacking(const Error& error) {
    if (is_refusal(error.code) || category(error.code) == Category::not_found) return false;
    return std::unexpected(error);
  }

  Result<void> keep_all(const std::string& folder) {
    PAWL_TRY_ASSIGN(const auto entries, files_.list(folder));
    for (const FolderEntry& entry : entries) {
      if (!entry.is_folder) PAWL_TRY(keep_whole(join_path(folder, entry.name)));
    }
    return entries.empty() ? Result<void>() : files_.sync_folder(folder, SyncPoint::side_name);
  }

  /// Removes the records that don't connect to the files, because what is between them was settled after the files were
  /// copied. Returns the last checkpoint of which everything is there.
  Result<Sequence> connect(RunBatch& batch) {
    // Without the journals, a run that has no files yet is unknown.
    RunReader published(files_, keys_, run_, std::make_shared<JournalSnapshot>());
    const auto stored = published.newest_stored();
    const bool unknown = !stored && (is_refusal(stored.error().code) || stored.error().code == Code::run_not_found);
    if (!stored && !unknown) return std::unexpected(stored.error());
    PAWL_TRY_ASSIGN(const RunRecord record, RunReader(files_, keys_, run_, snapshot_).run_record());
    Sequence newest = std::max(stored ? *stored : Sequence(), record.fork_of_sequence);
    PAWL_TRY_ASSIGN(const std::uint64_t entries, last_entry());
    const auto events = published.published_events();
    batch.audit.erase(first_unconnected(batch.audit, entries), batch.audit.end());
    batch.events.erase(first_unconnected(batch.events, events ? *events : record.fork_events), batch.events.end());
    const auto gap = std::ranges::find_if(batch.checkpoints, [&](const JournalRecord& next) {
      if (next.sequence > newest.next()) return true;
      newest = std::max(newest, next.sequence);
      return false;
    });
    batch.checkpoints.erase(gap, batch.checkpoints.end());
    PAWL_TRY_ASSIGN(Sequence audited, last_audited());
    if (!batch.audit.empty()) audited = std::max(audited, batch.audit.back().sequence);
    return std::min(newest, audited);
  }

  /// The folder of blobs may have been copied before the newest ones were written. A missing blob with others after it
  /// is damage, and stays.
  Result<Sequence> before_missing_blobs(Sequence complete) {
    Sequence last = complete;
    RunReader reader(files_, keys_, run_, snapshot_);
    auto bases = reader.bases();
    if (!bases) return is_refusal(bases.error().code) ? Result<Sequence>(complete) : std::unexpected(bases.error());
    for (auto base = bases->rbegin(); base != bases->rend(); ++base) {
      if (*base > complete) continue;
      PAWL_TRY_ASSIGN(const Chain chain, reader.chain(*base, complete));
      for (auto link = chain.links.rbegin(); link != chain.links.rend(); ++link) {
        const RecordView& record = link->record;
        if (chain.borrowed && record.sequence == chain.base) continue;
        if (record.payload_kind != Payload::state_blob && record.payload_kind != Payload::diff_blob) continue;
        PAWL_TRY_ASSIGN(const bool there,
                        files_.exists(layout::blob(run_, decode_text_payload(record.payload).value_or(""))));
        if (there) return last;
        last = Sequence{record.sequence.value - 1};
      }
    }
    return last;
  }

  /// The audit trail tells which saves had events.
  Result<Sequence> before_missing_events(Sequence complete, const RunBatch& batch) {
    Sequence last_told;
    PAWL_TRY_ASSIGN(const auto lines, line_files());
    for (const std::string& path : lines) {
      if (!path.starts_with(layout::events_folder(run_))) continue;
      PAWL_TRY_ASSIGN(const auto file, files_.open(path, OpenMode::read));
      PAWL_TRY_ASSIGN(const auto line, last_line_below(*file, kHighest));
      if (line) last_told = std::max(last_told, Sequence{number_after(line->text, "\"seq\":")});
    }
    if (!batch.events.empty()) last_told = std::max(last_told, batch.events.back().sequence);
    const auto look = [&](std::string_view line) {
      const auto entry = decode_audit(line);
      if (entry && !entry->events.empty() && entry->sequence > last_told)
        complete = std::min(complete, Sequence{entry->sequence.value - 1});
    };
    const auto trail = files_.open(layout::audit(run_), OpenMode::read);
    if (!trail && trail.error().code != Code::input_unreadable) return std::unexpected(trail.error());
    if (trail) {
      PAWL_TRY(for_each_line_of(**trail, [&](std::string_view line, bool, std::uint64_t) {
        look(line);
        return true;
      }));
    }
    for (const JournalRecord& record : batch.audit) look(without_newline(record.text));
    return complete;
  }

  Result<std::uint64_t> last_entry() {
    const auto file = files_.open(layout::audit(run_), OpenMode::read);
    if (!file && file.error().code == Code::input_unreadable) return 0;
    if (!file) return std::unexpected(file.error());
    PAWL_TRY_ASSIGN(const auto line, last_line_below(**file, kHighest));
    return line ? line->number : 0;
  }

  static std::uint64_t number_after(std::string_view line, std::string_view key) {
    const auto found = line.find(key);
    std::uint64_t number = 0;
    if (found != std::string_view::npos)
      std::from_chars(line.data() + found + key.size(), line.data() + line.size(), number);
    return number;
  }

  Result<std::vector<std::string>> line_files() {
    std::vector<std::string> paths;
    for (const std::string& folder :
         {layout::checkpoints(run_), layout::events_folder(run_), layout::audit_folder(run_)}) {
      PAWL_TRY_ASSIGN(const auto entries, files_.list(folder));
      for (const FolderEntry& entry : entries) {
        if (!entry.is_folder && entry.name.ends_with(".jsonl")) paths.push_back(join_path(folder, entry.name));
      }
    }
    return paths;
  }

  /// Cuts the file before its first line that is incomplete or not wanted.
  Result<void> cut_file(const std::string& path, const std::function<bool(std::string_view)>& wanted) {
    const auto read = files_.open(path, OpenMode::read);
    if (!read && (read.error().code == Code::input_unreadable || is_refusal(read.error().code))) return {};
    if (!read) return std::unexpected(read.error());
    std::uint64_t end = 0;
    PAWL_TRY(for_each_line_of(**read, [&](std::string_view line, bool complete, std::uint64_t at) {
      if (!complete || !wanted(line)) return false;
      end = at + line.size() + 1;
      return true;
    }));
    PAWL_TRY_ASSIGN(const std::uint64_t size, (*read)->size());
    if (end == size) return {};
    PAWL_TRY_ASSIGN(const std::string rest, (*read)->read_at(end, size - end));
    PAWL_TRY(keep(path, rest));
    PAWL_TRY_ASSIGN(const auto file, files_.open(path, OpenMode::write));
    PAWL_TRY(file->resize(end));
    return file->sync(SyncPoint::side_file);
  }

  Result<void> keep(const std::string& path, std::string_view bytes) {
    has_cut_ = true;
    const std::string name = fmt::format("recovery/copied-{}-{}.bin", run_, to_hex(crc32c(bytes, crc32c(path))));
    PAWL_TRY(set_aside(files_, name, bytes));
    return log_failure(files_, environment_,
                       Finding{Finding::Severity::note,
                               Code::checksum_mismatch,
                               path,
                               run_,
                               {},
                               fmt::format("this copy was made while the store was in use; {} bytes that belong to an "
                                           "incomplete checkpoint were moved to {}",
                                           bytes.size(), name),
                               {}});
  }

  Result<Sequence> last_audited() {
    const auto file = files_.open(layout::audit(run_), OpenMode::read);
    if (!file && file.error().code == Code::input_unreadable) return Sequence();
    if (!file) return std::unexpected(file.error());
    PAWL_TRY_ASSIGN(const auto line, last_line_below(**file, kHighest));
    const auto entry = line ? decode_audit(line->text) : fail(Code::checksum_mismatch, "it is missing");
    return entry ? entry->sequence : Sequence();
  }

  Result<void> keep_whole(const std::string& path) {
    const auto text = read_if_there(files_, path);
    if (!text && is_refusal(text.error().code)) return {};  // no file
    if (!text) return std::unexpected(text.error());
    if (*text) PAWL_TRY(keep(path, **text));
    return files_.remove(path);
  }

  Result<void> cut_checkpoints(Sequence complete) {
    bool removed = false;
    PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::checkpoints(run_)));
    for (const FolderEntry& entry : entries) {
      const std::string path = join_path(layout::checkpoints(run_), entry.name);
      const auto lines = sequence_in_file_name(entry.name, "checkpoint_", ".jsonl");
      const auto base = lines ? lines : base_in_file_name(entry.name);
      if (entry.is_folder || !base) continue;
      if (*base > complete) {
        PAWL_TRY(keep_whole(path));
        removed = true;
      } else if (lines) {
        PAWL_TRY(
            cut_file(path, [&](std::string_view line) { return line_number(line).value_or(0) <= complete.value; }));
      }
    }
    return removed ? files_.sync_folder(layout::checkpoints(run_), SyncPoint::side_name) : Result<void>();
  }

  /// The same for checkpoints that a prune has kept.
  Result<void> cut_kept(Sequence complete, std::uint32_t seed) {
    PAWL_TRY_ASSIGN(PrunedList list, load_pruned(files_, run_, seed));
    const bool is_beyond = !list.closed.empty() && list.closed.ranges().rbegin()->second > complete.value;
    // If nothing is left before, the run stays as it is: its states can be read, and the damage is reported.
    if (!is_beyond || !list.last_there(complete)) return {};
    const auto kept = list.kept;
    for (const auto& [number, sums] : kept) {
      const Sequence sequence{number};
      if (list.tail_end(sequence) <= complete) continue;
      list.tails.erase(number);
      if (sequence > complete) {
        list.kept.erase(number);
        PAWL_TRY(keep_whole(layout::kept(run_, sequence)));
      }
      if (sequence >= complete) {
        PAWL_TRY(keep_whole(layout::kept_differences(run_, sequence)));
        continue;
      }
      list.tails[number] = complete.value;
      PAWL_TRY(cut_file(layout::kept_differences(run_, sequence),
                        [&](std::string_view line) { return line_number(line).value_or(0) <= complete.value; }));
    }
    for (IndexRanges* const ranges : {&list.closed, &list.dropped}) {
      while (!ranges->empty() && ranges->ranges().rbegin()->second > complete.value)
        ranges->remove(ranges->ranges().rbegin()->second);
    }
    return replace_pruned(files_, run_, list, seed);
  }

  /// The roots are computed again when the run is published. A file that is ahead of the trail would not fit it.
  Result<void> cut_roots(std::uint32_t seed, std::uint64_t entries) {
    const std::string path = layout::roots(run_);
    PAWL_TRY_ASSIGN(const auto text, read_if_there(files_, path));
    if (!text) return {};
    PAWL_TRY_ASSIGN(const std::uint64_t published, last_entry());
    entries = std::max(entries, published);
    const RootsText parsed = parse_roots(*text, seed);
    if (parsed.fault.empty() && (parsed.roots.empty() || parsed.roots.back().tree.size() <= entries)) return {};
    PAWL_TRY(keep(path, *text));
    PAWL_TRY(files_.remove(path));
    return files_.sync_folder(layout::audit_folder(run_), SyncPoint::side_name);
  }

  FileSystem& files_;
  KeyRing& keys_;
  const Environment environment_;
  const std::string run_;
  const std::shared_ptr<JournalSnapshot> snapshot_;
  const RunRecords* const records_;
  bool has_cut_ = false;
};

/// Returns the runs, each after the one that it was forked from.
std::vector<std::string> parents_first(FileSystem& files, KeyRing& keys, const std::set<std::string>& runs,
                                       const std::shared_ptr<JournalSnapshot>& snapshot) {
  std::map<std::string, std::string> parents;
  for (const std::string& run : runs) {
    const auto record = RunReader(files, keys, run, snapshot).run_record();
    if (record && record->fork_of_run) parents[run] = record->fork_of_name;
  }
  std::vector<std::pair<std::size_t, std::string>> ordered;  // with the number of ancestors
  for (const std::string& run : runs) {
    std::size_t ancestors = 0;
    // Damaged descriptions may form a cycle.
    for (auto parent = parents.find(run); parent != parents.end() && ancestors < runs.size(); ++ancestors)
      parent = parents.find(parent->second);
    ordered.emplace_back(ancestors, run);
  }
  std::ranges::sort(ordered);
  std::vector<std::string> names;
  for (auto& [ancestors, run] : ordered) names.push_back(std::move(run));
  return names;
}

}  // namespace

/// Returns for a message where the run ends in this copy, and where it ended according to the copied catalogue.
std::string FilesystemStore::end_of_copied(const std::string& run) {
  const auto newest = RunReader(files_, keys_, run, std::make_shared<JournalSnapshot>()).latest();
  if (!newest) return fmt::format("run {}", run);
  std::string text = fmt::format("run {} ends at checkpoint {}", run, newest->value);
  const auto row = has_catalogue() ? catalogue_.find_run(run) : Result<std::optional<RunInfo>>();
  if (row && *row && (*row)->latest > *newest) text += fmt::format(" instead of {}", (*row)->latest.value);
  return text;
}

namespace {
enum class CopiedEnding : std::uint8_t { kept, removed };

/// Makes the files of a run contain all that the copy has of it.
Result<CopiedEnding> settle_copied(const std::string& run, CopiedRun& copied, Publisher& publisher) {
  PAWL_TRY(copied.remove_nameless());
  PAWL_TRY_ASSIGN(const bool lacking, copied.lacks_beginning());
  if (lacking) {
    PAWL_TRY(copied.remove());
    return CopiedEnding::removed;
  }
  PAWL_TRY_ASSIGN(const RunBatch batch, copied.cut());
  if (!batch.checkpoints.empty() || !batch.audit.empty()) PAWL_TRY(publisher.publish(run, batch, Publish::settled));
  // The roots may have been copied before the trail.
  PAWL_TRY(publisher.rewrite_roots(run));
  return CopiedEnding::kept;
}
}  // namespace

/// Makes the files of each run contain all that the copy has of it.
Result<void> FilesystemStore::settle_copy(const std::shared_ptr<JournalSnapshot>& snapshot) {
  std::set<std::string> runs;
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
  for (const FolderEntry& entry : entries) {
    if (entry.is_folder && RunId::parse(entry.name)) runs.insert(entry.name);
  }
  for (const auto& [run, records] : snapshot->runs()) runs.insert(run);
  const Lock lock(publish_mutex_);
  std::vector<std::string> cut;
  std::vector<std::string> removed;
  for (const std::string& run : parents_first(files_, keys_, runs, snapshot)) {
    PAWL_TRY_ASSIGN(const bool erased, files_.exists(layout::erased(run)));
    if (erased || snapshot->doubt(run)) continue;
    CopiedRun copied(files_, keys_, environment_, run, snapshot);
    auto ending = settle_copied(run, copied, publisher_);
    // A run that is damaged otherwise stops no other, and is reported later. So is one whose folder was copied before
    // it was created.
    const bool confined = !ending && (is_confined(ending.error()) || ending.error().code == Code::run_not_found ||
                                      ending.error().code == Code::input_unreadable);
    if (!ending && !confined) return std::unexpected(ending.error());
    if (confined && !is_refusal(ending.error().code)) PAWL_TRY(copied.keep_records());
    if (ending && *ending == CopiedEnding::removed) {
      removed.push_back(run);
    } else if (copied.has_cut()) {
      cut.push_back(run);
    }
  }
  PAWL_TRY(publisher_.sync());
  // Otherwise a prune of the parent could remove what a fork needs.
  for (const std::string& run : runs) {
    if (std::ranges::find(removed, run) != removed.end()) continue;
    const auto record = RunReader(files_, keys_, run, snapshot).run_record();
    if (record) PAWL_TRY(restore_fork_note(files_, *record));
  }
  if (!removed.empty() && options_.tell) {
    const bool one = removed.size() == 1;
    options_.tell(fmt::format("this store is a copy: {} {} {} not copied completely and {} moved to {}/",
                              one ? "run" : "runs", fmt::join(removed, ", "), one ? "was" : "were",
                              one ? "was" : "were", layout::kRecovery));
  }
  if (!cut.empty() && options_.tell) {
    std::vector<std::string> ends;
    for (const std::string& run : cut) ends.push_back(end_of_copied(run));
    options_.tell(
        fmt::format("this store is a copy, and not all of it was copied: {}; {} says what is missing, and {}/ "
                    "contains what could not be used",
                    fmt::join(ends, ", "), layout::kFailures, layout::kRecovery));
  }
  return {};
}

Result<void> FilesystemStore::take_over_copy() {
  PAWL_TRY(process_.refuse_copy());
  const auto adopted = adopt_if_copied();
  if (!adopted && category(adopted.error().code) != Category::storage) return std::unexpected(adopted.error());
  return {};
}

/// Returns whether it changed anything. A copy that can't be written is read as it is.
Result<bool> FilesystemStore::adopt_copy() {
  const Lock opening(open_mutex_);
  if (!made_ || journal_) return false;
  const auto store_lock = lock_store_file();
  if (!store_lock) return false;
  PAWL_TRY_ASSIGN(const auto snapshot, JournalSnapshot::take(files_, environment_.owner.boot_id));
  if (!snapshot->copied()) return true;  // another process did it
  std::vector<std::unique_ptr<File>> owners;
  for (const JournalView& journal : snapshot->journals()) {
    PAWL_TRY_ASSIGN(auto owner, files_.open(layout::journal_owner(journal.number), OpenMode::create));
    PAWL_TRY_ASSIGN(const bool free, owner->try_lock(layout::kWriterByte));
    if (!free) return false;  // somebody writes to the copy already
    owners.push_back(std::move(owner));
  }
  PAWL_TRY(settle_copy(snapshot));
  {
    PAWL_TRY_ASSIGN(const auto catalogue_lock, lock_catalogue());
    // The database first: a rollback journal must not be missing next to it.
    for (const std::string_view ending : {"", "-journal"}) {
      PAWL_TRY(files_.remove(std::string(layout::kCatalogue) + std::string(ending)));
      PAWL_TRY(files_.sync_folder("", SyncPoint::catalogue_name));
    }
  }
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const JournalView& journal = snapshot->journals()[i];
    if (journal.damage) {
      // From now on, the damage is what counts.
      PAWL_TRY(owners[i]->write_at(kWatermarkOffset, std::string(2 * kWatermarkBytes, '\0')));
    } else {
      PAWL_TRY(empty_journal(journal, *owners[i]));
    }
  }
  return true;
}

}  // namespace pawl
