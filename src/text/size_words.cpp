#include "text/size_words.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace pawl {
namespace {

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<SizeUnit, 9> kSizeUnits{{
    {"TiB", 1ULL << 40U},
    {"TB", 1'000'000'000'000},
    {"GiB", 1ULL << 30U},
    {"GB", 1'000'000'000},
    {"MiB", 1ULL << 20U},
    {"MB", 1'000'000},
    {"KiB", 1ULL << 10U},
    {"KB", 1'000},
    {"B", 1},
}};

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value == 0) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const SizeUnit& known : kSizeUnits) {
    if (unit == known.name && value < (1ULL << 53U) / known.bytes) return value * known.bytes;
  }
  return std::nullopt;
}

std::string size_words(std::uint64_t bytes) {
  std::string shortest = fmt::format("{}B", bytes);
  for (const SizeUnit& unit : kSizeUnits) {
    if (bytes == 0 || bytes % unit.bytes != 0) continue;
    std::string text = fmt::format("{}{}", bytes / unit.bytes, unit.name);
    if (text.size() < shortest.size()) shortest = std::move(text);
  }
  return shortest;
}

}  // namespace pawl
