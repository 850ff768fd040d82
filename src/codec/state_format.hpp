// MessagePack and CBOR for states. A state must be restored byte for byte, but these formats preserve values, not text.
// A text is stored in such a format only if converting it back gives the same text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/settings.hpp"

namespace pawl {

/// Returns `json` (which codec/json_check has accepted) in a binary format. Returns nothing if it could not be restored
/// exactly, because it has white space between tokens, or a number or string that is not in its shortest form.
[[nodiscard]] std::optional<std::string> to_binary(std::string_view json, StateFormat format);
/// Returns the text. Fails with decoding_failed if the bytes are not of that format, are nested too deeply, contain
/// something that JSON does not have, or would produce more than `bytes_max` bytes.
[[nodiscard]] Result<std::string> from_binary(std::string_view bytes, StateFormat format, std::uint64_t bytes_max);

}  // namespace pawl
