// The file system as a port. Everything the store does to a disk goes through here, so that the same
// store runs on the real disk, on a simulated one that loses power, and on one that fails on request.
//
// Crash model that callers may rely on: after `File::sync` returns success, the file's bytes and size
// survive power loss; a file's name survives once the folder that holds it was synced. What was not
// synced may survive in any part and order, down to single 512-byte sectors, each whole.
// After a failed sync nothing may be assumed about what was written since the last successful one,
// although reading it back may show it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pawl {

/// Why something is made durable. Every sync names its reason, so that flushes can be counted by cause
/// and each one's necessity be shown.
enum class SyncPoint : std::uint8_t {
  journal_batch,     // a batch of saves: the durability point of promise 1
  journal_takeover,  // the unsynced tail of a dead writer, before it is shown
  segment_created,   // a new journal segment's zeros and header
  segment_recycled,  // a segment's new header, before it is written again
  segment_name,      // the name of a new segment
  takeover_name,     // the names of segments that a dead writer made
  journal_name,      // the name of a journal's folder
  journals_name,     // the names in the store's folder: that of the journals, and store.json's
  blob,              // a large payload, before the record that refers to it
  blob_name,         // its name
  blob_folder_name,  // the names of the folders on the way to it
  published_file,    // a readable file, before the journal forgets its records
  published_name,    // its name, and those of the folders on the way to it
  published_all,     // the same for many files at once
  store_file,        // store.json, before its name can be durable
  side_file,         // something set aside: torn tails, the log of failures, the list of damaged checkpoints
  side_name,         // its name
  inbox_message,     // a message to a run, before it gets its name
  inbox_name,        // its name, and those of the folders on the way to it
  run_key,           // the data key of a new run, before the first record that needs it
  run_key_name,      // its name, and those of the folders on the way to it
  store_file_name,   // the name of a store.json that took the place of another
  pruned_kept,       // what is kept of a group of checkpoints, before the group is given up
  pruned_callers,    // the callers' ids of checkpoints, before these are given up
  pruned_new_names,  // the names of both
  pruned_list,       // the list of what was pruned, before it gets its name
  pruned_list_name,  // its name, before anything is removed
  fork_note,         // what tells a run of its fork, before it gets its name
  fork_note_name,    // its name, and those of the folders on the way to it, before the fork's first record
  erased_mark,       // that a run is erased, before that has a name
  erased_mark_name,  // its name, before anything of the run is destroyed
  erased_bytes,      // zeros over what is erased: in files that then lose their names, and in journals
  erased_names,      // that these names are gone
  imported_files,    // all of a run that arrives, before it gets its name
  imported_name,     // its name
};
constexpr std::size_t kSyncPointCount = 35;
[[nodiscard]] std::string_view to_text(SyncPoint point);

/// An open file. Not thread-safe, except that `sync` may run beside `write_at` and `read_at`.
/// Closing releases its locks. Never inherited by child processes.
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

  /// Takes the kernel lock on one byte of this file, exclusive, without waiting. False: another open
  /// file holds it (in this process or another). It is released by `unlock`, by closing, and by death.
  virtual Result<bool> try_lock(std::uint64_t byte) = 0;
  virtual Result<void> unlock(std::uint64_t byte) = 0;
  /// Whether someone else holds that lock; takes nothing, so it can't disturb a writer.
  virtual Result<bool> locked_elsewhere(std::uint64_t byte) = 0;
};

enum class OpenMode : std::uint8_t {
  read,          // must exist
  write,         // must exist; also reads
  create,        // reads and writes; made if missing, kept if not
  create_empty,  // reads and writes; made if missing, emptied if not
};

/// A file's bytes, for as long as this is kept.
struct FileContent {
  std::shared_ptr<const void> keeper;
  std::string_view bytes;
};

struct FolderEntry {
  std::string name;
  bool is_folder = false;
};

/// Thread-safe. Paths are relative to the file system's root (the store's folder), parts joined by '/'.
class FileSystem {
 public:
  FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  virtual ~FileSystem() = default;

  /// `input_unreadable` where it does not exist (modes read and write).
  virtual Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) = 0;
  virtual Result<bool> exists(std::string_view path) = 0;
  /// Entries without "." and "..", in no order. A missing folder has none.
  virtual Result<std::vector<FolderEntry>> list(std::string_view folder) = 0;
  /// Makes the folder; its parent must exist. An existing one is fine. True: it was made.
  virtual Result<bool> make_folder(std::string_view path) = 0;
  /// Atomic; replaces `to`. Durable only after sync_folder of the folder that holds it.
  virtual Result<void> rename(std::string_view from, std::string_view to) = 0;
  /// Removes a file or an empty folder. A missing one is fine.
  virtual Result<void> remove(std::string_view path) = 0;
  /// Only an empty one. A missing one is fine.
  virtual Result<void> remove_folder(std::string_view path) = 0;
  /// Makes the names in this folder durable.
  virtual Result<void> sync_folder(std::string_view path, SyncPoint point) = 0;
  /// Makes everything written so far durable, names included (syncfs).
  virtual Result<void> sync_all(SyncPoint point) = 0;

  /// Reads a whole file of at most `size_max` bytes.
  Result<std::string> read_file(std::string_view path, std::uint64_t size_max = std::uint64_t{1} << 32);
  /// The same, of a file that is never changed: a large one may be mapped instead of copied. What can't be read is an
  /// error here, not a signal later.
  virtual Result<FileContent> content(std::string_view path, std::uint64_t size_max = std::uint64_t{1} << 32);
};

[[nodiscard]] std::string join_path(std::string_view folder, std::string_view name);
[[nodiscard]] std::string_view parent_folder(std::string_view path);

}  // namespace pawl
