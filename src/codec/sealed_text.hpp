// A JSON object whose last member is a checksum over everything before it: `{...,"crc":"1a2b3c4d"}`. Small files and
// lines of a store have this form: they are readable, and every changed bit is detected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// Appends `,"crc":"........"}` to an object that lacks its closing brace.
void seal(std::string& open_object, std::uint32_t seed = 0);

/// Returns the object without its checksum and closing brace, or nothing if the checksum is wrong. `text` must end with
/// the closing brace, without a newline.
[[nodiscard]] std::optional<std::string_view> unseal(std::string_view text, std::uint32_t seed = 0);

constexpr std::string_view kSealKey = ",\"crc\":\"";
constexpr std::size_t kSealBytes = kSealKey.size() + 8 + 2;

/// Returns unsupported_version: `what` has a format above `newest`, the newest one that this program reads.
[[nodiscard]] Error newer_format(std::string_view what, std::uint64_t format, std::uint64_t newest);

}  // namespace pawl
