// UTF-8: validation, code points, cutting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

/// A code point and the number of bytes that it takes. `size` is 0 if the text does not begin with valid UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t size = 0;
};

/// Returns the first code point of `text`. Overlong forms, surrogates and values above U+10FFFF are invalid.
[[nodiscard]] CodePoint first_code_point(std::string_view text);

/// Returns whether all of `text` is valid UTF-8. Fast.
[[nodiscard]] bool is_valid_utf8(std::string_view text);
/// Returns the offset of the first byte that is not valid UTF-8, or npos.
[[nodiscard]] std::size_t invalid_utf8_at(std::string_view text);
/// Returns `text` with each invalid byte replaced by U+FFFD.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// Returns whether the code point is a control character (C0, DEL or C1).
[[nodiscard]] constexpr bool is_control(std::uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
}

/// Appends `value`, which must be a code point other than a surrogate.
void append_utf8(std::string& out, std::uint32_t value);

/// Returns whether `byte` continues a sequence. A text must not be cut before such a byte.
[[nodiscard]] inline bool is_utf8_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Returns the largest length up to `size` at which `text` can be cut without cutting a sequence.
[[nodiscard]] std::size_t utf8_cut(std::string_view text, std::size_t size);

/// Returns how many bytes at the end of `text` are an incomplete sequence, which more text may complete.
[[nodiscard]] std::size_t incomplete_utf8_bytes(std::string_view text);

}  // namespace pawl
