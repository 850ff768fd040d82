// Checksums (CRC-32C, for accidents) and hashes (SHA-256, for evidence).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

/// CRC-32C of `bytes`, going on from `seed` (so that a checksum can be salted and computed in parts).
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0);

using Sha256 = std::array<std::uint8_t, 32>;

/// SHA-256 over the concatenation of up to three parts.
[[nodiscard]] Sha256 sha256(std::string_view a, std::string_view b = {}, std::string_view c = {});

/// SHA-256 of bytes that come in parts.
class Sha256Stream {
 public:
  Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;
  ~Sha256Stream();
  void add(std::string_view bytes);
  /// Once.
  [[nodiscard]] Sha256 finish();

 private:
  void* context_;
};

/// The 32 bytes of `hash`, which must outlive the view.
[[nodiscard]] inline std::string_view bytes_of(const Sha256& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

[[nodiscard]] std::string to_hex(std::string_view bytes);
[[nodiscard]] std::string to_hex(const Sha256& hash);
/// Eight hexadecimal digits.
[[nodiscard]] std::string to_hex(std::uint32_t value);
/// Empty where `hex` is not an even number of lower-case hexadecimal digits.
[[nodiscard]] std::string from_hex(std::string_view hex);

}  // namespace pawl
