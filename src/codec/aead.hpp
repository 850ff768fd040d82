// AES-256-GCM. Only the holder of the key can read or create the ciphertext, which is bound to the place where it is
// stored.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// A key of 256 bits. Its destructor overwrites it.
class SecretKey {
 public:
  static constexpr std::size_t kBytes = 32;
  SecretKey() = default;
  /// `bytes` must have exactly kBytes bytes.
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

/// Returns nonce, ciphertext and tag. `nonce` has kNonceBytes. It must not be used twice with the same key, except for
/// the same bytes.
[[nodiscard]] std::string seal_secret(const SecretKey& key, std::string_view nonce, std::string_view bytes,
                                      std::string_view place);
/// Fails with decryption_failed if a bit was changed, if the key is wrong, or if `place` is not the one it was
/// encrypted for.
[[nodiscard]] Result<std::string> open_secret(const SecretKey& key, std::string_view sealed, std::string_view place);

/// Returns the HMAC-SHA-256.
[[nodiscard]] std::array<std::uint8_t, 32> keyed_hash(const SecretKey& key, std::string_view bytes);

/// Returns a nonce that depends only on the key and the bytes. Equal bytes have equal ciphertexts and are stored once.
[[nodiscard]] std::string nonce_of(const SecretKey& key, std::string_view bytes);

}  // namespace pawl
