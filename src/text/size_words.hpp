// Sizes in bytes as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

/// Reads a positive whole number with a unit, such as `512MB`, `2 GiB` or `100B`, below 2^53 bytes. Returns nothing if
/// `text` is not a size.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);
/// Returns the shortest such text for exactly this size.
[[nodiscard]] std::string size_words(std::uint64_t bytes);

}  // namespace pawl
