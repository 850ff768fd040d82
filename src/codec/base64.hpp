// Base64 (RFC 4648, with padding, without line breaks): how bytes that are not text are written in JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl {

[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Returns nothing unless `text` is exactly what to_base64 returns for some bytes.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace pawl
