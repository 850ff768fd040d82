#include "adapters/filesystem/publisher.hpp"

#include <algorithm>
#include <limits>

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/pruned_file.hpp"
#include "adapters/filesystem/trail_file.hpp"
#include "adapters/filesystem/whole_file.hpp"

namespace pawl {
namespace {

std::uint64_t number_of(const JournalRecord& record, bool by_sequence) {
  return by_sequence ? record.sequence.value : record.number;
}

/// Returns `2026-01-11` from `{"n":1,"seq":1,"at":"2026-01-11T...`
std::string_view day_of(std::string_view event_line) {
  constexpr std::string_view kKey = "\"at\":\"";
  const auto found = event_line.find(kKey);
  return found == std::string_view::npos ? "unknown" : event_line.substr(found + kKey.size(), 10);
}

/// The data after the lines just written is either later lines of another journal, which are kept, or left by a crash
/// and removed.
Result<void> cut_garbage(File& file, std::uint64_t end, std::uint64_t next_number) {
  constexpr std::uint64_t kLookBytes = 64;
  PAWL_TRY_ASSIGN(const std::uint64_t size, file.size());
  if (size == end) return {};
  PAWL_TRY_ASSIGN(const std::string rest, file.read_at(end, std::min(kLookBytes, size - end)));
  if (line_number(rest) == next_number) return {};
  return file.resize(end);
}

/// When publishing lazily, a file of the right size is taken as it is: the journal still contains its content.
Result<bool> has_content(File& file, std::string_view text, Publish mode) {
  PAWL_TRY_ASSIGN(const std::uint64_t size, file.size());
  if (size != text.size() || mode != Publish::settled) return size == text.size();
  PAWL_TRY_ASSIGN(const std::string content, file.read_at(0, size));
  return content == text;
}

}  // namespace

Result<void> collect(const SegmentView& segment, RunBatches& batches) {
  for (const Batch& batch : segment.scan.batches) {
    PAWL_TRY_ASSIGN(const auto records, decode_records(batch));
    for (const JournalRecord& record : records) {
      auto found = batches.find(record.run);
      if (found == batches.end()) found = batches.try_emplace(std::string(record.run)).first;
      RunBatch& run = found->second;
      switch (record.type) {
        case RecordType::run: run.run = record.text; break;
        case RecordType::checkpoint: run.checkpoints.push_back(record); break;
        case RecordType::event: run.events.push_back(record); break;
        case RecordType::audit: run.audit.push_back(record); break;
        default:
          return fail(Code::unsupported_version,
                      "a journal contains a record of type {}, which this version of pawl does not support",
                      static_cast<unsigned>(record.type));
      }
    }
  }
  return {};
}

RunBatch whole_batch(const RunRecords& records) {
  RunBatch batch;
  if (records.run) batch.run = records.run->text;
  for (const auto& [sequence, found] : records.checkpoints) batch.checkpoints.push_back(found.record);
  for (const auto& [number, record] : records.events) batch.events.push_back(record);
  for (const auto& [number, record] : records.audit) batch.audit.push_back(record);
  return batch;
}

std::vector<JournalRecord>::const_iterator first_unconnected(const std::vector<JournalRecord>& records,
                                                             std::uint64_t last) {
  return std::ranges::find_if(records, [&](const JournalRecord& record) {
    if (record.number > last + 1) return true;
    last = std::max(last, record.number);
    return false;
  });
}

Publisher::Publisher(FileSystem& files, const Environment& environment, const FilesystemOptions& options)
    : files_(files), environment_(environment), options_(options) {}

Result<bool> Publisher::publish(std::string_view run, const RunBatch& batch, Publish mode) {
  auto lock = lock_run(run, OpenMode::write, mode);
  if (!lock && lock.error().code == Code::input_unreadable) {
    // The names of the folder and of the lock were not synced, and a power loss has removed them.
    PAWL_TRY_ASSIGN(const bool erased, is_erased(run, mode));
    if (erased) return true;
    PAWL_TRY(files_.make_folder(layout::kRuns));
    PAWL_TRY(files_.make_folder(layout::run(run)));
    lock = lock_run(run, OpenMode::create, mode);
  }
  if (!lock) return std::unexpected(lock.error());
  return *lock ? publish_locked(run, batch, mode) : Result<bool>(false);
}

/// Returns null if another process is publishing the run, unless the records are to be settled.
Result<std::unique_ptr<File>> Publisher::lock_run(std::string_view run, OpenMode open, Publish mode) {
  PAWL_TRY_ASSIGN(auto lock, files_.open(layout::run_lock(run), open));
  for (std::int64_t waited_us = 0;; waited_us += kLockStepUs) {
    PAWL_TRY_ASSIGN(const bool locked, lock->try_lock(layout::kPublisherByte));
    if (locked) return lock;
    if (mode != Publish::settled) return nullptr;
    if (waited_us >= kLockWaitUs) {
      return fail(Code::store_busy, "timed out waiting for another process that is publishing run '{}'", run);
    }
    environment_.clock->sleep_us(kLockStepUs);
  }
}

/// An erased run is never written again.
Result<bool> Publisher::is_erased(std::string_view run, Publish mode) {
  PAWL_TRY_ASSIGN(const bool erased, files_.exists(layout::erased(run)));
  // The journal may discard the records once the name of the mark is durable.
  if (erased && mode == Publish::settled) folders_.insert(layout::run(run));
  return erased;
}

Result<bool> Publisher::publish_locked(std::string_view run, const RunBatch& batch, Publish mode) {
  PAWL_TRY_ASSIGN(const bool erased, is_erased(run, mode));
  if (erased) return true;
  if (known_.size() > kKnownMax) known_.clear();
  if (written_.size() > kKnownMax) written_.clear();
  PAWL_TRY_ASSIGN(const NewFolders made, make_folders(run, batch, mode));
  if (batch.run) PAWL_TRY(write_whole(layout::run_file(run), *batch.run, mode));
  PAWL_TRY_ASSIGN(const bool checkpoints, publish_checkpoints(run, batch, mode, made.checkpoints));
  if (!checkpoints) return false;
  PAWL_TRY_ASSIGN(const bool events, publish_events(run, batch, mode));
  if (!events) return false;
  if (batch.audit.empty()) return true;
  PAWL_TRY_ASSIGN(const bool audit, append({run, layout::audit(run), 1, false, made.audit}, batch.audit, mode));
  if (audit && mode != Publish::lazy) PAWL_TRY(publish_roots(run, batch.audit, mode, made.audit));
  return audit;
}

Result<Publisher::NewFolders> Publisher::make_folders(std::string_view run, const RunBatch& batch, Publish mode) {
  NewFolders made;
  const auto make = [&](const std::string& folder, bool& created) -> Result<void> {
    if (written_.contains(folder)) return {};
    PAWL_TRY_ASSIGN(created, files_.make_folder(folder));
    // The process that created it may not have synced its name.
    if (mode == Publish::settled) {
      folders_.insert(std::string(parent_folder(folder)));
      written_.insert(folder);
    }
    return {};
  };
  PAWL_TRY(make(layout::checkpoints(run), made.checkpoints));
  PAWL_TRY(make(layout::audit_folder(run), made.audit));
  bool events = false;
  if (!batch.events.empty()) PAWL_TRY(make(layout::events_folder(run), events));
  // Neither may the process that created the folder of the run.
  if (mode == Publish::settled && written_.insert(layout::run(run)).second)
    folders_.insert({std::string(layout::kRuns), std::string()});
  return made;
}

/// Two processes may settle the same run, and one may recycle its journal between the rename and the sync of the other.
/// So a complete file is never replaced: both write and sync the same file.
Result<void> Publisher::write_whole(const std::string& path, std::string_view text, Publish mode) {
  const bool known = written_.contains(path);
  if (known && mode != Publish::settled) return {};
  auto existing = files_.open(path, OpenMode::write);
  if (!existing && existing.error().code != Code::input_unreadable) return std::unexpected(existing.error());
  if (existing) {
    std::shared_ptr<File> file = std::move(*existing);
    PAWL_TRY_ASSIGN(const bool same, known ? Result<bool>(true) : has_content(*file, text, mode));
    if (same) {
      // The pages may never have reached the disk, and still look clean.
      if (!known && mode == Publish::settled) PAWL_TRY(file->write_at(0, text));
      if (mode == Publish::settled) written_.insert(path);
      touch(path, std::move(file), mode);
      return {};
    }
  }
  return write_new(path, text, mode);
}

Result<void> Publisher::write_new(const std::string& path, std::string_view text, Publish mode) {
  PAWL_TRY_ASSIGN(std::shared_ptr<File> file, write_whole_file(files_, path, text, std::nullopt));
  written_.insert(path);
  touch(path, std::move(file), mode);
  return {};
}

Result<bool> Publisher::publish_checkpoints(std::string_view run, const RunBatch& batch, Publish mode,
                                            bool in_new_folder) {
  if (batch.checkpoints.empty()) return true;
  PrunedList pruned;
  if (!in_new_folder) {
    PAWL_TRY_ASSIGN(pruned, load_pruned(files_, run, seal_seed(batch.checkpoints.front().run_uuid)));
  }
  std::vector<JournalRecord> lines;
  const auto append_lines = [&]() -> Result<bool> {
    if (lines.empty()) return true;
    const Sequence base{lines.front().number};
    auto done = append({run, layout::differences(run, base), base.value + 1, true, in_new_folder}, lines, mode);
    lines.clear();
    return done;
  };
  for (const JournalRecord& record : batch.checkpoints) {
    if (pruned.is_closed(record.sequence) || pruned.is_aside(record.sequence)) {
      // The journal may discard the record once the name of the list is durable.
      if (mode == Publish::settled) folders_.insert(layout::checkpoints(run));
      continue;
    }
    if (record.flags != RecordFlags::own_file && (lines.empty() || lines.front().number == record.number)) {
      lines.push_back(record);
      continue;
    }
    PAWL_TRY_ASSIGN(const bool done, append_lines());
    if (!done) return false;
    if (record.flags == RecordFlags::own_file) {
      const std::string path = layout::full(run, record.sequence);
      PAWL_TRY(in_new_folder ? write_new(path, record.text, mode) : write_whole(path, record.text, mode));
    } else {
      lines.push_back(record);
    }
  }
  return append_lines();
}

/// The file of a day starts after the last event of the previous days.
Result<std::uint64_t> Publisher::first_event_after_earlier_days(std::string_view run, std::string_view day) {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::events_folder(run)));
  const std::string today = fmt::format("events_{}.jsonl", day);
  std::string newest;
  for (const FolderEntry& entry : entries) {
    if (is_event_file(entry) && entry.name < today) newest = std::max(newest, entry.name);
  }
  if (newest.empty()) {
    const auto text = files_.read_file(layout::run_file(run), 1ULL << 20);  // written before any event
    const auto record = text ? decode_run(*text) : std::unexpected(text.error());
    return record ? record->fork_events + 1 : 1;
  }
  PAWL_TRY_ASSIGN(const auto file, files_.open(join_path(layout::events_folder(run), newest), OpenMode::read));
  PAWL_TRY_ASSIGN(const auto line, last_line_below(*file, std::numeric_limits<std::uint64_t>::max()));
  return line ? line->number + 1 : 1;
}

