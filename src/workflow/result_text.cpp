#include "workflow/result_text.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace pawl {
namespace {

constexpr auto kOfSteps = std::to_array<std::string_view>({"name", "description", "timeout", "total_timeout", "retry",
                                                           "uses", "cache", "risky", "break", "continue_on_error"});
constexpr auto kOfMaps =
    std::to_array<std::string_view>({"parallel", "on_item_failure", "max_failures", "circuit_breaker"});
constexpr auto kOfLoops = std::to_array<std::string_view>({"max"});

YamlNode without(const YamlNode& map, std::span<const std::string_view> keys) {
  YamlNode out = map;
  std::erase_if(out.members,
                [&](const YamlMember& member) { return std::ranges::find(keys, member.key) != keys.end(); });
  return out;
}

bool has_any(const YamlNode& map, std::span<const std::string_view> keys) {
  return std::ranges::any_of(
      map.members, [&](const YamlMember& member) { return std::ranges::find(keys, member.key) != keys.end(); });
}

/// Returns whether there is nothing to leave out: most steps have no such key and contain no other steps.
bool is_plain(const YamlNode& step) {
  constexpr auto kContaining = std::to_array<std::string_view>({"map", "loop", "steps", "on_failure", "reduce"});
  return !step.is_map() || (!has_any(step, kOfSteps) && !has_any(step, kContaining));
}

YamlPtr of_step(const YamlNode& step) {
  if (!step.is_map()) return std::make_shared<const YamlNode>(step);
  auto out = std::make_shared<YamlNode>(without(step, kOfSteps));
  for (YamlMember& member : out->members) {
    const YamlNode& value = *member.value;
    if (member.key == "map" && value.is_map()) member.value = std::make_shared<const YamlNode>(without(value, kOfMaps));
    if (member.key == "loop" && value.is_map())
      member.value = std::make_shared<const YamlNode>(without(value, kOfLoops));
    if (member.key == "reduce") member.value = of_step(value);
    if ((member.key != "steps" && member.key != "on_failure") || !value.is_list()) continue;
    auto list = std::make_shared<YamlNode>(value);
    for (YamlPtr& inner : list->items) inner = of_step(*inner);
    member.value = std::move(list);
  }
  return out;
}

}  // namespace

std::string text_for_result(const YamlNode& step, const std::string& whole) {
  return is_plain(step) ? whole : canonical_text(*of_step(step));
}

}  // namespace pawl
