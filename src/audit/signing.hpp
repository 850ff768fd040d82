// Ed25519 signatures (RFC 8032), by OpenSSL. Keys are PEM text; a public key is shown as 64 hexadecimal digits.
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
  /// PEM (PKCS #8). invalid_key where it is something else.
  [[nodiscard]] static Result<SigningKey> parse(std::string_view pem);
  [[nodiscard]] Result<std::string> pem() const;
  [[nodiscard]] Result<std::string> public_key() const;
  /// 128 hexadecimal digits.
  [[nodiscard]] Result<std::string> sign(std::string_view text) const;

 private:
  explicit SigningKey(std::shared_ptr<void> key) : key_(std::move(key)) {}
  std::shared_ptr<void> key_;
};

/// 64 hexadecimal digits, or PEM of a public key. Gives the digits; invalid_key where it is neither.
[[nodiscard]] Result<std::string> parse_public_key(std::string_view text);

[[nodiscard]] bool signature_fits(std::string_view public_key, std::string_view text, std::string_view signature);

}  // namespace pawl
