#include "adapters/filesystem/run_eraser.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include "adapters/filesystem/erased_file.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "audit/roots.hpp"
#include "domain/event_types.hpp"

namespace pawl {
namespace {

constexpr std::string_view kWorktrees = "/logs/worktrees/";

bool is_id_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
}

/// Returns whether the text mentions this run: its UUID, as text or as in a journal, or its id as a whole word.
bool mentions(std::string_view text, const RunName& run) {
  if (text.find(run.uuid.text()) != std::string_view::npos) return true;
  const std::string_view bytes(reinterpret_cast<const char*>(run.uuid.bytes.data()), run.uuid.bytes.size());
  if (text.find(bytes) != std::string_view::npos) return true;
  for (std::size_t at = text.find(run.id); at != std::string_view::npos; at = text.find(run.id, at + 1)) {
    const std::size_t end = at + run.id.size();
    if ((at == 0 || !is_id_character(text[at - 1])) && (end == text.size() || !is_id_character(text[end]))) return true;
  }
  return false;
}

/// Returns whether the file was set aside when a copy was taken over, and belongs to this run.
bool is_copied_part(std::string_view name, std::string_view run) {
  constexpr std::size_t kChecksumDigits = 8;
  const std::string prefix = fmt::format("copied-{}-", run);
  return name.starts_with(prefix) && name.size() == prefix.size() + kChecksumDigits + std::string_view(".bin").size();
}

}  // namespace

Result<std::vector<std::string>> wipe_set_aside(FileSystem& files, std::span<const RunName> runs, SetAside which) {
  std::vector<std::string> wiped;
  PAWL_TRY_ASSIGN(const bool exists, files.exists(layout::kRecovery));
  if (!exists) return wiped;
  PAWL_TRY_ASSIGN(const auto entries, files.list(layout::kRecovery));
  for (const FolderEntry& entry : entries) {
    const std::string path = join_path(layout::kRecovery, entry.name);
    if (entry.is_folder || path == layout::kFailures) continue;
    if (which == SetAside::by_pawl && !entry.name.ends_with(".bin")) continue;
    // A torn batch may contain data of any run, and was never acknowledged.
    bool goes = entry.name.starts_with("torn-") || entry.name.ends_with(".tmp");
    if (!goes) {
      const auto text = files.read_file(path);
      goes = std::ranges::any_of(runs, [&](const RunName& run) {
        return is_copied_part(entry.name, run.id) || (text && mentions(*text, run));
      });
    }
    if (!goes) continue;
    PAWL_TRY(wipe_file(files, path));
    wiped.push_back(path);
  }
  PAWL_TRY(files.sync_folder(layout::kRecovery, SyncPoint::erased_names));
  return wiped;
}

RunEraser::RunEraser(FileSystem& files, Environment environment, const FilesystemOptions& options, std::string run,
                     File& lock)
    : files_(files), environment_(std::move(environment)), options_(options), run_(std::move(run)), lock_(lock) {}

Result<void> RunEraser::lock_publishing() {
  for (std::int64_t waited_us = 0;; waited_us += kLockStepUs) {
    PAWL_TRY_ASSIGN(const bool locked, lock_.try_lock(layout::kPublisherByte));
    if (locked) return {};
    if (waited_us >= kLockWaitUs) {
      return fail(Error{Code::store_busy,
                        fmt::format("timed out waiting for another process that is publishing run '{}'", run_),
                        {},
                        "try again",
                        0});
    }
    environment_.clock->sleep_us(kLockStepUs);
  }
}

Result<void> RunEraser::write_mark(const ErasedRecord& record) {
  const std::string path = layout::erased(run_);
  const std::string temporary = path + ".tmp";
  PAWL_TRY(files_.remove(temporary));  // after a power loss it may be a second name of a renamed file
  PAWL_TRY_ASSIGN(const auto file, files_.open(temporary, OpenMode::create_empty));
  PAWL_TRY(file->write_at(0, encode_erased(record)));
  PAWL_TRY(file->sync(SyncPoint::erased_mark));
  PAWL_TRY(files_.rename(temporary, path));
  return files_.sync_folder(layout::run(run_), SyncPoint::erased_mark_name);
}

