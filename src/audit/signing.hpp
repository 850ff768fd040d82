// Ed25519 signatures (RFC 8032) with OpenSSL. Keys are PEM text; a public key is printed as 64 hexadecimal digits.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// A private key. Never printed.
class SigningKey {
 public:
  [[nodiscard]] static Result<SigningKey> make();
  /// Takes PEM (PKCS #8). Fails with invalid_key for anything else.
  [[nodiscard]] static Result<SigningKey> parse(std::string_view pem);
  [[nodiscard]] Result<std::string> pem() const;
  [[nodiscard]] Result<std::string> public_key() const;
  /// Returns 128 hexadecimal digits.
  [[nodiscard]] Result<std::string> sign(std::string_view text) const;

 private:
  explicit SigningKey(std::shared_ptr<void> key) : key_(std::move(key)) {}
  std::shared_ptr<void> key_;
};

/// Takes 64 hexadecimal digits or the PEM of a public key, and returns the digits. Fails with invalid_key.
[[nodiscard]] Result<std::string> parse_public_key(std::string_view text);

[[nodiscard]] bool signature_fits(std::string_view public_key, std::string_view text, std::string_view signature);

}  // namespace pawl
