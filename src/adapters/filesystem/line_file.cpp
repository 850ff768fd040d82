#include "adapters/filesystem/line_file.hpp"

#include <algorithm>
#include <charconv>

#include "domain/sequence_limit.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kFirstLookBytes = 16ULL << 10;

/// Searches for the line in `tail`, which extends to the end of the file. `complete` means that it also starts at the
/// beginning of the file.
std::optional<FoundLine> find_in(std::string_view tail, std::uint64_t tail_offset, bool complete, std::uint64_t limit) {
  std::size_t end = tail.rfind('\n');
  while (end != std::string_view::npos) {
    const std::size_t before = end == 0 ? std::string_view::npos : tail.rfind('\n', end - 1);
    if (before == std::string_view::npos && !complete) return std::nullopt;
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view line = tail.substr(begin, end - begin);
    const auto number = line_number(line);
    if (number && *number < limit) return FoundLine{std::string(line), *number, tail_offset + end + 1};
    end = before;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> line_number(std::string_view line) {
  const auto colon = line.find(':');
  if (!line.starts_with("{\"") || colon == std::string_view::npos || colon > 8) return std::nullopt;
  std::uint64_t number = 0;
  const char* begin = line.data() + colon + 1;
  const auto [end, problem] = std::from_chars(begin, line.data() + line.size(), number);
  if (problem != std::errc{} || end == line.data() + line.size() || *end != ',') return std::nullopt;
  if (number > kSequenceMax) return std::nullopt;
  return number;
}

bool is_left_by_crash(std::string_view found, std::string_view whole) {
  const std::size_t size = std::min(found.size(), whole.size());
  for (std::size_t i = 0; i < size; ++i) {
    if (found[i] != whole[i] && found[i] != '\0') return false;
  }
  return true;
}

Result<std::optional<FoundLine>> last_line_below(File& file, std::uint64_t limit) {
  PAWL_TRY_ASSIGN(const std::uint64_t size, file.size());
  for (std::uint64_t look = kFirstLookBytes;; look *= 4) {
    const std::uint64_t bytes = std::min(look, size);
    PAWL_TRY_ASSIGN(const std::string tail, file.read_at(size - bytes, bytes));
    if (auto found = find_in(tail, size - bytes, bytes == size, limit)) return found;
    if (bytes == size) return std::optional<FoundLine>();
  }
}

Result<std::optional<std::string>> read_if_there(FileSystem& files, const std::string& path) {
  auto text = files.read_file(path);
  if (text) return std::optional(std::move(*text));
  if (text.error().code == Code::input_unreadable) return std::optional<std::string>();
  return std::unexpected(text.error());
}

}  // namespace pawl
