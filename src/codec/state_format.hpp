// MessagePack and CBOR for states. A state must come back byte for byte, and these formats keep values, not texts:
// so a text is only stored this way where that was tried and seen.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/settings.hpp"

namespace pawl {

/// `json` (which codec/json_check has seen) in a binary format; nothing where it would not come back exactly: it has
/// spaces between its tokens, or a number or string in a form that is not the shortest.
[[nodiscard]] std::optional<std::string> to_binary(std::string_view json, StateFormat format);
/// The text. Fails with decoding_failed where the bytes are not of that format, are nested too deeply, have something
/// that JSON has not, or would make more than `bytes_max` bytes.
[[nodiscard]] Result<std::string> from_binary(std::string_view bytes, StateFormat format, std::uint64_t bytes_max);

}  // namespace pawl
