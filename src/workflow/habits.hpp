// Keys that people bring from other tools, and what to write instead.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

struct KeyHabit {
  std::string_view ours = {};  // the key that replaces it; empty if there is none
  std::string hint = {};       // what to write
};

/// `value` is the text of the key's value if it is a scalar: `retries: 3` becomes `retry: { attempts: 3 }`. The hint is
/// empty if the key is not known from another tool.
[[nodiscard]] KeyHabit key_habit(std::string_view key, std::string_view value);

}  // namespace pawl
