#include "text/duration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace pawl {
namespace {

struct DurationUnit {
  std::string_view name;
  std::string_view shown;
  std::int64_t milliseconds;
};
/// Largest first, which is also the order in which a duration must name them.
constexpr std::array<DurationUnit, 5> kDurationUnits{{
    {"d", "d", 86'400'000},
    {"h", "h", 3'600'000},
    {"m", "min", 60'000},
    {"s", "s", 1'000},
    {"ms", "ms", 1},
}};

}  // namespace

std::optional<Milliseconds> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  std::size_t next_unit = 0;
  while (!text.empty()) {
    // from_chars accepts a sign, which a duration never has.
    if (text[0] < '0' || text[0] > '9') return std::nullopt;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const std::string_view name = text.substr(0, std::min(text.find_first_of("0123456789"), text.size()));
    while (next_unit < kDurationUnits.size() && kDurationUnits[next_unit].name != name) ++next_unit;
    if (next_unit == kDurationUnits.size()) return std::nullopt;
    std::int64_t part = 0;
    if (__builtin_mul_overflow(number, kDurationUnits[next_unit].milliseconds, &part) ||
        __builtin_add_overflow(total, part, &total))
      return std::nullopt;
    text.remove_prefix(name.size());
    ++next_unit;
  }
  return Milliseconds(total);
}

std::string duration_text(Milliseconds duration) {
  std::int64_t left = duration.count();
  if (left < 0) return fmt::format("-{}", duration_text(Milliseconds(left == INT64_MIN ? INT64_MAX : -left)));
  std::string text;
  for (const DurationUnit& unit : kDurationUnits) {
    const std::int64_t count = left / unit.milliseconds;
    left %= unit.milliseconds;
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : " ", count, unit.shown);
  }
  return text.empty() ? "0 s" : text;
}

}  // namespace pawl
