// A run's events or audit entries, line by line: from files, and from journals where these hold them. Reads in pieces,
// so that a trail of any length fits into memory.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/filesystem/journal_format.hpp"
#include "ports/file_system.hpp"

namespace pawl {

/// Not thread-safe.
class NumberedLines {
 public:
  using Records = std::map<std::uint64_t, JournalRecord>;
  struct Line {
    std::uint64_t number = 0;
    std::string_view text;  // without its newline; holds until the next call
    std::string_view file;
  };

  /// `what` for messages: "entry". `journal` may be null. Missing files are empty ones.
  NumberedLines(FileSystem& files, std::string what, std::vector<std::string> paths, const Records* journal)
      : files_(files), what_(std::move(what)), paths_(std::move(paths)), journal_(journal) {}

  /// The next one, 1 first; nothing behind the last. checksum_mismatch where a line is cut short, is not the next one
  /// or differs from what a journal holds; then the reading is over.
  Result<std::optional<Line>> next();
  /// The first one has the number behind this one. Before the first call of `next`.
  void begin_behind(std::uint64_t number) { last_ = number; }

 private:
  struct FileLine {
    std::string_view text;
    bool complete = false;
  };
  Result<std::optional<FileLine>> peek();
  Result<std::string_view> look(std::size_t size);
  Result<bool> fill();
  Result<bool> open_next();
  void consume(std::size_t size);
  [[nodiscard]] const JournalRecord* in_journal(std::uint64_t number) const;
  [[nodiscard]] Error bad(std::string message) const;

  FileSystem& files_;
  const std::string what_;
  const std::vector<std::string> paths_;
  const Records* journal_;
  std::size_t next_path_ = 0;
  std::unique_ptr<File> file_;
  std::uint64_t offset_ = 0;  // in the file, of what follows the buffer
  std::uint64_t size_ = 0;    // of the file, when it was opened
  bool at_start_ = true;      // nothing of the file was consumed yet
  std::string buffer_;
  std::size_t begin_ = 0;  // of what is not consumed of it
  std::uint64_t last_ = 0;
};

}  // namespace pawl
