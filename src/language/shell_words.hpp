// The words of one simple command, as far as they decide what happens to a value in it. Internal to
// shell_command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::shell_words {

/// Reserved words behind which another command, or another reserved word, may stand.
[[nodiscard]] bool is_reserved(std::string_view word);
/// `NAME=...`, `NAME+=...`, `NAME[...]=...`
[[nodiscard]] bool is_assignment(std::string_view word);
/// Where the shell would evaluate a value within `word`, which comes behind `words`: says what is wrong, else
/// is empty. Words are as they are written; `word` ends before the value.
[[nodiscard]] std::string evaluated(const std::vector<std::string>& words, std::string_view word);
/// A word within [[ ]] that makes its operands arithmetic or names.
[[nodiscard]] bool is_evaluating_test(std::string_view word);

}  // namespace pawl::shell_words
