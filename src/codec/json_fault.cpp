#include "codec/json_fault.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

#include "text/json_text.hpp"
#include "text/utf8.hpp"

namespace pawl {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// `line 3, column 14`, counted in characters.
std::string place(std::string_view text, std::size_t offset) {
  std::size_t line = 1;
  std::size_t column = 1;
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++line;
      column = 1;
    } else if (!is_utf8_continuation(c)) {
      ++column;
    }
  }
  return fmt::format("line {}, column {}", line, column);
}

/// Returns the beginning of `text` for a message.
std::string show(std::string_view text) {
  if (text.empty()) return "the end of the input";
  const auto byte = static_cast<unsigned char>(text.front());
  if (byte < 0x20 || byte == 0x7F) return fmt::format("the control character \\x{:02x}", byte);
  const CodePoint point = first_code_point(text);
  return fmt::format("'{}'", text.substr(0, std::max<std::size_t>(point.size, 1)));
}

/// Words of other languages that JSON does not have.
struct ForeignWord {
  std::string_view text;
  std::string_view message;
  std::string_view hint;
};
constexpr std::string_view kNotANumberHint =
    "write null or a string instead (Python: json.dumps(..., allow_nan=False) finds it)";
constexpr ForeignWord kForeignWords[] = {
    {"NaN", "NaN is not JSON", kNotANumberHint},
    {"nan", "NaN is not JSON", kNotANumberHint},
    {"Infinity", "Infinity is not JSON", kNotANumberHint},
    {"inf", "Infinity is not JSON", kNotANumberHint},
    {"True", "True is not JSON", "write true"},
    {"False", "False is not JSON", "write false"},
    {"None", "None is not JSON", "write null"},
    {"undefined", "undefined is not JSON", "write null"},
};

/// Returns whether a number that does not fit a double is too large, and not too close to 0.
bool is_overflow(std::string_view number) {
  const std::size_t exponent_at = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, exponent_at);
  const std::size_t first = std::min(mantissa.find_first_of("123456789"), mantissa.size());
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::int64_t magnitude = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  std::int64_t exponent = 0;
  for (const char c : number.substr(exponent_at)) {
    if (is_digit(c)) exponent = std::min<std::int64_t>(exponent * 10 + (c - '0'), INT32_MAX);
  }
  const bool negative = exponent_at + 1 < number.size() && number[exponent_at + 1] == '-';
  return magnitude + (negative ? -exponent : exponent) > 0;
}

bool fits(std::string_view number) {
  const char* end = number.data() + number.size();
  if (number.find_first_of(".eE") == std::string_view::npos) {
    std::int64_t with_sign = 0;
    std::uint64_t without = 0;
    return std::from_chars(number.data(), end, with_sign).ec == std::errc{} ||
           std::from_chars(number.data(), end, without).ec == std::errc{};
  }
  double value = 0;
  return std::from_chars(number.data(), end, value).ec == std::errc{} || !is_overflow(number);
}

