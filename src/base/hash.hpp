// Checksums (CRC-32C, against accidental damage) and hashes (SHA-256, against manipulation).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

/// Returns the CRC-32C of `bytes`, continued from `seed`. A checksum can thereby be salted, and computed in parts.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0);

using Sha256 = std::array<std::uint8_t, 32>;

/// Returns the SHA-256 of the concatenation of up to three parts.
[[nodiscard]] Sha256 sha256(std::string_view a, std::string_view b = {}, std::string_view c = {});

/// Computes the SHA-256 of bytes that arrive in parts.
class Sha256Stream {
 public:
  Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;
  ~Sha256Stream();
  void add(std::string_view bytes);
  /// Must be called at most once, after the last add.
  [[nodiscard]] Sha256 finish();

 private:
  void* context_;
};

/// Returns the 32 bytes of `hash`, which must outlive the view.
[[nodiscard]] inline std::string_view bytes_of(const Sha256& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

[[nodiscard]] std::string to_hex(std::string_view bytes);
[[nodiscard]] std::string to_hex(const Sha256& hash);
/// Returns eight hexadecimal digits.
[[nodiscard]] std::string to_hex(std::uint32_t value);
/// Returns nothing if `hex` is not an even number of lower-case hexadecimal digits.
[[nodiscard]] std::string from_hex(std::string_view hex);

}  // namespace pawl
