// Checks whether a text is JSON that Pawl can store, and reports what is wrong and where.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// Fails with
///   state_too_large      more than `bytes_max` bytes
///   invalid_json         not JSON (RFC 8259), with line and column; NaN and Infinity are not JSON
///   json_too_deep        nested more than kJsonDepthMax deep
///   invalid_utf8         with the offset of the first wrong byte
///   number_out_of_range  an integer beyond 64 bits, or a number beyond a double
///   duplicate_key        a key twice in one object; `"\u0061"` and `"a"` are the same key
/// Thread-safe. Each thread keeps its buffers for texts up to 16 MB, about 2.6 bytes for each byte of the largest text,
/// because allocating them takes longer than the check.
[[nodiscard]] Result<void> check_json(std::string_view text, std::uint64_t bytes_max);

}  // namespace pawl
