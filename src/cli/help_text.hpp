// The help of a command, as --help prints it.
#pragma once

#include <string>
#include <string_view>

#include "cli/options.hpp"

namespace pawl::cli {

/// Returns usage, arguments, options, commands and examples. Descriptions are wrapped between words to fit `columns`;
/// the examples stay as they are.
[[nodiscard]] std::string help_text(const Options& command, std::size_t columns);

/// Wraps `text` between words. Indents all lines except the first by `indent` spaces. Does not break a word that is
/// longer than a line.
[[nodiscard]] std::string wrap_words(std::string_view text, std::size_t indent, std::size_t columns);

}  // namespace pawl::cli
