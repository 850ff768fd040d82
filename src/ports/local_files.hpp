// Files on the machine that runs the steps, as a port: logs, inputs and results of steps, items of a map. Writes are
// not durable unless stated. Everything that matters is in checkpoints and events.
#pragma once

#include <pawl/types.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pawl {

/// Reads the lines of a file. Not thread-safe.
class LineSource {
 public:
  virtual ~LineSource() = default;
  /// Returns the next line without its newline, or nothing at the end. Fails with value_too_large for a line above
  /// `bytes_max`.
  [[nodiscard]] virtual Result<std::optional<std::string>> next() = 0;
};

/// Thread-safe. Paths are absolute. Failures are input_unreadable (reading), write_failed or disk_full.
class LocalFiles {
 public:
  virtual ~LocalFiles() = default;

  [[nodiscard]] virtual bool exists(const std::string& path) = 0;
  [[nodiscard]] virtual bool is_folder(const std::string& path) = 0;
  /// Returns whether this process may execute it.
  [[nodiscard]] virtual bool is_executable(const std::string& path) = 0;
  /// Returns 0 if the file does not exist.
  [[nodiscard]] virtual std::uint64_t size(const std::string& path) = 0;
  /// Returns the time of the last change, or 0 if the file does not exist.
  [[nodiscard]] virtual Timestamp modified(const std::string& path) = 0;
  /// Reads at most `bytes_max` bytes. Fails with value_too_large for a longer file.
  [[nodiscard]] virtual Result<std::string> read(const std::string& path, std::uint64_t bytes_max) = 0;
  /// The same for a file that somebody else created: returns nothing if there is none. Never waits and follows no
  /// symbolic link; fails with input_unreadable unless it is a regular file.
  [[nodiscard]] virtual Result<std::optional<std::string>> read_regular(const std::string& path,
                                                                        std::uint64_t bytes_max) = 0;
  /// Reads the last `bytes_max` bytes.
  [[nodiscard]] virtual Result<std::string> read_tail(const std::string& path, std::uint64_t bytes_max) = 0;
  [[nodiscard]] virtual Result<std::string> read_range(const std::string& path, std::uint64_t offset,
                                                       std::uint64_t size) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<LineSource>> lines(const std::string& path, std::uint64_t bytes_max) = 0;
  /// Creates the file, or replaces its content.
  virtual Result<void> write(const std::string& path, std::string_view bytes) = 0;
  /// The same, but writes to the existing file instead of replacing it.
  virtual Result<void> write_over(const std::string& path, std::string_view bytes) = 0;
  /// Makes a file durable: it survives a power loss when this returns, with its name and those of the folders above it,
  /// up to the names in `top`, a folder above it.
  virtual Result<void> make_durable(const std::string& path, const std::string& top) = 0;
  /// Returns false if that is not possible.
  virtual bool rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> append(const std::string& path, std::string_view bytes) = 0;
  /// Creates the folder and its parents.
  virtual Result<void> make_folder(const std::string& path) = 0;
  /// Returns a folder outside every store that only this user can enter, in memory if possible. Returns the same folder
  /// for the same name until the machine is rebooted.
  virtual Result<std::string> private_folder(const std::string& name) = 0;
  /// Returns the names of the files in the folder, sorted. A missing folder is empty.
  [[nodiscard]] virtual std::vector<std::string> list(const std::string& folder) = 0;
  /// Removes a file. A missing one is fine.
  virtual void remove(const std::string& path) = 0;
  /// Removes the folder and everything in it. A missing one is fine.
  virtual void remove_folder(const std::string& path) = 0;
  /// Returns `path` relative to `base`, normalized.
  [[nodiscard]] virtual std::string absolute(const std::string& path, const std::string& base) = 0;
};

}  // namespace pawl
