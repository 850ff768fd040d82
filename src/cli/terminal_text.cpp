#include "cli/terminal_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::cli {

std::string elapsed_text(std::int64_t milliseconds) {
  const std::int64_t ms = std::max<std::int64_t>(milliseconds, 0);
  const std::int64_t seconds = ms / 1000;
  if (ms < 1000) return fmt::format("{} ms", ms);
  if (seconds < 60) return fmt::format("{}.{} s", seconds, ms % 1000 / 100);
  if (seconds < 60 * 60) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  if (seconds < 24 * 60 * 60) return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{} d {} h", seconds / 86400, seconds / 3600 % 24);
}

std::string exact_elapsed_text(std::int64_t milliseconds) {
  const std::int64_t seconds = milliseconds / 1000;
  if (seconds < 60) return elapsed_text(milliseconds);
  const std::int64_t minutes = seconds / 60;
  if (minutes < 60) return fmt::format("{}:{:02}", minutes, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", minutes / 60, minutes % 60, seconds % 60);
}

std::string indented_lines(std::string_view text, std::string_view indent) {
  std::string out;
  text = text.substr(0, text.find_last_not_of('\n') + 1);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    std::string shown;
    for (std::size_t tab = line.find('\t'); tab != std::string_view::npos; tab = line.find('\t')) {
      shown += printable(line.substr(0, tab)) + '\t';
      line.remove_prefix(tab + 1);
    }
    shown += printable(line);
    out += shown.empty() ? "\n" : fmt::format("{}{}\n", indent, shown);
  }
  return out;
}

bool is_one_line(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1).find('\n') == std::string_view::npos;
}

std::string summary_line(std::string_view text) {
  text = text.substr(0, text.find_last_not_of('\n') + 1);
  const std::size_t end = text.find('\n');
  return std::string(text.substr(0, end)) + (end == std::string_view::npos ? "" : " …");
}

TerminalLine& TerminalLine::pad_to(std::size_t column) {
  const std::size_t now = columns();
  return add(std::string(column > now ? column - now : 1, ' '));
}

std::size_t TerminalLine::columns() const {
  std::size_t columns = 0;
  for (const Part& part : parts_) columns += display_columns(part.text);
  return columns;
}

std::string TerminalLine::text(const Style& style) const {
  std::string out;
  for (const Part& part : parts_) out += style(part.colour, part.text);
  return out;
}

std::string TerminalLine::text(const Style& style, std::size_t columns_max) const {
  if (columns() <= columns_max) return text(style);
  std::string out;
  std::size_t left = columns_max;
  for (const Part& part : parts_) {
    const std::size_t wanted = display_columns(part.text);
    // Reserves space for the ellipsis of the part that is cut.
    if (wanted >= left) return out + style(part.colour, cut_to_columns(part.text + " ", left));
    out += style(part.colour, part.text);
    left -= wanted;
  }
  return out;
}

}  // namespace pawl::cli
