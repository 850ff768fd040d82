// Files of the machine that steps run on, as a port: logs, inputs and results of steps, items of a map.
// Nothing of it is made durable unless it says so: what counts stands in checkpoints and events.
#pragma once

#include <pawl/types.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pawl {

/// The lines of a file, one after the other. Not thread-safe.
class LineSource {
 public:
  virtual ~LineSource() = default;
  /// The next line without its newline; nothing at the end. A line above `bytes_max` fails with value_too_large.
  [[nodiscard]] virtual Result<std::optional<std::string>> next() = 0;
};

/// Thread-safe. Paths are absolute. Failures are input_unreadable (reading), write_failed or disk_full.
class LocalFiles {
 public:
  virtual ~LocalFiles() = default;

  [[nodiscard]] virtual bool exists(const std::string& path) = 0;
  [[nodiscard]] virtual bool is_folder(const std::string& path) = 0;
  /// Whether this process may run it as a program.
  [[nodiscard]] virtual bool is_executable(const std::string& path) = 0;
  /// 0 where there is none.
  [[nodiscard]] virtual std::uint64_t size(const std::string& path) = 0;
  /// When it was last written to; 0 where there is none.
  [[nodiscard]] virtual Timestamp modified(const std::string& path) = 0;
  /// At most `bytes_max` bytes; a longer file fails with value_too_large.
  [[nodiscard]] virtual Result<std::string> read(const std::string& path, std::uint64_t bytes_max) = 0;
  /// The last `bytes_max` bytes.
  [[nodiscard]] virtual Result<std::string> read_tail(const std::string& path, std::uint64_t bytes_max) = 0;
  [[nodiscard]] virtual Result<std::string> read_range(const std::string& path, std::uint64_t offset,
                                                       std::uint64_t size) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<LineSource>> lines(const std::string& path, std::uint64_t bytes_max) = 0;
  /// Replaces the file's content, or makes it.
  virtual Result<void> write(const std::string& path, std::string_view bytes) = 0;
  /// The same, keeping the file on the disk that has the name.
  virtual Result<void> write_over(const std::string& path, std::string_view bytes) = 0;
  /// The file and its name survive power loss when this returns.
  virtual Result<void> make_durable(const std::string& path) = 0;
  /// False where that can't be.
  virtual bool rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> append(const std::string& path, std::string_view bytes) = 0;
  /// With all folders above it.
  virtual Result<void> make_folder(const std::string& path) = 0;
  /// A folder outside of every store that only this user can enter, in memory where the machine has a place for that.
  /// The same for the same name, for as long as the machine is on.
  virtual Result<std::string> private_folder(const std::string& name) = 0;
  /// The names of the files in it, sorted. A missing folder has none.
  [[nodiscard]] virtual std::vector<std::string> list(const std::string& folder) = 0;
  /// A missing file is fine.
  virtual void remove(const std::string& path) = 0;
  /// The folder and everything in it; a missing one is fine.
  virtual void remove_folder(const std::string& path) = 0;
  /// `path` taken relative to `base`, cleaned.
  [[nodiscard]] virtual std::string absolute(const std::string& path, const std::string& base) = 0;
};

}  // namespace pawl
