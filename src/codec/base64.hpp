// Base64 (RFC 4648, with padding, no line breaks): how bytes that are not text stand in a line of JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl {

[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Nothing where the text is not exactly what to_base64 gives for some bytes.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace pawl
