#include "text/utf8.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "base/assert.hpp"

namespace pawl {
namespace {

// The meaning of the first byte of a sequence. `least` excludes overlong forms.
struct Lead {
  unsigned mask;
  unsigned mark;
  std::size_t size;
  std::uint32_t least;
};
constexpr std::array<Lead, 4> kLeads{{
    {0x80U, 0x00U, 1, 0x0},
    {0xE0U, 0xC0U, 2, 0x80},
    {0xF0U, 0xE0U, 3, 0x800},
    {0xF8U, 0xF0U, 4, 0x10000},
}};

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

constexpr bool is_surrogate(std::uint32_t value) { return value >= 0xD800 && value <= 0xDFFF; }

}  // namespace

CodePoint first_code_point(std::string_view text) {
  if (text.empty()) return {};
  const unsigned first = static_cast<unsigned char>(text[0]);
  for (const Lead& lead : kLeads) {
    if ((first & lead.mask) != lead.mark) continue;
    if (text.size() < lead.size) return {};
    std::uint32_t value = first & ~lead.mask;
    for (std::size_t i = 1; i < lead.size; ++i) {
      if (!is_utf8_continuation(text[i])) return {};
      value = (value << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
    }
    if (value < lead.least || value > 0x10FFFF || is_surrogate(value)) return {};
    return {value, lead.size};
  }
  return {};
}

bool is_valid_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

std::size_t invalid_utf8_at(std::string_view text) {
  if (is_valid_utf8(text)) return std::string_view::npos;
  std::size_t at = 0;
  for (CodePoint point; (point = first_code_point(text.substr(at))).size > 0;) at += point.size;
  return at;
}

std::string valid_utf8(std::string_view text) {
  if (is_valid_utf8(text)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t size = first_code_point(text).size;
    out += size == 0 ? kReplacement : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

void append_utf8(std::string& out, std::uint32_t value) {
  PAWL_ASSERT(value <= 0x10FFFF && !is_surrogate(value));
  if (value < 0x80) {
    out += static_cast<char>(value);
    return;
  }
  const unsigned followers = value < 0x800 ? 1 : value < 0x10000 ? 2 : 3;
  out += static_cast<char>(kLeads[followers].mark | (value >> (6 * followers)));
  for (unsigned left = followers; left-- > 0;) out += static_cast<char>(0x80U | ((value >> (6 * left)) & 0x3FU));
}

std::size_t utf8_cut(std::string_view text, std::size_t size) {
  if (size >= text.size()) return text.size();
  while (size > 0 && is_utf8_continuation(text[size])) --size;
  return size;
}

std::size_t incomplete_utf8_bytes(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const char byte = text[text.size() - back];
    if (is_utf8_continuation(byte)) continue;
    const auto first = static_cast<unsigned char>(byte);
    for (const Lead& lead : kLeads) {
      if ((first & lead.mask) == lead.mark) return lead.size > back ? back : 0;
    }
    return 0;
  }
  return 0;
}

}  // namespace pawl
