#include "cli/table.hpp"

#include <algorithm>

#include "cli/terminal_text.hpp"

namespace pawl::cli {
namespace {

constexpr std::size_t kGap = 2;

std::string shortened(std::string_view text, Cut cut, std::size_t columns) {
  return cut == Cut::middle ? cut_in_middle(text, columns) : cut_to_columns(text, columns);
}

}  // namespace

/// The visible columns and their widths.
struct Table::Layout {
  std::vector<std::size_t> shown;
  std::vector<std::size_t> widths;  // of all columns

  [[nodiscard]] std::size_t total() const {
    std::size_t sum = shown.empty() ? 0 : (shown.size() - 1) * kGap;
    for (const std::size_t i : shown) sum += widths[i];
    return sum;
  }
};

Table::Layout Table::layout(std::optional<std::size_t> width) const {
  Layout out;
  std::vector<std::size_t> natural;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    natural.push_back(display_columns(columns_[i].name));
    bool is_empty = true;
    for (const std::vector<Cell>& row : rows_) {
      if (i >= row.size()) continue;
      natural[i] = std::max(natural[i], display_columns(row[i].text));
      is_empty = is_empty && row[i].text.empty();
    }
    if (!width || !is_empty || columns_[i].rank == 0) out.shown.push_back(i);
  }
  out.widths = natural;
  if (!width) return out;
  std::vector<std::size_t> by_rank = std::move(out.shown);
  std::ranges::stable_sort(by_rank, {}, [this](std::size_t i) { return columns_[i].rank; });
  std::vector<std::size_t> least = natural;
  out.shown.clear();
  for (const std::size_t i : by_rank) {
    const Column& column = columns_[i];
    if (column.cut != Cut::never) least[i] = std::min(natural[i], std::max(column.least, display_columns(column.name)));
    const std::size_t taken = out.shown.empty() ? 0 : out.total() + kGap;
    if (column.rank > 0 && taken + least[i] > *width) break;  // it and less important ones are dropped
    out.widths[i] = std::min(natural[i], std::max(least[i], column.wanted));
    if (column.rank > 0) out.widths[i] = std::min(out.widths[i], *width - taken);
    out.shown.push_back(i);
    // Columns that are always shown may be too wide together.
    for (const std::size_t wide : out.shown)
      out.widths[wide] -= std::min(out.widths[wide] - least[wide], out.total() - std::min(out.total(), *width));
  }
  by_rank = out.shown;
  std::ranges::sort(out.shown);
  // The remaining space goes to shortened columns, the most important first.
  for (const std::size_t i : by_rank) {
    const std::size_t total = out.total();
    if (total >= *width) break;
    out.widths[i] = std::min(natural[i], out.widths[i] + (*width - total));
  }
  return out;
}

std::string Table::text(const Style& style, std::optional<std::size_t> width) const {
  const Layout placed = layout(width);
  const auto line_of = [&](const std::vector<Cell>& row, Colour line_colour) {
    TerminalLine line;
    std::size_t owed = 0;  // spaces to add only if another cell follows
    for (const std::size_t i : placed.shown) {
      const Cell empty("");
      const Cell& cell = i < row.size() ? row[i] : empty;
      std::string text = shortened(cell.text, columns_[i].cut, placed.widths[i]);
      if (text.empty() && !width) text = "-";
      if (!text.empty()) {
        line.add(std::string(owed, ' '));
        line.add(line_colour == Colour::none ? cell.colour : line_colour, text);
        owed = 0;
      }
      owed += placed.widths[i] - std::min(placed.widths[i], display_columns(text)) + kGap;
    }
    return (width ? line.text(style, *width) : line.text(style)) + "\n";
  };
  std::vector<Cell> header;
  for (const Column& column : columns_) header.emplace_back(column.name);
  std::string out = line_of(header, Colour::bold);
  for (const std::vector<Cell>& row : rows_) out += line_of(row, Colour::none);
  return out;
}

std::string cut_in_middle(std::string_view text, std::size_t columns) {
  const std::size_t whole = display_columns(text);
  if (whole <= columns) return std::string(text);
  if (columns < 4) return cut_to_columns(text, columns);
  const std::string head = cut_to_columns(text, columns / 2 + 1);  // including the ellipsis
  const std::size_t tail_columns = columns - display_columns(head);
  // Finds the longest tail that fits.
  std::size_t at = text.size();
  while (at > 0) {
    std::size_t before = at - 1;
    while (before > 0 && (static_cast<unsigned char>(text[before]) & 0xC0U) == 0x80U) --before;
    if (display_columns(text.substr(before)) > tail_columns) break;
    at = before;
  }
  return head + std::string(text.substr(at));
}

}  // namespace pawl::cli
