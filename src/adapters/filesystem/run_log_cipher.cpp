#include "adapters/filesystem/run_log_cipher.hpp"

#include "adapters/filesystem/key_ring.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kFrameMax = 16ULL << 20U;

RecordPlace place_of(std::string_view file, std::uint64_t offset) { return {RecordPlace::Kind::log, offset, 0, file}; }

}  // namespace

Result<std::string> RunLogCipher::seal(std::string_view bytes, std::string_view file, std::uint64_t offset) {
  const Lock lock(mutex_);
  Packed packed;
  PAWL_TRY(codec_.protect(packed, bytes, place_of(file, offset), make_nonce(random_)));
  return std::move(packed.bytes);
}

Result<std::string> RunLogCipher::open(std::string_view sealed, std::string_view file, std::uint64_t offset) {
  const Lock lock(mutex_);
  return codec_.opened("aes", sealed, place_of(file, offset), kFrameMax);
}

}  // namespace pawl
