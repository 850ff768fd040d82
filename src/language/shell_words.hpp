// The words of one simple command, as far as they affect a value in it. Used only by shell_command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::shell_words {

/// Returns whether another command or reserved word may follow this reserved word.
[[nodiscard]] bool is_reserved(std::string_view word);
/// Returns whether the word is an assignment: `NAME=...`, `NAME+=...` or `NAME[...]=...`.
[[nodiscard]] bool is_assignment(std::string_view word);
/// Returns why the shell would evaluate a value within `word`, which follows `words`, or an empty text. Words are as
/// written; `word` ends before the value.
[[nodiscard]] std::string evaluated(const std::vector<std::string>& words, std::string_view word);
/// Returns whether a word within [[ ]] turns its operands into arithmetic or names.
[[nodiscard]] bool is_evaluating_test(std::string_view word);

}  // namespace pawl::shell_words
