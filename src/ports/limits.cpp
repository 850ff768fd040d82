#include "ports/limits.hpp"

#include <algorithm>

namespace pawl {
namespace {

Result<void> check_number(const std::string& name, std::string_view key, const std::optional<std::uint32_t>& number,
                          std::uint32_t max) {
  if (!number || (*number >= 1 && *number <= max)) return {};
  return fail(Error{Code::number_out_of_range,
                    fmt::format("limit '{}': {} is {}, but must be between 1 and {}", name, key, *number, max),
                    {},
                    {},
                    0});
}

void tighten_number(std::optional<std::uint32_t>& number, const std::optional<std::uint32_t>& other) {
  if (other && (!number || *other < *number)) number = other;
}

}  // namespace

void tighten(LimitDefinition& limit, const LimitDefinition& other) {
  tighten_number(limit.per_minute, other.per_minute);
  tighten_number(limit.parallel, other.parallel);
}

Result<std::vector<LimitDefinition>> checked_limits(std::span<const LimitDefinition> limits) {
  std::vector<LimitDefinition> sorted(limits.begin(), limits.end());
  for (const LimitDefinition& limit : sorted) {
    if (!RunId::parse(limit.name)) {  // a limit has a file with its name
      return fail(Error{Code::invalid_label,
                        fmt::format("invalid name of a limit '{}'", limit.name),
                        {},
                        "use letters, digits, '.', '_' and '-', at most 128, starting with a letter or digit",
                        0});
    }
    PAWL_TRY(check_number(limit.name, "per_minute", limit.per_minute, kLimitPerMinuteMax));
    PAWL_TRY(check_number(limit.name, "parallel", limit.parallel, kLimitParallelMax));
  }
  std::ranges::sort(sorted, {}, &LimitDefinition::name);
  std::vector<LimitDefinition> out;
  for (LimitDefinition& limit : sorted) {
    if (!out.empty() && out.back().name == limit.name) {
      tighten(out.back(), limit);
    } else {
      out.push_back(std::move(limit));
    }
  }
  return out;
}

}  // namespace pawl
