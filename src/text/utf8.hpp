// UTF-8, as far as the domain needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

/// A code point and the bytes that it took; `size` is 0 where the text does not begin with valid UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t size = 0;
};

/// The first code point of `text`. Overlong forms, surrogates and what is above U+10FFFF are not valid.
[[nodiscard]] CodePoint first_code_point(std::string_view text);

/// Appends `value`, which must be a code point other than a surrogate.
void append_utf8(std::string& out, std::uint32_t value);

/// True for a byte inside a sequence: a text must not be cut before it.
[[nodiscard]] inline bool is_utf8_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// The largest length up to `size` at which `text` can be cut without cutting a sequence.
[[nodiscard]] std::size_t utf8_cut(std::string_view text, std::size_t size);

}  // namespace pawl