Result<bool> Publisher::publish_events(std::string_view run, const RunBatch& batch, Publish mode) {
  std::size_t begin = 0;
  while (begin < batch.events.size()) {
    const std::string_view day = day_of(batch.events[begin].text);
    std::size_t end = begin;
    while (end < batch.events.size() && day_of(batch.events[end].text) == day) ++end;
    const auto of_day = std::span(batch.events).subspan(begin, end - begin);
    PAWL_TRY_ASSIGN(const std::uint64_t first_of_day, first_event_after_earlier_days(run, day));
    PAWL_TRY_ASSIGN(const bool done, append({run, layout::events(run, day), first_of_day}, of_day, mode));
    if (!done) return false;
    begin = end;
  }
  return true;
}

/// Returns where lines first..last are to be appended: after `last_number`, at offset `end`. Returns nothing if they
/// can't be appended lazily.
Result<std::optional<Publisher::Known>> Publisher::append_point(File& file, const Lines& lines, std::uint64_t first,
                                                                std::uint64_t last, Publish mode) {
  if (const auto found = known_.find(lines.path); found != known_.end() && found->second.last_number + 1 >= first) {
    return std::optional(found->second);
  }
  // Lazy publishing trusts the existing lines. Settling trusts only those that the journal no longer contains.
  const std::uint64_t limit = mode != Publish::settled ? last + 1 : first;
  std::optional<FoundLine> line;
  if (!lines.in_new_folder) {
    PAWL_TRY_ASSIGN(line, last_line_below(file, limit));
  }
  // Zeros mean that a power loss lost a sector, so the offset after them can't be trusted.
  if (mode != Publish::settled && line && line->text.find('\0') != std::string::npos) return std::optional<Known>();
  const bool starts_here = lines.first_possible == first;
  if (!line && starts_here) return std::optional(Known{first - 1, 0});
  if (line && line->number + 1 >= first) return std::optional(Known{line->number, line->end});
  if (mode != Publish::settled) return std::optional<Known>();
  return fail(Error{Code::chain_broken,
                    fmt::format("can't append line {}: the last line is {}", first, line ? line->number : 0),
                    lines.path,
                    {},
                    0,
                    Advice::check_store});
}

