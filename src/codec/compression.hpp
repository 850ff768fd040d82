// zstd, and reading gzip. What is read may be hostile: the size that it grows to is bounded before memory is taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// One zstd frame with its content size. `level`: 1 (fast) to 19 (small). `dictionary`: what it begins with, and what
/// it can be read with only. Empty where zstd could not get the memory.
[[nodiscard]] std::string compress_zstd(std::string_view bytes, int level, std::string_view dictionary = {});
/// Fails with decoding_failed where it is no single frame, is damaged, or would exceed `bytes_max`.
[[nodiscard]] Result<std::string> decompress_zstd(std::string_view frame, std::uint64_t bytes_max,
                                                  std::string_view dictionary = {});
/// All members of a gzip file. Fails as above.
[[nodiscard]] Result<std::string> decompress_gzip(std::string_view file, std::uint64_t bytes_max);

}  // namespace pawl