Result<void> RunEraser::mark(const ErasedRecord& record) {
  // This file tells the next process that opens the store what to finish, without a scan of all runs.
  PAWL_TRY(files_.make_folder(layout::kErasing));
  PAWL_TRY(files_.open(layout::erasing(run_), OpenMode::create));
  for (const std::string_view folder : {layout::kErasing, layout::kRuns, std::string_view()}) {
    PAWL_TRY(files_.sync_folder(folder, SyncPoint::erased_mark_name));
  }
  // Another process must not be writing files of the run.
  PAWL_TRY(lock_publishing());
  const auto written = write_mark(record);
  PAWL_TRY(lock_.unlock(layout::kPublisherByte));
  return written;
}

Result<void> RunEraser::mark_finished(ErasedRecord record) {
  record.finished = true;
  PAWL_TRY(write_mark(record));
  PAWL_TRY(lock_.resize(0));  // who held the run last is of no use anymore, and takes a block of the disk
  // If a crash restores the file, the mark says that there is nothing to do.
  return files_.remove(layout::erasing(run_));
}

Result<void> RunEraser::destroy(const ErasedRecord& record) {
  // The process that wrote the mark may have been killed before its name was durable.
  PAWL_TRY(files_.sync_folder(layout::run(run_), SyncPoint::erased_mark_name));
  PAWL_TRY(wipe_file(files_, layout::run_key(run_)));
  PAWL_TRY(files_.sync_folder(layout::run(run_), SyncPoint::erased_names));
  if (!record.removed) PAWL_TRY(close_audit(record));
  PAWL_TRY_ASSIGN(const Found found, find_data(record));
  PAWL_TRY(wipe(found, record));
  return record.removed ? Result<void>() : reduce_run_file(record);
}

/// Appends the entry `erased`.
Result<void> RunEraser::close_audit(const ErasedRecord& record) {
  PAWL_TRY(files_.make_folder(layout::audit_folder(run_)));
  PAWL_TRY_ASSIGN(const auto file, files_.open(layout::audit(run_), OpenMode::create));
  PAWL_TRY_ASSIGN(const auto last, last_line_below(*file, std::numeric_limits<std::uint64_t>::max()));
  const auto entry = last ? decode_audit(last->text) : fail(Code::chain_broken, "it is missing");
  const bool is_closed = entry && entry->type == event_type::kErased;
  if (record.finished && !is_closed) {
    // The entry was durable once. It is written again only if nothing before it is missing: a new one in place of
    // another entry would hide that loss.
    PAWL_TRY_ASSIGN(const auto roots, read_if_there(files_, layout::roots(run_)));
    const RootsText parsed = parse_roots(roots.value_or(""), seal_seed(record.uuid));
    const bool only_it = entry && !parsed.roots.empty() && parsed.roots.back().head == entry->hash;
    if (!only_it) return {};
  }
  // A damaged end of the trail stays damaged; the entry still records the erasure.
  std::uint64_t end = last ? last->end : 0;
  std::string line = encode_erased_entry(record, last ? last->number + 1 : 1,
                                         entry ? std::string_view(entry->hash) : first_previous_hash());
  if (is_closed) {
    line = last->text + "\n";  // rewritten, because its sync may have failed
    end -= line.size();
  }
  PAWL_TRY(file->write_at(end, line));
  PAWL_TRY(file->resize(end + line.size()));
  PAWL_TRY(file->sync(SyncPoint::published_file));
  PAWL_TRY(files_.sync_folder(layout::audit_folder(run_), SyncPoint::published_name));
  return files_.sync_folder(layout::run(run_), SyncPoint::published_name);
}

Result<void> RunEraser::find_below(const std::string& folder, Found& found) {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(folder));
  for (const FolderEntry& entry : entries) {
    const std::string path = join_path(folder, entry.name);
    if (entry.is_folder) {
      PAWL_TRY(find_below(path, found));
    } else {
      found.files.push_back(path);
    }
  }
  found.folders.push_back(folder);
  return {};
}