/// Appends one stretch of consecutive records after the other.
Result<bool> Publisher::append(Lines lines, std::span<const JournalRecord> records, Publish mode) {
  while (!records.empty()) {
    std::size_t count = 1;
    while (count < records.size() &&
           number_of(records[count], lines.by_sequence) == number_of(records[count - 1], lines.by_sequence) + 1) {
      ++count;
    }
    const auto done = append_unbroken(lines, records.first(count), mode);
    if (!done && done.error().code == Code::chain_broken) {
      // What connects these lines to the file was lost with a damaged batch, and a repair set their save aside.
      PAWL_TRY_ASSIGN(const PrunedList pruned, load_pruned(files_, lines.run, seal_seed(records.front().run_uuid)));
      if (!pruned.is_aside(records.front().sequence)) return done;
    } else if (!done || !*done) {
      return done;
    }
    records = records.subspan(count);
    lines.in_new_folder = false;  // the file is there now
  }
  return true;
}

Result<bool> Publisher::append_unbroken(const Lines& lines, std::span<const JournalRecord> records, Publish mode) {
  const std::uint64_t first = number_of(records.front(), lines.by_sequence);
  const std::uint64_t last = number_of(records.back(), lines.by_sequence);
  const bool is_trail = lines.path == layout::audit(lines.run);
  PAWL_TRY_ASSIGN(std::shared_ptr<File> file, is_trail && !lines.in_new_folder
                                                  ? open_trail(files_, lines.run, OpenMode::create)
                                                  : files_.open(lines.path, OpenMode::create));
  PAWL_TRY_ASSIGN(const auto point, append_point(*file, lines, first, last, mode));
  if (!point) return false;
  Known known = *point;
  std::string text;
  std::size_t bytes = 0;
  for (const JournalRecord& record : records) bytes += record.text.size();
  text.reserve(bytes);
  for (const JournalRecord& record : records) {
    if (number_of(record, lines.by_sequence) > known.last_number) text += record.text;
  }
  if (!text.empty()) {
    PAWL_TRY(file->write_at(known.end, text));
    known.end += text.size();
    known.last_number = last;
    if (!lines.in_new_folder) PAWL_TRY(cut_garbage(*file, known.end, last + 1));
  }
  // Lines that existed before a lazy append were written by another process, which may not have synced them. They don't
  // count as known.
  if (mode == Publish::settled || known_.contains(lines.path) || point->end == 0) known_[lines.path] = known;
  touch(lines.path, std::move(file), mode);
  return true;
}

