#include "domain/state_parts.hpp"

#include <algorithm>

#include "domain/json_text.hpp"

namespace pawl {
namespace {

/// Calls `use(name, value)` for each part, until it says that it has enough.
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

bool larger(const StatePart& a, const StatePart& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name; }

}  // namespace

std::vector<StatePart> largest_parts(std::string_view json, std::size_t limit) {
  std::vector<StatePart> largest;  // a heap whose front is the smallest of them
  each_part(json, [&](std::string name, std::string_view value) {
    StatePart part{std::move(name), value.size()};
    if (largest.size() >= limit && (largest.empty() || !larger(part, largest.front()))) return true;
    largest.push_back(std::move(part));
    std::ranges::push_heap(largest, larger);
    if (largest.size() > limit) {
      std::ranges::pop_heap(largest, larger);
      largest.pop_back();
    }
    return true;
  });
  std::ranges::sort(largest, larger);
  return largest;
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
