// A run as one portable file, and back: docs/formats/export.md.
//
// Sending copies the run's files as they are, after what the journals still hold was written to them. Receiving writes
// them to `runs/.import`, syncs all of it, checks it as fsck does, and gives it its name: until then no reader sees
// anything, and what a killed import leaves there is removed by the next one.
#pragma once

#include <functional>
#include <pawl/types.hpp>
#include <string>
#include <vector>

#include "adapters/filesystem/fork_notes.hpp"
#include "base/hash.hpp"
#include "codec/export_text.hpp"
#include "codec/record_text.hpp"
#include "ports/file_system.hpp"

namespace pawl {

enum class SendLogs : std::uint8_t { no, yes };

struct SentRun {
  Uuid uuid = {};
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::string sha256 = {};
  bool encrypted = false;
};

struct ReceivedRun {
  std::string run = {};
  Uuid uuid = {};
  Sequence latest = {};
  std::string checksum = {};  // of the latest
  std::uint64_t checkpoints = 0;
  std::uint64_t files = 0;
  bool repeated = false;
  std::optional<ForkNote> fork = {};  // what the run that it is a fork of has to know
  std::string fork_of = {};           // that run
};

/// Paths below the run's folder, sorted: what an export holds.
[[nodiscard]] Result<std::vector<std::string>> files_to_send(FileSystem& files, const std::string& run, SendLogs logs);

/// Writes the portable file. Not thread-safe.
class RunSender {
 public:
  RunSender(FileSystem& files, std::string run, std::function<Result<void>(std::string_view)> write);
  Result<SentRun> send(const ExportHeader& header, const std::vector<std::string>& names);

 private:
  Result<void> put(std::string_view bytes);
  Result<void> put_file(const std::string& name);

  FileSystem& files_;
  const std::string run_;
  const std::function<Result<void>(std::string_view)> write_;
  Sha256Stream hash_;
  std::uint64_t bytes_ = 0;
};

/// Reads the portable file into the folder of arriving runs, which must be empty. Not durable yet. Not thread-safe.
class RunReceiver {
 public:
  /// `files` null: it is only looked at.
  RunReceiver(FileSystem* files, File& source);
  /// The first line.
  Result<ExportHeader> begin();
  /// Everything else. Gives how many files it holds. Fails with export_damaged where the file is not exactly what was
  /// sent.
  Result<std::uint64_t> receive();

 private:
  Result<std::string> line();
  Result<std::string> take(std::uint64_t bytes);
  Result<void> take_file(const ExportEntry& entry);
  Result<void> make_folders(std::string_view file);

  FileSystem* files_;
  File& source_;
  Sha256Stream hash_;
  std::uint64_t at_ = 0;
  std::string last_file_;
};

/// Removes everything below `folder`, and it.
Result<void> remove_all(FileSystem& files, const std::string& folder, int depth_max = 64);

/// A file system in which the arriving run stands under its own name already, to be checked there. Reads only.
class ArrivedFiles final : public FileSystem {
 public:
  ArrivedFiles(FileSystem& files, std::string_view run);
  Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) override;
  Result<bool> exists(std::string_view path) override;
  Result<std::vector<FolderEntry>> list(std::string_view folder) override;
  Result<bool> make_folder(std::string_view path) override;
  Result<void> rename(std::string_view from, std::string_view to) override;
  Result<void> remove(std::string_view path) override;
  Result<void> remove_folder(std::string_view path) override;
  Result<void> sync_folder(std::string_view path, SyncPoint point) override;
  Result<void> sync_all(SyncPoint point) override;

 private:
  [[nodiscard]] std::string mapped(std::string_view path) const;
  FileSystem& files_;
  const std::string folder_;
};

}  // namespace pawl
