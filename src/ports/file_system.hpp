// The file system as a port. All disk access of the store goes through it, so that the same store runs on a real disk,
// on a simulated one that loses power, and on one that fails on request.
//
// Crash model: after `File::sync` has succeeded, the bytes and the size of the file survive a power loss. The name of a
// file survives once its folder was synced. Data that was not synced may survive in any part and order, down to single
// sectors of 512 bytes, each of them complete. After a failed sync nothing is known about data written since the last
// successful one, even if it can be read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pawl {

/// The reason for a sync. Every sync has one, so that flushes can be counted by cause and tests can prove that each is
/// necessary.
enum class SyncPoint : std::uint8_t {
  journal_batch,        // a batch of saves: the durability point
  journal_takeover,     // the unsynced tail of a dead writer, before it is shown
  segment_created,      // a new journal segment's zeros and header
  segment_recycled,     // a segment's new header, before the segment is reused
  segment_name,         // the name of a new segment
  takeover_name,        // the names of segments that a dead writer created
  journal_name,         // the name of a journal's folder
  journals_name,        // the names in the store's folder: that of the journals, and store.json's
  blob,                 // a large payload, before the record that refers to it
  blob_name,            // its name
  blob_folder_name,     // the names of its parent folders
  published_file,       // a readable file, before the journal discards its records
  published_name,       // its name, and those of its parent folders
  published_all,        // the same for many files at once
  store_file,           // store.json, before its name can be durable
  side_file,            // side files: torn tails, the log of failures, the list of damaged checkpoints
  side_name,            // its name
  inbox_message,        // a message to a run, before it gets its name
  inbox_name,           // its name, and those of its parent folders
  run_key,              // the data key of a new run, before the first record that needs it
  run_key_name,         // its name, and those of its parent folders
  store_file_name,      // the name of a store.json that replaced another
  pruned_kept,          // the checkpoints of a group that are kept, before the group is removed
  pruned_callers,       // the caller IDs of checkpoints, before these are removed
  pruned_new_names,     // the names of both
  pruned_list,          // the list of pruned checkpoints, before it gets its name
  pruned_list_name,     // its name, before anything is removed
  fork_note,            // the note about a fork in its parent, before it gets its name
  fork_note_name,       // its name, and those of its parent folders, before the fork's first record
  erased_mark,          // erased.json, before it gets its name
  erased_mark_name,     // its name, before anything of the run is destroyed
  erased_bytes,         // zeros over erased data: in files that are then removed, and in journals
  erased_names,         // the removal of these names, and of files that were pruned
  imported_files,       // all files of an imported run, before it gets its name
  imported_name,        // its name
  catalogue,            // the catalogue and its rollback journal, in SQLite's order
  catalogue_name,       // the names of both
  backup_file,          // a backup, before it gets its name
  backup_name,          // its name
  restored_files,       // all files of a restored store, before its folder gets its name
  restored_name,        // that name
  archived_trail,       // an archive of audit entries, before it gets its name
  archived_trail_name,  // its name, before the entries are cut off the trail
  cut_trail,            // the rest of the trail, before it replaces the trail
  cut_trail_name,       // its name, before archives that were merged are removed
};
constexpr std::size_t kSyncPointCount = 45;
[[nodiscard]] std::string_view to_text(SyncPoint point);

/// An open file. Not thread-safe, except that `sync` may run at the same time as `write_at` and `read_at`. Closing it
/// releases its locks. Child processes do not inherit it.
class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;

  /// Reads up to `size` bytes at `offset`; fewer only at the end of the file.
  virtual Result<std::string> read_at(std::uint64_t offset, std::uint64_t size) = 0;
  /// Writes all of `bytes`. On failure any part of it may have been written.
  virtual Result<void> write_at(std::uint64_t offset, std::string_view bytes) = 0;
  /// Makes bytes and size durable (fdatasync). On failure the outcome is unknown: see above.
  virtual Result<void> sync(SyncPoint point) = 0;
  virtual Result<void> resize(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> size() = 0;
  /// Returns a number that a copy of this file does not share. Moving, renaming or writing the file does not change it.
  /// 0: unknown.
  virtual Result<std::uint64_t> id() { return std::uint64_t{0}; }
  /// Returns the offset of the first byte at or after `offset` that is not in a hole; the size if there is none. Where
  /// holes are not known, returns `offset`.
  virtual Result<std::uint64_t> next_data(std::uint64_t offset) { return offset; }

  /// Takes the exclusive kernel lock on one byte of this file, without waiting. Returns false if another open file
  /// holds it, in this process or another. `unlock`, closing the file and the end of the process release it.
  virtual Result<bool> try_lock(std::uint64_t byte) = 0;
  /// The same for a lock that several may share. Replaces an exclusive lock of this file, and `try_lock` replaces it.
  virtual Result<bool> try_lock_shared(std::uint64_t byte) = 0;
  virtual Result<void> unlock(std::uint64_t byte) = 0;
  /// Returns whether somebody else holds that lock. Does not take it, so it can't disturb a writer.
  virtual Result<bool> locked_elsewhere(std::uint64_t byte) = 0;
};

enum class OpenMode : std::uint8_t {
  read,          // must exist
  write,         // must exist; also reads
  create,        // reads and writes; created if missing, kept otherwise
  create_empty,  // reads and writes; created if missing, emptied otherwise
  wipe,          // like write, for a file that is overwritten and removed: it may have a huge hole
};

/// The bytes of a file, valid as long as this object exists.
struct FileContent {
  std::shared_ptr<const void> keeper;
  std::string_view bytes;
};

struct FolderEntry {
  std::string name;
  bool is_folder = false;
};

/// Thread-safe. Paths are relative to the root of the file system (the folder of the store) and separated by '/'.
class FileSystem {
 public:
  FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  virtual ~FileSystem() = default;

  /// Fails with `input_unreadable` if it does not exist (modes read and write), and with `store_damaged` if it is not a
  /// file, or has a huge hole: Pawl writes none, and reading it would need that much time and memory.
  virtual Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) = 0;
  virtual Result<bool> exists(std::string_view path) = 0;
  /// Returns the entries without "." and "..", in any order. A missing folder is empty.
  virtual Result<std::vector<FolderEntry>> list(std::string_view folder) = 0;
  /// Creates the folder; its parent must exist. Returns false if it exists already.
  virtual Result<bool> make_folder(std::string_view path) = 0;
  /// Renames atomically and replaces `to`. Durable only after sync_folder of its folder.
  virtual Result<void> rename(std::string_view from, std::string_view to) = 0;
  /// Removes a file or an empty folder. A missing one is fine.
  virtual Result<void> remove(std::string_view path) = 0;
  /// Removes an empty folder. A missing one is fine.
  virtual Result<void> remove_folder(std::string_view path) = 0;
  /// Makes the names in this folder durable.
  virtual Result<void> sync_folder(std::string_view path, SyncPoint point) = 0;
  /// Makes everything written so far durable, names included (syncfs).
  virtual Result<void> sync_all(SyncPoint point) = 0;

  /// Reads a whole file. One of more than `size_max` bytes is damaged.
  Result<std::string> read_file(std::string_view path, std::uint64_t size_max = std::uint64_t{1} << 32);
  /// The same for a file that never changes: a large one may be mapped instead of copied. Read errors are reported
  /// here, not as a signal later.
  virtual Result<FileContent> content(std::string_view path, std::uint64_t size_max = std::uint64_t{1} << 32);
};

[[nodiscard]] std::string join_path(std::string_view folder, std::string_view name);
[[nodiscard]] std::string_view parent_folder(std::string_view path);

}  // namespace pawl