/// A validator that walks the text with a stack of open brackets.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<Error> run() {
    if (!utf8()) return fault_;
    skip_space();
    if (at_ == text_.size()) {
      refuse(Code::invalid_json, at_, "the input contains only white space", "write an empty state as {}");
      return fault_;
    }
    bool more = value();
    while (more && !open_.empty()) more = open_.back() == '{' ? after_member() : after_element();
    if (!fault_) {
      skip_space();
      if (at_ < text_.size()) unexpected("the end of the JSON", "a state is one JSON value");
    }
    return fault_;
  }

 private:
  bool utf8() {
    const std::size_t at = invalid_utf8_at(text_);
    if (at != std::string_view::npos) {
      fault_ = Error{Code::invalid_utf8,
                     fmt::format("byte {} (\\x{:02x}) is not valid UTF-8", at, static_cast<unsigned char>(text_[at])),
                     place(text_, at), "write the JSON as UTF-8; encode other bytes as base64", 0};
      return false;
    }
    return true;
  }

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() { at_ = skip_json_space(text_, at_); }

  bool refuse(Code code, std::size_t at, std::string message, std::string_view hint = {}) {
    fault_ = Error{code, std::move(message), place(text_, at), std::string(hint), 0};
    return false;
  }
  bool unexpected(std::string_view expected, std::string_view hint = {}) {
    return refuse(Code::invalid_json, at_, fmt::format("expected {}, found {}", expected, show(text_.substr(at_))),
                  hint);
  }

  /// Reads a value, or opens a container and reads up to its first value.
  bool value() {
    switch (peek()) {
      case '{': return open('{') && first_member();
      case '[': return open('[') && first_element();
      case '"': return string();
      default: break;
    }
    if (peek() == '-' || is_digit(peek())) return number();
    return word();
  }

  bool open(char bracket) {
    if (open_.size() >= kJsonDepthMax) {
      return refuse(Code::json_too_deep, at_, fmt::format("the JSON is nested more than {} deep", kJsonDepthMax),
                    "flatten it, or put the inner part into a string");
    }
    open_ += bracket;
    ++at_;
    skip_space();
    return true;
  }
  bool close() {
    open_.pop_back();
    ++at_;
    return true;
  }

  // Nested values are handled by a loop in run(), not by recursion: an opening bracket puts its container on the stack,
  // and the `after_` functions read the first value inside.
  bool first_member() { return peek() == '}' ? close() : (fresh_ = true); }
  bool first_element() { return peek() == ']' ? close() : (fresh_ = true); }

  /// After a member (or after the bracket): reads a comma and a member, or the end.
  bool after_member() {
    if (!separator('}')) return !fault_;
    if (peek() != '"') {
      if (peek() == '}') return unexpected("a member after the comma", "remove the comma after the last member");
      return unexpected("a double-quoted key", peek() == '\'' ? "use double quotes" : "");
    }
    if (!string()) return false;
    skip_space();
    if (peek() != ':') return unexpected("a colon");
    ++at_;
    skip_space();
    return value();
  }

  bool after_element() {
    if (!separator(']')) return !fault_;
    if (peek() == ']') return unexpected("an element after the comma", "remove the comma after the last element");
    return value();
  }

  /// Returns true if an entry follows. Returns false if the container ended, or with an error if the text is invalid.
  bool separator(char bracket) {
    if (fresh_) {
      fresh_ = false;
      return true;
    }
    skip_space();
    if (peek() == bracket) {
      close();
      return false;
    }
    if (peek() != ',') {
      unexpected(fmt::format("a comma or '{}'", bracket));
      return false;
    }
    ++at_;
    skip_space();
    return true;
  }

  bool string() {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) {
        return refuse(Code::invalid_json, at_, fmt::format("a string contains {}", show(text_.substr(at_))),
                      "escape it, for example \\n for a line break");
      }
      if (text_[at_] != '\\') {
        ++at_;
      } else if (!escape()) {
        return false;
      }
    }
    if (at_ >= text_.size()) return refuse(Code::invalid_json, begin, "unterminated string");
    ++at_;
    return true;
  }

  bool escape() {
    const std::size_t begin = at_++;
    if (peek() == 'u') return unicode_escape(begin);
    if (at_ >= text_.size() || std::string_view("\"\\/bfnrt").find(peek()) == std::string_view::npos) {
      at_ = begin;
      return refuse(Code::invalid_json, begin, "unknown escape in a string",
                    "use \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX; write a backslash as \\\\");
    }
    ++at_;
    return true;
  }

  bool unicode_escape(std::size_t begin) {
    const std::optional<unsigned> unit = code_unit(begin);
    if (!unit) return refuse(Code::invalid_json, begin, "\\u requires four hexadecimal digits");
    at_ = begin + 6;
    if (*unit < 0xD800 || *unit > 0xDFFF) return true;
    const std::optional<unsigned> second = *unit < 0xDC00 ? code_unit(at_) : std::nullopt;
    if (!second || *second < 0xDC00 || *second > 0xDFFF) {
      return refuse(Code::invalid_json, begin, fmt::format("unpaired surrogate {}", text_.substr(begin, 6)),
                    "the text was probably cut inside a character");
    }
    at_ += 6;
    return true;
  }

  /// Returns the number of a `\uXXXX` at `at`.
  [[nodiscard]] std::optional<unsigned> code_unit(std::size_t at) const {
    const std::string_view escape = text_.substr(std::min(at, text_.size()), 6);
    if (escape.size() < 6 || !escape.starts_with("\\u")) return std::nullopt;
    unsigned unit = 0;
    const auto [end, error] = std::from_chars(escape.data() + 2, escape.data() + 6, unit, 16);
    if (error != std::errc{} || end != escape.data() + 6) return std::nullopt;
    return unit;
  }

  bool digits(std::string_view where) {
    if (!is_digit(peek())) return unexpected(where);
    while (is_digit(peek())) ++at_;
    return true;
  }

  bool number() {
    const std::size_t begin = at_;
    if (peek() == '-') ++at_;
    if (peek() == 'I' || peek() == 'i') return word();
    const bool zero = peek() == '0';
    const std::size_t first = at_;
    if (!digits("a digit")) return false;
    if (zero && at_ > first + 1) return refuse(Code::invalid_json, begin, "a number must not begin with 0");
    if (peek() == '.') {
      ++at_;
      if (!digits("a digit after the decimal point")) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits("a digit of the exponent")) return false;
    }
    const std::string_view number = text_.substr(begin, at_ - begin);
    if (fits(number)) return true;
    return refuse(
        Code::number_out_of_range, begin,
        fmt::format("the number {}{} does not fit into 64 bits", number.substr(0, 40), number.size() > 40 ? "..." : ""),
        "put it into a string");
  }

  bool word() {
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word == "true" || word == "false" || word == "null") {
      at_ = end;
      return true;
    }
    for (const ForeignWord& foreign : kForeignWords) {
      if (word == foreign.text) return refuse(Code::invalid_json, at_, std::string(foreign.message), foreign.hint);
    }
    if (!word.empty())
      return refuse(Code::invalid_json, at_, fmt::format("'{}' is not JSON", word.substr(0, 40)),
                    "put text in double quotes");
    if (peek() == '\'') return unexpected("a value", "use double quotes");
    if (peek() == '/') return unexpected("a value", "remove the comment");
    return unexpected("a value");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string open_;    // the open brackets
  bool fresh_ = false;  // the innermost bracket was just opened, and its container is not empty
  std::optional<Error> fault_;
};

}  // namespace

std::optional<Error> find_json_fault(std::string_view text) { return Scanner(text).run(); }

}  // namespace pawl
