// AES-256-GCM: bytes that only the holder of the key can read or make, bound to the place they stand at.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// 256 bits. Overwritten when it goes.
class SecretKey {
 public:
  static constexpr std::size_t kBytes = 32;
  SecretKey() = default;
  /// Exactly kBytes bytes.
  [[nodiscard]] static SecretKey of(std::string_view bytes);
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey();

  [[nodiscard]] std::string_view bytes() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  std::array<std::uint8_t, kBytes> bytes_{};
};

constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;

/// Nonce, ciphertext and tag. `nonce` has kNonceBytes and is used once with a key, or only for the same bytes.
[[nodiscard]] std::string seal_secret(const SecretKey& key, std::string_view nonce, std::string_view bytes,
                                      std::string_view place);
/// Fails with decryption_failed where a bit was changed, the key is another one, or `place` is not the one it was made
/// for.
[[nodiscard]] Result<std::string> open_secret(const SecretKey& key, std::string_view sealed, std::string_view place);

/// HMAC-SHA-256.
[[nodiscard]] std::array<std::uint8_t, 32> keyed_hash(const SecretKey& key, std::string_view bytes);

/// A nonce that depends on key and bytes alone: equal bytes become equal ciphertexts, and are stored once.
[[nodiscard]] std::string nonce_of(const SecretKey& key, std::string_view bytes);

}  // namespace pawl
