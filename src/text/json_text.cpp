#include "text/json_text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/bytes.hpp"
#include "text/utf8.hpp"

namespace pawl {
namespace {

/// Returns the end of the string whose opening quote is at `at`. An even number of backslashes precedes its closing
/// quote. Linear: backslashes are counted back to the previous quote at most.
std::size_t skip_string(std::string_view json, std::size_t at) {
  std::size_t from = at + 1;
  while (from < json.size()) {
    const std::size_t quote = json.find('"', from);
    if (quote == std::string_view::npos) break;
    std::size_t first_backslash = quote;
    while (first_backslash > from && json[first_backslash - 1] == '\\') --first_backslash;
    if ((quote - first_backslash) % 2 == 0) return quote + 1;
    from = quote + 1;
  }
  return json.size();
}

std::size_t skip_container(std::string_view json, std::size_t at) {
  std::size_t depth = 0;
  while (at < json.size()) {
    switch (json[at]) {
      case '"': at = skip_string(json, at); continue;
      case '{':
      case '[': ++depth; break;
      case '}':
      case ']':
        if (depth <= 1) return at + 1;
        --depth;
        break;
      default: break;
    }
    ++at;
  }
  return at;
}

std::size_t skip_scalar(std::string_view json, std::size_t at) {
  while (at < json.size()) {
    const char c = json[at];
    if (c == ',' || c == '}' || c == ']' || c == ':' || is_json_space(c)) break;
    ++at;
  }
  return at;
}

std::optional<std::uint32_t> hex4(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const char c = text[i];
    const bool digit = c >= '0' && c <= '9';
    const char lower = static_cast<char>(c | 0x20);
    if (!digit && (lower < 'a' || lower > 'f')) return std::nullopt;
    value = value * 16 + static_cast<std::uint32_t>(digit ? c - '0' : lower - 'a' + 10);
  }
  return value;
}

/// Appends the character of the `\uXXXX` at `at` (and of a second one, for a surrogate pair). Returns its end.
std::size_t append_unicode_escape(std::string& out, std::string_view text, std::size_t at) {
  constexpr std::uint32_t kReplacement = 0xFFFD;
  const std::uint32_t unit = hex4(text, at + 2).value_or(kReplacement);
  const std::size_t end = std::min(at + 6, text.size());
  if (unit < 0xD800 || unit > 0xDFFF) {
    append_utf8(out, unit);
    return end;
  }
  const bool escape_follows = end + 1 < text.size() && text[end] == '\\' && text[end + 1] == 'u';
  const std::uint32_t second = escape_follows ? hex4(text, end + 2).value_or(0) : 0;
  if (unit > 0xDBFF || second < 0xDC00 || second > 0xDFFF) {
    append_utf8(out, kReplacement);
    return end;
  }
  append_utf8(out, 0x10000 + ((unit - 0xD800) << 10U) + (second - 0xDC00));
  return end + 6;
}

char unescaped(char c) {
  switch (c) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return c;
  }
}

/// How a byte is written in a JSON string: up to six characters, followed by their number in the last element.
using Escape = std::array<char, 8>;

constexpr Escape make_escape(unsigned byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr std::string_view kPlain = "\"\\\b\f\n\r\t";
  constexpr std::string_view kShort = "\"\\bfnrt";
  const auto c = static_cast<char>(byte);
  if (const std::size_t i = kPlain.find(c); i != std::string_view::npos) return {'\\', kShort[i], 0, 0, 0, 0, 0, 2};
  if (byte < 0x20) return {'\\', 'u', '0', '0', kDigits[byte >> 4U], kDigits[byte & 0xFU], 0, 6};
  return {c, 0, 0, 0, 0, 0, 0, 1};
}

constexpr std::array<Escape, 256> make_escapes() {
  std::array<Escape, 256> escapes{};
  for (unsigned byte = 0; byte < escapes.size(); ++byte) escapes[byte] = make_escape(byte);
  return escapes;
}
constexpr std::array<Escape, 256> kEscapes = make_escapes();
constexpr std::size_t kEscapeBytesMax = 6;

/// Returns a bit for each of eight bytes that needs an escape; the lowest one is exact. (A byte minus n borrows,
/// without having its high bit set, only if it is less than n or a lower byte borrowed.)
std::uint64_t escape_mask(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighs = 0x8080808080808080;
  const std::uint64_t quotes = word ^ (kOnes * '"');
  const std::uint64_t backslashes = word ^ (kOnes * '\\');
  return (((word - kOnes * 0x20) & ~word) | ((quotes - kOnes) & ~quotes) | ((backslashes - kOnes) & ~backslashes)) &
         kHighs;
}

/// Writes one byte, escaped if necessary. May overwrite eight bytes of `to`.
char* write_byte(char* to, char c) {
  const Escape& escape = kEscapes[static_cast<unsigned char>(c)];
  std::memcpy(to, escape.data(), escape.size());
  return to + escape.back();
}

/// Writes `plain` escaped; `to` has room for the worst case and eight bytes more. Returns the end.
char* write_escaped(char* to, std::string_view plain) {
  std::size_t at = 0;
  while (at + 8 <= plain.size()) {
    const auto word = load_int<std::uint64_t>(plain.data() + at);
    store_int(to, word);  // assuming that none needs an escape
    const std::uint64_t mask = escape_mask(word);
    const auto clean = mask == 0 ? std::size_t{8} : static_cast<std::size_t>(std::countr_zero(mask)) / 8;
    at += clean;
    to += clean;
    if (mask != 0) to = write_byte(to, plain[at++]);
  }
  while (at < plain.size()) to = write_byte(to, plain[at++]);
  return to;
}

