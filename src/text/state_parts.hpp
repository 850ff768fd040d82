// How large the parts of a state are: the members of an object, the elements of an array.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

struct StatePart {
  std::string name;         // the key; of an element, its index
  std::uint64_t bytes = 0;  // of the value's text
  bool operator==(const StatePart&) const = default;
};

/// The `limit` largest parts, largest first, equal ones in their order. `json` is known to be valid. One pass; memory
/// goes with the limit.
[[nodiscard]] std::vector<StatePart> largest_parts(std::string_view json, std::size_t limit);
/// The value of a part; empty where there is none of this name.
[[nodiscard]] std::string_view part_value(std::string_view json, std::string_view name);

}  // namespace pawl
