// Reads the events or audit entries of a run line by line, from files and from journals. Reads in pieces, so that a
// trail of any length fits into memory.
#pragma once

#include <functional>
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
    std::string_view text;  // without its newline; valid until the next call
    std::string_view file;
  };

  /// `what` is the noun for messages, for example "entry". `journal` may be null. Missing files count as empty.
  NumberedLines(FileSystem& files, std::string what, std::vector<std::string> paths, const Records* journal)
      : what_(std::move(what)),
        paths_(std::move(paths)),
        journal_(journal),
        open_([&files](const std::string& path) { return files.open(path, OpenMode::read); }) {}
  /// Reads the audit entries of a run, archived ones as well.
  static NumberedLines of_trail(FileSystem& files, std::string_view run, const Records* journal);

  /// Returns the next line, starting with number 1, or nothing after the last. Fails with checksum_mismatch if a line
  /// is truncated, out of order or differs from the journal. Reading ends after an error.
  Result<std::optional<Line>> next();
  /// Skips all lines up to this number. Must be called before the first `next`.
  void begin_behind(std::uint64_t number) { last_ = number; }
  /// Lets a truncated line count as the end of the file, as in a copy of a file that was being written.
  void end_at_truncated() { truncated_is_end_ = true; }

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

  using Open = std::function<Result<std::unique_ptr<File>>(const std::string& path)>;
  std::string what_;
  std::vector<std::string> paths_;
  const Records* journal_;
  Open open_;
  std::size_t next_path_ = 0;
  std::unique_ptr<File> file_;
  std::uint64_t offset_ = 0;  // in the file, of the data after the buffer
  std::uint64_t size_ = 0;    // of the file, when it was opened
  bool at_start_ = true;      // nothing of the file has been consumed yet
  std::string buffer_;
  std::size_t begin_ = 0;  // start of the unconsumed part
  bool truncated_is_end_ = false;
  std::uint64_t last_ = 0;
};

}  // namespace pawl
