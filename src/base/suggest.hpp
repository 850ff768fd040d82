// "Did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl {

/// Insertions, deletions, replacements and swaps of neighbours that lead from one to the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest candidate, if it is near enough to be meant; else empty.
[[nodiscard]] std::string suggest(std::string_view typed, const std::vector<std::string>& candidates);

}  // namespace pawl
