// The file of a backup (docs/formats/backup.md): a tar archive in zstd frames, with a list of checksums at its end.
//
// Every frame is complete in itself and has at most kFrameContentMax bytes of content. So a part of the archive can be
// taken back while it is written, and reading needs a bounded amount of memory, whatever the file says.
#pragma once

#include <functional>
#include <optional>
#include <pawl/types.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "codec/tar_text.hpp"
#include "ports/file_system.hpp"

namespace pawl {

/// The first entry: what the backup is.
constexpr std::string_view kBackupAbout = "backup.json";
/// The last entry: the SHA-256 of every other one, in the format of sha256sum.
constexpr std::string_view kBackupSums = "backup.sha256";

struct BackupAbout {
  Uuid store = {};
  Timestamp at = {};
};
[[nodiscard]] std::string encode_backup_about(const BackupAbout& about);
/// Fails with backup_damaged, or with unsupported_version if the format is newer.
[[nodiscard]] Result<BackupAbout> decode_backup_about(std::string_view text);

/// What an entry of a run's folder with this name must be; nothing if it is not part of a run.
enum class RunPart : std::uint8_t { file, folder };
[[nodiscard]] std::optional<RunPart> run_part(std::string_view name);

/// Returns whether a backup may contain a file with this path, relative to the store's folder. Locks, keys and
/// everything that a store does not consist of are excluded.
[[nodiscard]] bool may_be_in_backup(std::string_view path);

/// What the last bytes of a backup say about it.
struct BackupTotals {
  std::uint64_t files = 0;          // without the list of checksums
  std::uint64_t content_bytes = 0;  // of these files
};

/// Writes a backup. Does not sync. Not thread-safe.
class BackupWriter {
 public:
  BackupWriter(File& file, Timestamp at);

  /// Returns up to `size` bytes at `offset`, fewer only at the end.
  using Read = std::function<Result<std::string>(std::uint64_t offset, std::uint64_t size)>;
  /// What to do with a file that is shorter than its size, because somebody truncated it meanwhile.
  enum class Short : std::uint8_t { fails, is_filled };

  /// Fails if the backup already has an entry with this path: such a backup could not be restored.
  Result<void> add(const std::string& path, std::string_view content);
  /// Returns false if the file is too short; take_back must follow.
  Result<bool> add(const std::string& path, std::uint64_t size_bytes, const Read& read, Short what);
  /// From here on, entries can be taken back.
  void mark();
  /// Removes everything since the mark.
  Result<void> take_back();
  /// Adds the list of checksums and the end. Returns what was written.
  Result<BackupTotals> finish();

  [[nodiscard]] std::uint64_t file_bytes() const { return end_; }
  [[nodiscard]] const BackupTotals& totals() const { return totals_; }

 private:
  Result<void> put(std::string_view bytes);
  Result<void> write_frame(std::size_t bytes);
  Result<void> flush();

  struct Mark {
    std::uint64_t end = 0;    // of the file
    std::size_t pending = 0;  // bytes
    std::size_t sums = 0;     // bytes
    BackupTotals totals = {};
  };

  File& file_;
  const std::int64_t modified_s_;
  std::string pending_;                       // not compressed yet
  std::string sums_;                          // the list of checksums
  std::set<std::string, std::less<>> paths_;  // of all entries
  std::vector<std::string> paths_since_mark_;
  std::uint64_t end_ = 0;  // of what was written to the file
  BackupTotals totals_;
  std::optional<Mark> mark_;
};

/// Reads a backup and checks it. Not thread-safe.
class BackupReader {
 public:
  explicit BackupReader(File& file);

  /// Reads the totals at the end of the file. Fails with backup_damaged if it is not a backup or is incomplete.
  Result<BackupTotals> totals();
  /// Returns the next entry, or nothing after the last one, when everything was checked. Fails with backup_damaged.
  Result<std::optional<TarHeader>> next();
  /// Returns the next part of the content of the current entry; an empty one at its end.
  Result<std::string> content();

 private:
  Result<std::string> take(std::uint64_t bytes);
  Result<void> read_frame();
  Result<void> close_entry();
  Result<void> check_end();

  File& file_;
  std::optional<BackupTotals> totals_;
  std::uint64_t file_end_ = 0;  // of the frames
  std::uint64_t at_ = 0;        // in the file
  std::string buffer_;          // decompressed
  std::size_t used_ = 0;        // of the buffer
  std::optional<TarHeader> entry_;
  std::uint64_t left_ = 0;  // of its content
  std::optional<Sha256Stream> hash_;
  Sha256Stream sums_;   // of the list as it should be
  std::string listed_;  // its SHA-256, as found
  BackupTotals found_;
};

}  // namespace pawl
