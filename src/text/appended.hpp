// Detecting that a state only grew. States of agents usually grow at one place: a message is appended to a
// conversation. If the previous state was valid JSON, only the appended part must be checked.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace pawl {

struct Appended {
  std::string_view elements;  // for example `1,{"a":2}`: a span of the new text, without the comma before it
  std::size_t depth = 0;      // number of arrays and objects that enclose them
};

/// Returns what `after` appends to an array of `before` that is not empty, if the texts are equal otherwise. `before`
/// must be valid JSON. Then `after` is valid JSON exactly if `[elements]` is. Returns nothing if the texts differ in
/// another way, or if that is expensive to find out. Compares the texts once.
[[nodiscard]] std::optional<Appended> appended_elements(std::string_view before, std::string_view after);

}  // namespace pawl
