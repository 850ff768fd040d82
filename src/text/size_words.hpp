// Sizes as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

/// `512MB`, `2 GiB`, `100B`: a positive whole number and its unit, below 2^53 bytes. Nothing where it is none.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);
/// The shortest such text that gives exactly this size.
[[nodiscard]] std::string size_words(std::uint64_t bytes);

}  // namespace pawl
