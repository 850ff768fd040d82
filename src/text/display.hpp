// Text as people see it: without invisible characters, sizes in words, widths in columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

/// Returns `text` with control characters and invalid UTF-8 shown as \x1b, so that untrusted text can't control a
/// terminal.
[[nodiscard]] std::string printable(std::string_view text);
enum class Colours : std::uint8_t { remove, keep };
/// The same for the output of a command. Escape sequences for colours are kept, up to the end of the text, or removed
/// with all other escape sequences.
[[nodiscard]] std::string printable_output(std::string_view text, Colours colours);
/// "812 B", "1.5 KiB", "3.2 MiB"
[[nodiscard]] std::string size_text(std::uint64_t bytes);
/// "3,420"
[[nodiscard]] std::string grouped_number(std::uint64_t number);
/// "0.82 USD"; "0.0004 USD" below one cent.
[[nodiscard]] std::string usd_text(double usd);
/// "0.82 USD, 3,420 tokens"; empty if nothing was used.
[[nodiscard]] std::string used_text(double usd, std::uint64_t tokens);
/// "0.82 of 5.00 USD, 3,420 of 90,000 tokens". A limit that is not set is omitted, and so is what was not used and has
/// no limit.
[[nodiscard]] std::string used_text(double usd, std::uint64_t tokens, std::optional<double> usd_limit,
                                    std::optional<std::uint64_t> tokens_limit);

/// Returns how many columns printable text takes: two for wide characters (roughly), none for combining ones.
[[nodiscard]] std::size_t display_columns(std::string_view text);
/// Returns printable text in at most this many columns, with an ellipsis if something was cut off.
[[nodiscard]] std::string cut_to_columns(std::string_view text, std::size_t columns);

}  // namespace pawl
