// Sizes of the parts of a state: the members of an object, the elements of an array.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

struct StatePart {
  std::string name;         // the key, or the index of an element
  std::uint64_t bytes = 0;  // size of the text of the value
  bool operator==(const StatePart&) const = default;
};

/// Returns the `limit` largest parts, largest first, parts of equal size in their order. `json` must be valid. One
/// pass; memory grows with the limit.
[[nodiscard]] std::vector<StatePart> largest_parts(std::string_view json, std::size_t limit);
/// Returns the value of a part, or an empty text if there is no part of this name.
[[nodiscard]] std::string_view part_value(std::string_view json, std::string_view name);

}  // namespace pawl
