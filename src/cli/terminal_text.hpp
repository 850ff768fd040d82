// Text that fits a terminal: the width of text, and coloured lines that are cut to a width.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/text.hpp"

namespace pawl::cli {

/// "340 ms", "1.2 s", "3 min 12 s", "1 h 2 min", "2 d 3 h": short enough for a clock that runs.
[[nodiscard]] std::string elapsed_text(std::int64_t milliseconds);

/// Printable text with its line breaks and tabs: each line after an indent and ended by a newline. Line breaks at the
/// end of `text` are dropped.
[[nodiscard]] std::string indented_lines(std::string_view text, std::string_view indent);
/// Returns whether nothing but line breaks at its end follows the first line.
[[nodiscard]] bool is_one_line(std::string_view text);
/// The first line, with an ellipsis if there are others. Not printable yet.
[[nodiscard]] std::string summary_line(std::string_view text);
/// "12.3 s" below a minute, otherwise "3:12" or "27:03:12": exact enough to compare the times of events.
[[nodiscard]] std::string exact_elapsed_text(std::int64_t milliseconds);

/// A line made of printable, coloured parts.
class TerminalLine {
 public:
  TerminalLine& add(Colour colour, std::string_view text) {
    parts_.push_back({colour, std::string(text)});
    return *this;
  }
  TerminalLine& add(std::string_view text) { return add(Colour::none, text); }
  /// Adds spaces up to this column, at least one.
  TerminalLine& pad_to(std::size_t column);
  [[nodiscard]] std::size_t columns() const;
  /// The whole line.
  [[nodiscard]] std::string text(const Style& style) const;
  /// The line, cut to `columns_max` columns.
  [[nodiscard]] std::string text(const Style& style, std::size_t columns_max) const;

 private:
  struct Part {
    Colour colour;
    std::string text;
  };
  std::vector<Part> parts_;
};

}  // namespace pawl::cli
