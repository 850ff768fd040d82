#include "text/appended.hpp"

#include "text/json_text.hpp"
#include "text/text_diff.hpp"

namespace pawl {
namespace {

constexpr std::size_t kRestMax = 4096;

/// Returns how many arrays and objects the rest of a valid text closes without having opened them. Returns nothing if
/// the rest starts inside a string, or contains an escape, which would make that undecidable.
///
/// A string that is open at the start of the rest is closed in it. Without escapes, the number of quotes is therefore
/// odd in that case, and even otherwise.
std::optional<std::size_t> open_at(std::string_view rest) {
  if (rest.size() > kRestMax) return std::nullopt;
  bool in_string = false;
  std::size_t closed = 0;
  std::size_t opened = 0;
  for (const char c : rest) {
    if (c == '\\') return std::nullopt;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == ']' || c == '}') ++closed;
    if (c == '[' || c == '{') ++opened;
  }
  if (in_string || opened > closed) return std::nullopt;
  return closed - opened;
}

}  // namespace

std::optional<Appended> appended_elements(std::string_view before, std::string_view after) {
  const auto insertion = single_insertion(before, after);
  if (!insertion) return std::nullopt;
  const std::string_view head = before.substr(0, insertion->offset);
  const std::string_view rest = before.substr(insertion->offset);
  const auto depth = open_at(rest);
  if (!depth || head.ends_with('\\')) return std::nullopt;
  const std::size_t closer = skip_json_space(rest, 0);
  if (closer >= rest.size() || rest[closer] != ']') return std::nullopt;
  // An element precedes the bracket, or the array is empty.
  const std::size_t last = head.find_last_not_of(" \n\r\t");
  if (last == std::string_view::npos || head[last] == '[') return std::nullopt;
  const std::size_t comma = skip_json_space(insertion->inserted, 0);
  if (comma >= insertion->inserted.size() || insertion->inserted[comma] != ',') return std::nullopt;
  return Appended{insertion->inserted.substr(comma + 1), *depth};
}

}  // namespace pawl
