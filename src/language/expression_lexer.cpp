#include "language/expression_lexer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/utf8.hpp"

namespace pawl::expression_tree {
namespace {

constexpr std::array<std::string_view, 24> kSymbols{"&&", "||", "==", "!=", "<=", ">=", "!", "<", ">", "+", "-", "*",
                                                    "/",  "%",  "(",  ")",  "[",  "]",  ",", ".", "?", ":", "{", "}"};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

std::size_t Lexer::column(std::size_t offset) const {
  const auto counts = [&](std::size_t i) { return is_utf8_continuation(text_[i]) ? 0U : 1U; };
  offset = std::min(offset, text_.size());
  while (known_offset_ < offset) known_column_ += counts(known_offset_++);
  while (known_offset_ > offset) known_column_ -= counts(--known_offset_);
  return first_column_ + known_column_;
}

Error Lexer::fault(std::size_t offset, std::string message, std::string hint) const {
  return Error{Code::invalid_expression, std::move(message), fmt::format("column {}", column(offset)), std::move(hint),
               0};
}

Result<Token> Lexer::next() {
  const std::size_t before = at_;
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  const bool space_before = at_ > before;
  const std::size_t begin = at_;
  if (at_ == text_.size()) return Token{Token::Kind::end, {}, {}, begin, space_before};
  const char c = text_[at_];
  auto token = is_name_start(c) ? Result<Token>(name())
               : is_digit(c)    ? number()
               : c == '\''      ? plain_string()
               : c == '"'       ? escaped_string()
                                : symbol();
  if (!token) return token;
  token->text = text_.substr(begin, at_ - begin);
  token->offset = begin;
  token->space_before = space_before;
  after_dot_ = token->is(".");
  return token;
}

Token Lexer::name() {
  const bool dashes = after_dot_;
  while (is_name_part(peek()) || (dashes && peek() == '-' && is_name_part(peek(1)))) ++at_;
  Token token;
  token.kind = Token::Kind::name;
  return token;
}

Result<Token> Lexer::number() {
  const std::size_t begin = at_;
  bool integral = true;
  while (is_digit(peek())) ++at_;
  if (peek() == '.' && is_digit(peek(1))) {
    integral = false;
    ++at_;
    while (is_digit(peek())) ++at_;
  }
  if (peek() == 'e' || peek() == 'E') {
    const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if (is_digit(peek(1 + sign))) {
      integral = false;
      at_ += 1 + sign;
      while (is_digit(peek())) ++at_;
    }
  }
  if (is_name_part(peek())) return fail(fault(begin, "invalid number", "put strings in quotes: '1a'"));
  Token token;
  token.kind = Token::Kind::number;
  const char* const first = text_.data() + begin;
  const char* const last = text_.data() + at_;
  std::int64_t integer = 0;
  if (integral && std::from_chars(first, last, integer).ec == std::errc()) {
    token.value = integer;
    return token;
  }
  double real = 0;
  if (std::from_chars(first, last, real).ec != std::errc() || !std::isfinite(real))
    return fail(fault(begin, "the number is out of range"));
  token.value = real;
  return token;
}

Result<Token> Lexer::plain_string() {
  const std::size_t begin = at_++;
  std::string value;
  for (;;) {
    if (at_ == text_.size()) return fail(fault(begin, "unterminated string", "close it with '"));
    if (text_[at_] == '\'') {
      if (peek(1) != '\'') break;
      ++at_;
    }
    value += text_[at_++];
  }
  ++at_;
  Token token;
  token.kind = Token::Kind::string;
  token.value = std::move(value);
  return token;
}

Result<Token> Lexer::escaped_string() {
  const std::size_t begin = at_++;
  std::string value;
  for (;;) {
    if (at_ == text_.size()) return fail(fault(begin, "unterminated string", "close it with \""));
    const char c = text_[at_++];
    if (c == '"') break;
    if (c != '\\') {
      value += c;
      continue;
    }
    const char escaped = peek();
    if (at_ < text_.size()) ++at_;
    switch (escaped) {
      case '"': value += '"'; break;
      case '\\': value += '\\'; break;
      case 'n': value += '\n'; break;
      case 't': value += '\t'; break;
      case 'u': {
        PAWL_TRY_ASSIGN(const std::uint32_t point, code_point());
        append_utf8(value, point);
        break;
      }
      default:
        return fail(fault(at_ - 1, "unknown escape", "use \\\" \\\\ \\n \\t \\uXXXX, or a string in single quotes"));
    }
  }
  Token token;
  token.kind = Token::Kind::string;
  token.value = std::move(value);
  return token;
}

Result<std::uint32_t> Lexer::code_unit() {
  std::uint32_t value = 0;
  if (text_.size() - at_ < 4) return fail(fault(at_, "\\u requires four hexadecimal digits"));
  const char* const first = text_.data() + at_;
  const auto [end, error] = std::from_chars(first, first + 4, value, 16);
  if (error != std::errc() || end != first + 4) return fail(fault(at_, "\\u requires four hexadecimal digits"));
  at_ += 4;
  return value;
}

Result<std::uint32_t> Lexer::code_point() {
  const std::size_t begin = at_;
  PAWL_TRY_ASSIGN(const std::uint32_t high, code_unit());
  if (high < 0xD800 || high > 0xDFFF) return high;
  if (high < 0xDC00 && peek() == '\\' && peek(1) == 'u') {
    at_ += 2;
    PAWL_TRY_ASSIGN(const std::uint32_t low, code_unit());
    if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((high - 0xD800) << 10U) + (low - 0xDC00);
  }
  return fail(fault(begin, "unpaired surrogate", "write both halves: \\ud83d\\ude00"));
}

Result<Token> Lexer::symbol() {
  const std::string_view rest = text_.substr(at_);
  for (const std::string_view symbol : kSymbols) {
    if (!rest.starts_with(symbol)) continue;
    at_ += symbol.size();
    Token token;
    token.kind = Token::Kind::symbol;
    return token;
  }
  switch (rest[0]) {
    case '=': return fail(fault(at_, "'=' is not an operator", "use =="));
    case '&': return fail(fault(at_, "'&' is not an operator", "use &&"));
    case '|': return fail(fault(at_, "'|' is not an operator", "use ||"));
    case '$':
      return fail(fault(at_, "unexpected '$' in an expression",
                        "write names without it: vars.topic; only the whole expression may be in ${ }"));
    default: break;
  }
  const CodePoint point = first_code_point(rest);
  return fail(fault(at_, fmt::format("unexpected '{}'", rest.substr(0, point.size)), "put strings in quotes"));
}

}  // namespace pawl::expression_tree