/// Returns everything in the folder of the run that may be removed.
Result<RunEraser::Found> RunEraser::find_data(const ErasedRecord& record) {
  const auto stays = [&](std::string_view name) {
    return name == "lock" || name == "erased.json" || (!record.removed && (name == "run.json" || name == "audit"));
  };
  Found found;
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::run(run_)));
  for (const FolderEntry& entry : entries) {
    const std::string path = join_path(layout::run(run_), entry.name);
    if (stays(entry.name)) continue;
    if (entry.is_folder) {
      PAWL_TRY(find_below(path, found));
    } else {
      found.files.push_back(path);
    }
  }
  if (record.removed) return found;
  PAWL_TRY_ASSIGN(const auto audit, files_.list(layout::audit_folder(run_)));
  for (const FolderEntry& entry : audit) {
    if (entry.name.ends_with(".tmp")) found.files.push_back(join_path(layout::audit_folder(run_), entry.name));
  }
  return found;
}

/// The zeros are made durable before a file is removed; otherwise the kernel might never write them. Files of a
/// worktree may be hard links to files elsewhere, so they are only unlinked.
Result<void> RunEraser::wipe(const Found& found, const ErasedRecord& record) {
  const bool many = found.files.size() > options_.sync_all_from_files;
  for (const std::string& path : found.files) {
    if (path.find(kWorktrees) != std::string::npos) continue;
    PAWL_TRY_ASSIGN(const auto file, open_to_wipe(files_, path));
    if (!file) continue;
    PAWL_TRY(overwrite(*file, 0));
    if (!many) PAWL_TRY(file->sync(SyncPoint::erased_bytes));
  }
  if (many) PAWL_TRY(files_.sync_all(SyncPoint::erased_bytes));
  for (const std::string& path : found.files) PAWL_TRY(files_.remove(path));
  for (const std::string& folder : found.folders) PAWL_TRY(files_.remove(folder));
  if (!record.removed) PAWL_TRY(files_.sync_folder(layout::audit_folder(run_), SyncPoint::erased_names));
  return files_.sync_folder(layout::run(run_), SyncPoint::erased_names);
}

/// Removes the salt: without it, short states can't be guessed from their hashes.
Result<void> RunEraser::reduce_run_file(const ErasedRecord& record) {
  RunRecord reduced;
  const auto text = files_.read_file(layout::run_file(run_), 1ULL << 20);
  if (!text && text.error().code != Code::input_unreadable) return std::unexpected(text.error());
  if (const auto before = text ? decode_run(*text) : std::unexpected(text.error())) reduced = *before;
  reduced.run = run_;
  reduced.uuid = record.uuid;
  reduced.created = record.created;
  reduced.workflow.clear();
  reduced.workflow_hash.clear();
  reduced.session.clear();
  reduced.salt.clear();
  return replace(layout::run_file(run_), encode_run(reduced));
}

Result<void> RunEraser::replace(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".tmp";
  PAWL_TRY_ASSIGN(const auto old, open_to_wipe(files_, path));
  PAWL_TRY(files_.remove(temporary));
  PAWL_TRY_ASSIGN(const auto file, files_.open(temporary, OpenMode::create_empty));
  PAWL_TRY(file->write_at(0, text));
  PAWL_TRY(file->sync(SyncPoint::erased_bytes));
  PAWL_TRY(files_.rename(temporary, path));
  PAWL_TRY(files_.sync_folder(parent_folder(path), SyncPoint::erased_names));
  if (!old) return {};
  PAWL_TRY(overwrite(*old, 0));
  return old->sync(SyncPoint::erased_bytes);
}

Result<void> RunEraser::clean_recovery(const ErasedRecord& record) {
  PAWL_TRY(wipe_set_aside(files_, std::array{RunName{record.run, record.uuid}}, SetAside::all));
  return clean_failures(record);
}

Result<void> RunEraser::clean_failures(const ErasedRecord& record) {
  const std::string path(layout::kFailures);
  const auto text = files_.read_file(path);
  if (!text && text.error().code == Code::input_unreadable) return {};
  if (!text) return std::unexpected(text.error());
  std::string kept;
  for_each_line(*text, [&](std::string_view line, bool /*complete*/) {
    if (!mentions(line, {record.run, record.uuid})) kept += fmt::format("{}\n", line);
    return true;
  });
  if (kept == *text) return {};
  return replace(path, kept);
}

}  // namespace pawl
