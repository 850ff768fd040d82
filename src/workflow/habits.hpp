// Keys that people bring along from other tools, and what to write instead.
#pragma once

#include <string>
#include <string_view>

namespace pawl {

struct KeyHabit {
  std::string_view ours = {};  // the key that takes its place; empty where nothing does
  std::string hint = {};       // what to write
};

/// `value` is the text of the key's value where it is plain: `retries: 3` becomes `retry: { attempts: 3 }`.
/// An empty hint where the key is nobody's habit.
[[nodiscard]] KeyHabit key_habit(std::string_view key, std::string_view value);

}  // namespace pawl
