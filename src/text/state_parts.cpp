#include "text/state_parts.hpp"

#include <algorithm>

#include "text/json_text.hpp"

namespace pawl {
namespace {

/// Calls `use(name, value)` for each part until it returns false.
template <class Use>
void each_part(std::string_view json, Use use) {
  json = trim_json(json);
  if (json_type(json) == JsonType::object) {
    JsonMembers members(json);
    while (const auto member = members.next()) {
      if (!use(unescape_json(member->key), member->value)) return;
    }
  } else if (json_type(json) == JsonType::array) {
    JsonElements elements(json);
    for (std::uint64_t i = 0; const auto element = elements.next(); ++i) {
      if (!use(std::to_string(i), *element)) return;
    }
  }
}

struct PlacedPart {
  StatePart part;
  std::uint64_t place = 0;  // in the order of the text, which breaks ties
};

bool larger(const PlacedPart& a, const PlacedPart& b) {
  return a.part.bytes != b.part.bytes ? a.part.bytes > b.part.bytes : a.place < b.place;
}

}  // namespace

std::vector<StatePart> largest_parts(std::string_view json, std::size_t limit) {
  std::vector<PlacedPart> largest;  // a heap with the smallest part at the front
  std::uint64_t place = 0;
  each_part(json, [&](std::string name, std::string_view value) {
    largest.push_back({{std::move(name), value.size()}, place++});
    std::ranges::push_heap(largest, larger);
    if (largest.size() > limit) {
      std::ranges::pop_heap(largest, larger);
      largest.pop_back();
    }
    return true;
  });
  std::ranges::sort(largest, larger);
  std::vector<StatePart> parts;
  for (PlacedPart& placed : largest) parts.push_back(std::move(placed.part));
  return parts;
}

std::string_view part_value(std::string_view json, std::string_view name) {
  std::string_view found;
  each_part(json, [&](const std::string& part, std::string_view value) {
    if (part != name) return true;
    found = value;
    return false;
  });
  return found;
}

}  // namespace pawl
