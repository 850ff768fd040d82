#include "codec/compression.hpp"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace pawl {
namespace {

constexpr std::size_t kBlock = 64U << 10U;  // decompressed at once
constexpr int kGzipOnly = 16;               // added to the window bits of zlib

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

std::unexpected<Error> undecodable(std::string_view what, std::string_view why) {
  return fail(Error{
      Code::decoding_failed, fmt::format("can't decompress {} data: {}", what, why), {}, {}, 0, Advice::check_store});
}

std::unexpected<Error> too_large(std::string_view what, std::uint64_t bytes_max) {
  return undecodable(what, fmt::format("it would have more than {} bytes", bytes_max));
}

}  // namespace

std::string compress_zstd(std::string_view bytes, int level, std::string_view dictionary) {
  // Creating a context takes longer than compressing a small state.
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (!context) return {};
  std::string frame;
  frame.resize_and_overwrite(ZSTD_compressBound(bytes.size()), [&](char* place, std::size_t room) {
    const std::size_t size = ZSTD_compress_usingDict(context.get(), place, room, bytes.data(), bytes.size(),
                                                     dictionary.data(), dictionary.size(), level);
    return ZSTD_isError(size) != 0U ? 0 : size;
  });
  return frame;
}

Result<std::string> decompress_zstd(std::string_view frame, std::uint64_t bytes_max, std::string_view dictionary) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
    return undecodable("zstd", "its size is missing");
  if (size > bytes_max) return too_large("zstd", bytes_max);
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size())
    return undecodable("zstd", "it is not a single frame");
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  if (!context) return undecodable("zstd", "out of memory");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  const std::size_t got = ZSTD_decompress_usingDict(context.get(), bytes.data(), bytes.size(), frame.data(),
                                                    frame.size(), dictionary.data(), dictionary.size());
  if (ZSTD_isError(got) != 0U) return undecodable("zstd", ZSTD_getErrorName(got));
  if (got != bytes.size()) return undecodable("zstd", "it is shorter than its header says");
  return bytes;
}

Result<std::uint64_t> zstd_frame_bytes(std::string_view bytes) {
  const std::size_t size = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0U) return undecodable("zstd", ZSTD_getErrorName(size));
  return size;
}

Result<std::string> decompress_gzip(std::string_view file, std::uint64_t bytes_max) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + kGzipOnly) != Z_OK) return undecodable("gzip", "out of memory");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> ends(&stream, &inflateEnd);
  std::string bytes;
  std::string block(kBlock, '\0');
  bool ended = false;
  while (!file.empty() || stream.avail_in > 0) {
    if (stream.avail_in == 0) {
      const std::size_t part = std::min<std::size_t>(file.size(), std::numeric_limits<uInt>::max());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data()));
      stream.avail_in = static_cast<uInt>(part);
      file.remove_prefix(part);
    }
    if (ended && inflateReset(&stream) != Z_OK) return undecodable("gzip", "data follows its end");
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END)
      return undecodable("gzip", stream.msg != nullptr ? stream.msg : "it is damaged");
    bytes.append(block, 0, block.size() - stream.avail_out);
    if (bytes.size() > bytes_max) return too_large("gzip", bytes_max);
    ended = result == Z_STREAM_END;
  }
  while (!ended) {  // output that inflate still holds
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END) return undecodable("gzip", "it is truncated");
    bytes.append(block, 0, block.size() - stream.avail_out);
    if (bytes.size() > bytes_max) return too_large("gzip", bytes_max);
    ended = result == Z_STREAM_END;
  }
  return bytes;
}

std::string compress_gzip(std::string_view bytes) {
  constexpr int kMemoryLevel = 9;
  z_stream stream{};
  if (bytes.size() > std::numeric_limits<uInt>::max() ||
      deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzipOnly, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
          Z_OK)
    return {};
  const std::unique_ptr<z_stream, decltype(&deflateEnd)> ends(&stream, &deflateEnd);
  std::string member(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(member.data());
  stream.avail_out = static_cast<uInt>(member.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) return {};
  member.resize(stream.total_out);
  return member;
}

Result<GzipMember> decompress_gzip_member(std::string_view file, std::uint64_t bytes_max) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + kGzipOnly) != Z_OK) return undecodable("gzip", "out of memory");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> ends(&stream, &inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data()));
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(file.size(), std::numeric_limits<uInt>::max()));
  GzipMember member;
  std::string block(kBlock, '\0');
  while (true) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END)
      return undecodable("gzip", stream.msg != nullptr ? stream.msg : "it is damaged or truncated");
    member.content.append(block, 0, block.size() - stream.avail_out);
    if (member.content.size() > bytes_max) return too_large("gzip", bytes_max);
    if (result != Z_STREAM_END) continue;
    member.stored_bytes = stream.total_in;
    return member;
  }
}

}  // namespace pawl
