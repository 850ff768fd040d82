// Text for people: tables, ages, sizes, colours.
#pragma once

#include <pawl/types.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/display.hpp"

namespace pawl::cli {

/// "12 s ago", "3 min ago", "5 h ago", "2 d ago"; a time in the future is "now".
[[nodiscard]] std::string age(Timestamp then, Timestamp now);

enum class Colour : std::uint8_t { none, bold, red, green, yellow, dim };

/// Adds colours, or does not.
class Style {
 public:
  explicit Style(bool colours) : colours_(colours) {}
  [[nodiscard]] std::string operator()(Colour colour, std::string_view text) const;
  [[nodiscard]] bool colours() const { return colours_; }

 private:
  bool colours_;
};

/// Left-aligned columns, two spaces between them, no space at a line's end.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text(const Style& style) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace pawl::cli
