// Texts that fit the width of a terminal: messages, hints and pages. Tables have their own rules (table.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl::cli {

/// Wraps every line of `text` between words to fit `columns`. Without a width, returns the text as it is. All lines but
/// the first of each are indented by `indent` spaces. A word that is longer than a line is not broken, and neither is a
/// command (`pawl ...`) that fits on a line of its own. Lines that begin with a space stay as they are: they are lists
/// or differences.
[[nodiscard]] std::string wrap_text(std::string_view text, std::optional<std::size_t> columns, std::size_t indent = 0);

/// The same for text that stands next to a label of `indent` columns: every line but the first is indented by as much.
[[nodiscard]] std::string wrap_beside(std::size_t indent, std::string_view text, std::optional<std::size_t> columns);

/// The same for a page of Markdown: the lines of a paragraph or list item are joined first. Code and tables stay as
/// they are.
[[nodiscard]] std::string wrap_page(std::string_view page, std::optional<std::size_t> columns);

/// Markdown without links: `[PAWL-0342](PAWL-0342.md)` becomes `PAWL-0342`.
[[nodiscard]] std::string without_links(std::string_view page);

}  // namespace pawl::cli
