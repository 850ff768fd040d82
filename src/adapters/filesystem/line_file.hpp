// Files of numbered lines (`{"seq":7,...}\n`): finding a line from the end, without reading the file.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "ports/file_system.hpp"

namespace pawl {

/// Above every number that a line can have.
inline constexpr std::uint64_t kHighest = std::numeric_limits<std::uint64_t>::max();
/// What is read at once of a long file.
inline constexpr std::uint64_t kPieceBytes = 1ULL << 20;

[[nodiscard]] inline std::string_view without_newline(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

/// The whole file; nothing where it does not exist.
[[nodiscard]] Result<std::optional<std::string>> read_if_there(FileSystem& files, const std::string& path);

struct FoundLine {
  std::string text;          // without its newline
  std::uint64_t number = 0;  // the first member's value
  std::uint64_t end = 0;     // offset behind its newline
};

/// The number a line begins with; nothing where it has another shape.
[[nodiscard]] std::optional<std::uint64_t> line_number(std::string_view line);

/// Whether a crash may have left `found` of `whole`, which a journal holds: its beginning, with zeros where a sector
/// did not reach the disk. What follows in the file may be part of `found`.
[[nodiscard]] bool is_left_by_crash(std::string_view found, std::string_view whole);

/// The last complete line whose number is below `limit`, reading backwards from the end.
/// Time and memory grow with what stands behind it.
[[nodiscard]] Result<std::optional<FoundLine>> last_line_below(File& file, std::uint64_t limit);

/// Calls `visit(line)` for every line, complete or not, of text already read; stops where it says false.
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

}  // namespace pawl
