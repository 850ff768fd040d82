// Compression with zstd and gzip. Input may be hostile: the size of the output is limited before memory is
// allocated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// Returns one zstd frame with its content size. `level` is 1 (fast) to 19 (small). With a `dictionary`, the frame can
/// be read only with the same dictionary. Returns an empty text if zstd runs out of memory.
[[nodiscard]] std::string compress_zstd(std::string_view bytes, int level, std::string_view dictionary = {});
/// Fails with decoding_failed if it is not a single frame, is damaged, or would exceed `bytes_max`.
[[nodiscard]] Result<std::string> decompress_zstd(std::string_view frame, std::uint64_t bytes_max,
                                                  std::string_view dictionary = {});
/// Returns the size of the frame at the start of `bytes`. Fails with decoding_failed if it is not complete.
[[nodiscard]] Result<std::uint64_t> zstd_frame_bytes(std::string_view bytes);
/// Returns the content of all members of a gzip file. Fails as above.
[[nodiscard]] Result<std::string> decompress_gzip(std::string_view file, std::uint64_t bytes_max);
/// Returns one gzip member, as small as zlib makes it. Returns an empty text if zlib runs out of memory.
[[nodiscard]] std::string compress_gzip(std::string_view bytes);
struct GzipMember {
  std::string content;
  std::uint64_t stored_bytes = 0;
};
/// Returns the first member of a gzip file. Fails as above.
[[nodiscard]] Result<GzipMember> decompress_gzip_member(std::string_view file, std::uint64_t bytes_max);

}  // namespace pawl
