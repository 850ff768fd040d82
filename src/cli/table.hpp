// Tables for people. On a terminal a table fits its width; elsewhere every value is printed in full.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/text.hpp"

namespace pawl::cli {

/// How a value that is too long is shortened.
enum class Cut : std::uint8_t {
  never,   // "completed"
  middle,  // ids: "nightly-2026…-k3f9"
  end,     // sentences: "the file can't be re…"
};

struct Column {
  std::string name;  // upper case
  Cut cut = Cut::never;
  /// 0: always shown. If the columns do not fit, those with the highest ranks are dropped.
  int rank = 0;
  /// The narrowest useful width. With less, a column with a rank is dropped instead.
  std::size_t least = 12;
  /// Columns with a higher rank are dropped before this one gets narrower than this.
  std::size_t wanted = 0;
};

struct Cell {
  Cell(std::string value) : text(std::move(value)) {}  // NOLINT(google-explicit-constructor): rows are lists of texts
  Cell(const char* value) : text(value) {}             // NOLINT(google-explicit-constructor): rows are lists of texts
  Cell(Colour colour_of_text, std::string value) : text(std::move(value)), colour(colour_of_text) {}

  std::string text;  // printable
  Colour colour = Colour::none;
};

/// Left-aligned columns, separated by two spaces, without trailing spaces.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

  /// Fits the table into `width` columns. Without a width nothing is shortened or dropped, and an empty value is "-",
  /// so that every line has the same number of fields.
  [[nodiscard]] std::string text(const Style& style, std::optional<std::size_t> width) const;

 private:
  struct Layout;
  [[nodiscard]] Layout layout(std::optional<std::size_t> width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// Shortens printable text to `columns` columns, with an ellipsis in the middle.
[[nodiscard]] std::string cut_in_middle(std::string_view text, std::size_t columns);

}  // namespace pawl::cli
