// Headers of tar archives (POSIX pax, as GNU tar and bsdtar read them). Only regular files, and only in the one form
// that `encode_tar_header` writes: everything else is refused, so that a hostile archive has nothing to play with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

constexpr std::uint64_t kTarBlockBytes = 512;
/// The maximum size of a header: a pax header, its records and the header of the file.
constexpr std::uint64_t kTarHeaderBytesMax = 8 * kTarBlockBytes;
constexpr std::uint64_t kTarPathBytesMax = 1024;

struct TarHeader {
  std::string path = {};
  std::uint64_t size_bytes = 0;
  std::int64_t modified_s = 0;  // seconds since 1970
};

/// Returns the blocks before the content of a file. Long paths and sizes of 8 GiB and more get a pax header.
[[nodiscard]] std::string encode_tar_header(const TarHeader& header);
/// Returns the size of the zeros that follow `size_bytes` bytes of content.
[[nodiscard]] std::uint64_t tar_padding_bytes(std::uint64_t size_bytes);
/// Returns the size of the header that `block`, the first one, begins. Fails with backup_damaged if it is none.
[[nodiscard]] Result<std::uint64_t> tar_header_bytes(std::string_view block);
/// Decodes a complete header. Fails with backup_damaged if encode_tar_header would not have written these bytes.
[[nodiscard]] Result<TarHeader> decode_tar_header(std::string_view blocks);
/// Returns whether the block is all zeros: the end of an archive.
[[nodiscard]] bool is_tar_end(std::string_view block);

}  // namespace pawl
