// States of agents grow at one place: a message is appended to a conversation. Whoever knows that the last
// state was valid JSON need only look at what was appended.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace pawl {

struct Appended {
  std::string_view elements;  // `1,{"a":2}`: a span of the new text, without the comma before it
  std::size_t depth = 0;      // how many arrays and objects are open around them
};

/// What `after` has that `before` has not, where `before` is valid JSON and `after` is the same text with
/// elements appended to an array that has some already. Then `after` is valid JSON exactly if `[elements]` is.
/// Nothing where that is not so, or not cheap to see. One comparison of the texts.
[[nodiscard]] std::optional<Appended> appended_elements(std::string_view before, std::string_view after);

}  // namespace pawl