void Publisher::touch(const std::string& path, std::shared_ptr<File> file, Publish mode) {
  if (mode != Publish::settled) return;
  // Above the limit, one syncfs replaces the individual syncs, so the file need not stay open.
  if (touched_.size() <= options_.sync_all_from_files) touched_[path] = std::move(file);
  folders_.insert(std::string(parent_folder(path)));
}

/// A folder that another process has removed with its run has no names to sync.
Result<void> Publisher::sync_names(const std::string& folder) {
  const auto synced = files_.sync_folder(folder, SyncPoint::published_name);
  if (synced) return {};
  PAWL_TRY_ASSIGN(const bool exists, files_.exists(folder));
  return exists ? synced : Result<void>();
}

Result<void> Publisher::sync() {
  const auto touched = std::exchange(touched_, {});
  const auto folders = std::exchange(folders_, {});
  const auto sync_each = [&]() -> Result<void> {
    if (touched.size() + folders.size() > options_.sync_all_from_files)
      return files_.sync_all(SyncPoint::published_all);
    for (const auto& [path, file] : touched) PAWL_TRY(file->sync(SyncPoint::published_file));
    for (const std::string& folder : folders) PAWL_TRY(sync_names(folder));
    return {};
  };
  auto synced = sync_each();
  if (!synced) {
    known_.clear();
    known_roots_.clear();
    written_.clear();
  }
  return synced;
}

}  // namespace pawl
