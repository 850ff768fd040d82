// Text as people see it: nothing invisible in it, sizes in words, widths in columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

/// `text` with control characters and invalid UTF-8 shown as \x1b, so that nothing from outside can steer a terminal.
[[nodiscard]] std::string printable(std::string_view text);
/// "812 B", "1.5 KiB", "3.2 MiB"
[[nodiscard]] std::string size_text(std::uint64_t bytes);

/// How many columns printable text takes: two for wide characters (roughly), none for combining ones.
[[nodiscard]] std::size_t display_columns(std::string_view text);
/// Printable text in at most this many columns, with an ellipsis if something was cut off.
[[nodiscard]] std::string cut_to_columns(std::string_view text, std::size_t columns);

}  // namespace pawl
