#include "text/display.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/utf8.hpp"

namespace pawl {
namespace {

struct CodeRange {
  std::uint32_t first;
  std::uint32_t last;
};

constexpr CodeRange kCombining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},   {0x0E34, 0x0E3A},
    {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E},   {0x2060, 0x2064},
    {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
};

constexpr CodeRange kWide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
};

template <std::size_t N>
bool within(const CodeRange (&ranges)[N], std::uint32_t value) {
  return std::ranges::any_of(ranges,
                             [value](const CodeRange& range) { return value >= range.first && value <= range.last; });
}

std::size_t columns_of(std::uint32_t value) {
  if (value < 0x300) return 1;
  if (within(kCombining, value)) return 0;
  return within(kWide, value) ? 2 : 1;
}

/// How many bytes of `text` fit into the given columns, and how many columns they take.
struct Fit {
  std::size_t bytes = 0;
  std::size_t columns = 0;
};
Fit fit(std::string_view text, std::size_t columns_max) {
  Fit fitting;
  while (fitting.bytes < text.size()) {
    const CodePoint point = first_code_point(text.substr(fitting.bytes));
    const std::size_t columns = point.size == 0 ? 1 : columns_of(point.value);
    if (fitting.columns + columns > columns_max) break;
    fitting.columns += columns;
    fitting.bytes += std::max<std::size_t>(point.size, 1);
  }
  return fitting;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const std::size_t size = std::max<std::size_t>(point.size, 1);
    if (point.size == 0 || is_control(point.value)) {
      for (const char byte : text.substr(0, size)) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size);
  }
  return out;
}

std::string printable_output(std::string_view text, Colours colours) {
  constexpr std::string_view kReset = "\x1b[0m";
  std::string out;
  bool coloured = false;
  while (!text.empty()) {
    const std::size_t start = std::min(text.find("\x1b["), text.size());
    out += printable(text.substr(0, start));
    text.remove_prefix(start);
    if (text.empty()) break;
    const std::size_t end = text.find_first_not_of("0123456789;:?", 2);
    const bool whole = end != std::string_view::npos && text[end] >= '@' && text[end] <= '~';
    const std::string_view sequence = text.substr(0, whole ? end + 1 : 1);
    if (!whole) {
      out += printable(sequence);
    } else if (colours == Colours::keep && sequence.ends_with('m')) {
      out += sequence;
      coloured = sequence != kReset;
    }
    text.remove_prefix(sequence.size());
  }
  return coloured ? out.append(kReset) : out;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string grouped_number(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

constexpr std::string_view kUsdUnit = " USD";

std::string usd_text(double usd) {
  constexpr double kCent = 0.01;
  constexpr double kLeast = 0.0001;
  if (usd > 0 && usd < kLeast) return fmt::format("<{} USD", kLeast);
  return usd > 0 && usd < kCent ? fmt::format("{:.4f} USD", usd) : fmt::format("{:.2f} USD", usd);
}

std::string used_text(double usd, std::uint64_t tokens) { return used_text(usd, tokens, std::nullopt, std::nullopt); }

std::string used_text(double usd, std::uint64_t tokens, std::optional<double> usd_limit,
                      std::optional<std::uint64_t> tokens_limit) {
  std::string text;
  if (usd_limit) {
    const std::string used = usd_text(usd);
    text = fmt::format("{} of {}", used.substr(0, used.size() - kUsdUnit.size()), usd_text(*usd_limit));
  } else if (usd > 0) {
    text = usd_text(usd);
  }
  if (tokens == 0 && !tokens_limit) return text;
  if (!text.empty()) text += ", ";
  if (tokens_limit) return text + fmt::format("{} of {} tokens", grouped_number(tokens), grouped_number(*tokens_limit));
  return text + grouped_number(tokens) + (tokens == 1 ? " token" : " tokens");
}

std::size_t display_columns(std::string_view text) { return fit(text, SIZE_MAX).columns; }

std::string cut_to_columns(std::string_view text, std::size_t columns) {
  if (fit(text, columns).bytes == text.size()) return std::string(text);
  if (columns == 0) return {};
  return std::string(text.substr(0, fit(text, columns - 1).bytes)) + "…";
}

}  // namespace pawl
