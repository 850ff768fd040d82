// The file of one limit: its lines, and the locks on its bytes (docs/formats/limits.md).
#pragma once

#include <memory>
#include <set>
#include <string>

#include "ports/file_system.hpp"
#include "ports/limits.hpp"

namespace pawl {

/// Not thread-safe. Except for `release` and `leave`, functions require that the caller holds the lock of the file.
class LimitFile {
 public:
  static constexpr std::uint64_t kLockByte = 0;
  static constexpr std::uint64_t kSlotByte = 1;  // of the first slot
  static constexpr std::uint64_t kDefinitionByte = 2'048;
  static constexpr std::uint64_t kDefinitionsMax = 64;  // handles at a time that can tighten a limit
  static constexpr std::uint64_t kLineBytes = 32;
  static constexpr std::uint64_t kStartBytes = 21;
  static constexpr std::uint64_t kStartsKept = kLimitPerMinuteMax + 1;  // the next start never replaces one in use
  static constexpr std::uint64_t kStartsAt = kLineBytes * (1 + kDefinitionsMax);

  [[nodiscard]] static Result<std::unique_ptr<LimitFile>> open(FileSystem& files, const std::string& name);

  [[nodiscard]] Result<bool> try_lock() { return file_->try_lock(kLockByte); }
  void unlock() { static_cast<void>(file_->unlock(kLockByte)); }

  /// Reads the file, and announces the definition of this handle. Returns whether the file was damaged and replaced.
  [[nodiscard]] Result<bool> read(const LimitDefinition& own);
  /// Returns why there is no room; call it after `read`.
  [[nodiscard]] Result<std::optional<LimitWait>> obstacle(Timestamp now);
  /// Takes a share, and returns its slot; 0 if there is none left for an unlimited number. Call it after `obstacle`.
  [[nodiscard]] Result<std::uint32_t> take(Timestamp now);

  void release(std::uint32_t slot);
  /// Withdraws the definition.
  void leave();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  LimitFile(std::unique_ptr<File> file, std::string path, std::string name)
      : file_(std::move(file)), path_(std::move(path)), name_(std::move(name)) {}
  [[nodiscard]] bool parse_header(std::string_view line);
  [[nodiscard]] Result<void> write_header();
  [[nodiscard]] Result<void> replace();
  [[nodiscard]] Result<bool> read_definitions(std::string_view lines);
  [[nodiscard]] Result<void> announce(const LimitDefinition& own);
  [[nodiscard]] Result<void> count_slots();
  [[nodiscard]] Result<Timestamp> start_at(std::uint64_t number);
  [[nodiscard]] Result<void> limit_starts_to(Timestamp now);

  const std::unique_ptr<File> file_;
  const std::string path_;
  const std::string name_;
  std::set<std::uint32_t> own_slots_;
  std::optional<std::uint64_t> own_definition_;  // number of its line

  // As of the last `read`.
  std::uint64_t starts_ = 0;   // number of all starts ever
  std::uint32_t highest_ = 0;  // no slot above this one is taken
  LimitDefinition strictest_;
  std::uint32_t taken_ = 0;
  std::uint32_t free_slot_ = 0;
};

}  // namespace pawl
