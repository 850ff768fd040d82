// The tokens of an expression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"

namespace pawl::expression_tree {

struct Token {
  enum class Kind : std::uint8_t { end, name, number, string, symbol };
  Kind kind = Kind::end;
  std::string_view text = {};  // as written
  Json value = {};             // of numbers and strings
  std::size_t offset = 0;
  bool space_before = false;

  [[nodiscard]] bool is(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
  [[nodiscard]] bool is_name(std::string_view name) const { return kind == Kind::name && text == name; }
};

[[nodiscard]] constexpr bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

/// Returns the tokens of `text` up to `end`. Names after a dot may contain '-'.
class Lexer {
 public:
  Lexer(std::string_view text, std::size_t begin, std::size_t end, std::size_t first_column)
      : text_(text.substr(0, end)), at_(begin), first_column_(first_column) {}

  /// Returns the next token. Fails with invalid_expression.
  [[nodiscard]] Result<Token> next();
  /// Returns the column of an offset.
  [[nodiscard]] std::size_t column(std::size_t offset) const;
  [[nodiscard]] Error fault(std::size_t offset, std::string message, std::string hint = {}) const;

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] Result<Token> number();
  [[nodiscard]] Result<Token> plain_string();
  [[nodiscard]] Result<Token> escaped_string();
  [[nodiscard]] Result<std::uint32_t> code_unit();
  [[nodiscard]] Result<std::uint32_t> code_point();
  [[nodiscard]] Result<Token> symbol();
  [[nodiscard]] Token name();

  std::string_view text_;
  std::size_t at_;
  std::size_t first_column_;
  bool after_dot_ = false;
  // The last result of column(). Offsets are usually ascending, and texts may be long.
  mutable std::size_t known_offset_ = 0;
  mutable std::size_t known_column_ = 0;
};

}  // namespace pawl::expression_tree
