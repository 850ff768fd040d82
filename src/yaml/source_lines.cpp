#include "yaml/source_lines.hpp"

#include <algorithm>

namespace pawl {

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

void SourceLines::add(std::string_view text) {
  Source source{.text = text};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') source.starts.push_back(i + 1);
  }
  sources_.push_back(std::move(source));
}

std::string_view SourceLines::line(std::uint32_t file, std::size_t number) const {
  if (file >= sources_.size()) return {};
  const auto& [text, starts] = sources_[file];
  if (number == 0 || number > starts.size()) return {};
  const std::size_t begin = starts[number - 1];
  const std::size_t end = number < starts.size() ? starts[number] - 1 : text.size();
  return text.substr(begin, end - begin);
}

char SourceLines::character_at(Place place) const {
  const std::string_view text = line(place.file, place.line);
  return place.column > 0 && place.column <= text.size() ? text[place.column - 1] : '\0';
}

Place SourceLines::within(const YamlNode& scalar, std::size_t offset) const {
  offset = std::min(offset, scalar.text.size());
  const std::string_view text = scalar.text;
  const std::size_t begin = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
  const auto line_in_text =
      static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
  const std::size_t end = text.find('\n', begin);
  const std::string_view wanted = text.substr(begin, end == std::string_view::npos ? end : end - begin);
  if (scalar.place.line == 0 || is_blank(wanted)) return scalar.place;
  // The text of a block scalar starts on the line after its indicator.
  for (const std::size_t below : {std::size_t{0}, std::size_t{1}}) {
    const std::size_t number = scalar.place.line + line_in_text + below;
    const std::size_t from = below == 0 && line_in_text == 0 ? scalar.place.column - 1 : 0;
    const std::size_t found = line(scalar.place.file, number).find(wanted, from);
    if (found != std::string_view::npos) return {number, found + (offset - begin) + 1, scalar.place.file};
  }
  return scalar.place;
}

}  // namespace pawl