std::string_view without_quotes(std::string_view quoted) {
  return quoted.size() < 2 ? std::string_view{} : quoted.substr(1, quoted.size() - 2);
}

/// Skips the comma and the space between two entries.
std::size_t next_entry(std::string_view text, std::size_t at) {
  at = skip_json_space(text, at);
  if (at < text.size() && text[at] == ',') at = skip_json_space(text, at + 1);
  return at;
}

}  // namespace

JsonType json_type(std::string_view json) {
  if (json.empty()) return JsonType::none;
  switch (json.front()) {
    case '{': return JsonType::object;
    case '[': return JsonType::array;
    case '"': return JsonType::string;
    case 't':
    case 'f': return JsonType::boolean;
    case 'n': return JsonType::null;
    default: break;
  }
  const char c = json.front();
  return c == '-' || (c >= '0' && c <= '9') ? JsonType::number : JsonType::none;
}

std::size_t skip_json_space(std::string_view json, std::size_t at) {
  while (at < json.size() && is_json_space(json[at])) ++at;
  return at;
}

std::size_t skip_json_value(std::string_view json, std::size_t at) {
  if (at >= json.size()) return json.size();
  switch (json[at]) {
    case '"': return skip_string(json, at);
    case '{':
    case '[': return skip_container(json, at);
    default: return skip_scalar(json, at);
  }
}

std::string_view trim_json(std::string_view json) {
  while (!json.empty() && is_json_space(json.front())) json.remove_prefix(1);
  while (!json.empty() && is_json_space(json.back())) json.remove_suffix(1);
  return json;
}

JsonMembers::JsonMembers(std::string_view object) : text_(object) {
  at_ = object.starts_with('{') ? skip_json_space(object, 1) : object.size();
}

std::optional<JsonMember> JsonMembers::next() {
  if (at_ >= text_.size() || text_[at_] != '"') return std::nullopt;
  const std::size_t key_end = skip_string(text_, at_);
  std::size_t value_at = skip_json_space(text_, key_end);
  if (value_at < text_.size() && text_[value_at] == ':') ++value_at;
  value_at = skip_json_space(text_, value_at);
  const std::size_t value_end = skip_json_value(text_, value_at);
  const JsonMember member{text_.substr(at_, key_end - at_), text_.substr(value_at, value_end - value_at)};
  at_ = next_entry(text_, value_end);
  return member;
}

JsonElements::JsonElements(std::string_view array) : text_(array) {
  at_ = array.starts_with('[') ? skip_json_space(array, 1) : array.size();
}

std::optional<std::string_view> JsonElements::next() {
  if (at_ >= text_.size() || json_type(text_.substr(at_)) == JsonType::none) return std::nullopt;
  const std::size_t end = skip_json_value(text_, at_);
  const std::string_view element = text_.substr(at_, end - at_);
  at_ = next_entry(text_, end);
  return element;
}

std::optional<std::string_view> find_json_member(std::string_view object, std::string_view key) {
  JsonMembers members(object);
  while (const std::optional<JsonMember> member = members.next()) {
    if (json_string_is(member->key, key)) return member->value;
  }
  return std::nullopt;
}

std::string unescape_json(std::string_view quoted) {
  const std::string_view text = without_quotes(quoted);
  std::string out;
  out.reserve(text.size());
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t backslash = std::min(text.find('\\', at), text.size());
    out.append(text.substr(at, backslash - at));
    at = backslash;
    if (at + 1 >= text.size()) break;
    if (text[at + 1] == 'u') {
      at = append_unicode_escape(out, text, at);
    } else {
      out += unescaped(text[at + 1]);
      at += 2;
    }
  }
  return out;
}

bool json_string_is(std::string_view quoted, std::string_view plain) {
  const std::string_view text = without_quotes(quoted);
  if (text.size() < plain.size()) return false;  // an escaped text is never shorter
  if (text.find('\\') == std::string_view::npos) return text == plain;
  return unescape_json(quoted) == plain;
}

void append_json_string(std::string& out, std::string_view plain) {
  constexpr std::size_t kPieceBytes = 2048;  // bounds the space that is reserved in advance
  out += '"';
  while (!plain.empty()) {
    const std::string_view piece = plain.substr(0, kPieceBytes);
    plain.remove_prefix(piece.size());
    const std::size_t used = out.size();
    out.resize_and_overwrite(used + piece.size() * kEscapeBytesMax + sizeof(Escape), [&](char* data, std::size_t) {
      return static_cast<std::size_t>(write_escaped(data + used, piece) - data);
    });
  }
  out += '"';
}

std::string escape_json(std::string_view plain) {
  std::string out;
  out.reserve(plain.size() + plain.size() / 8 + 2);
  append_json_string(out, plain);
  return out;
}

void append_json_pointer(std::string& pointer, std::string_view key) {
  pointer += '/';
  for (const char c : key) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

std::size_t json_depth(std::string_view json) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

void append_json_member(std::string& out, std::string_view key, std::string_view value) {
  out += out.ends_with('{') ? "\"" : ",\"";
  out += key;
  out += "\":";
  append_json_string(out, value);
}

}  // namespace pawl
