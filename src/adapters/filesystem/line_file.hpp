// Files of numbered lines (`{"seq":7,...}\n`): finds a line from the end without reading the whole file.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "ports/file_system.hpp"

namespace pawl {

/// Higher than any number that a line can have.
inline constexpr std::uint64_t kHighest = std::numeric_limits<std::uint64_t>::max();
/// Number of bytes of a long file that are read at once.
inline constexpr std::uint64_t kPieceBytes = 1ULL << 20;

[[nodiscard]] inline std::string_view without_newline(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

/// Returns the whole file, or nothing if it does not exist.
[[nodiscard]] Result<std::optional<std::string>> read_if_there(FileSystem& files, const std::string& path);

struct FoundLine {
  std::string text;          // without its newline
  std::uint64_t number = 0;  // the first member's value
  std::uint64_t end = 0;     // offset after its newline
};

/// Returns the number at the start of a line, or nothing if the line has another form.
[[nodiscard]] std::optional<std::uint64_t> line_number(std::string_view line);

/// Returns whether `found` may be what a crash left of `whole`, which a journal contains: a prefix, with zeros where a
/// sector did not reach the disk. `found` may include later data of the file.
[[nodiscard]] bool is_left_by_crash(std::string_view found, std::string_view whole);

/// Returns the last complete line whose number is below `limit`. Reads backwards from the end, so time and memory grow
/// with the data after the line.
[[nodiscard]] Result<std::optional<FoundLine>> last_line_below(File& file, std::uint64_t limit);

/// Calls `visit(line)` for every line of `text`, complete or not. Stops if it returns false.
template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!visit(line, end != std::string_view::npos)) return;
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

/// The same for the lines of a file, which is read in pieces. `visit` also gets the offset of the line.
template <class Visit>
Result<void> for_each_line_of(File& file, Visit visit) {
  std::string text;           // not visited yet
  std::uint64_t text_at = 0;  // its offset
  while (true) {
    PAWL_TRY_ASSIGN(const std::string piece, file.read_at(text_at + text.size(), kPieceBytes));
    text += piece;
    const bool is_end = piece.size() < kPieceBytes;
    bool goes_on = true;
    std::size_t visited = 0;
    for_each_line(text, [&](std::string_view line, bool complete) {
      if (!complete && !is_end) return false;
      goes_on = visit(line, complete, text_at + visited);
      visited += line.size() + (complete ? 1 : 0);
      return goes_on;
    });
    if (!goes_on || is_end) return {};
    text.erase(0, visited);
    text_at += visited;
  }
}

}  // namespace pawl
