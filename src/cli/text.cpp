#include "cli/text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal_text.hpp"

namespace pawl::cli {
std::string age(Timestamp then, Timestamp now) {
  const std::int64_t seconds = (now.us - then.us) / 1'000'000;
  if (seconds < 1) return "now";
  if (seconds < 60) return fmt::format("{} s ago", seconds);
  if (seconds < 60 * 60) return fmt::format("{} min ago", seconds / 60);
  if (seconds < 48 * 60 * 60) return fmt::format("{} h ago", seconds / (60 * 60));
  return fmt::format("{} d ago", seconds / (24 * 60 * 60));
}

std::string Style::operator()(Colour colour, std::string_view text) const {
  constexpr const char* kStart[] = {"", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m"};
  if (!colours_ || colour == Colour::none) return std::string(text);
  return fmt::format("{}{}\x1b[0m", kStart[static_cast<std::size_t>(colour)], text);
}

std::string Table::text(const Style& style) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_columns(row[i]));
  }
  std::string out;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    std::size_t owed = 0;  // spaces that only a further cell makes necessary
    for (std::size_t i = 0; i < rows_[r].size(); ++i) {
      const std::string& cell = rows_[r][i];
      if (!cell.empty()) line += std::string(owed, ' ') + cell;
      owed = (cell.empty() ? owed : 0) + widths[i] - display_columns(cell) + 2;
    }
    out += style(r == 0 ? Colour::bold : Colour::none, line) + "\n";
  }
  return out;
}

}  // namespace pawl::cli
