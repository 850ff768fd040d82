// Suggestions for misspelt words, and lists of known words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl {

/// Returns how many insertions, deletions, replacements and swaps of neighbouring bytes turn `a` into `b`.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the nearest candidate if it is a likely misspelling, otherwise an empty text.
[[nodiscard]] std::string suggest(std::string_view typed, const std::vector<std::string>& candidates);

/// Returns `did you mean 'when'?` if there is a likely candidate, otherwise `otherwise`.
[[nodiscard]] std::string did_you_mean(std::string_view typed, const std::vector<std::string>& candidates,
                                       std::string otherwise);
/// Returns `a, b or c`. Lists at most 12 words, followed by `...` if there are more.
[[nodiscard]] std::string one_of(const std::vector<std::string>& words);

}  // namespace pawl
