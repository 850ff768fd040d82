#include "codec/aead.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <memory>

#include "base/assert.hpp"

namespace pawl {
namespace {

constexpr std::size_t kPartMax = 1U << 30U;  // OpenSSL takes lengths as int

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* octets(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

/// Passes `bytes` to the update function of a cipher. Appends to `out`, unless that is null.
template <class Update>
bool run_through(std::string_view bytes, unsigned char* out, Update update) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kPartMax);
    int done = 0;
    if (update(out, &done, octets(part), static_cast<int>(part.size())) != 1) return false;
    if (out != nullptr) out += done;
    bytes.remove_prefix(part.size());
  }
  return true;
}

}  // namespace

SecretKey SecretKey::of(std::string_view bytes) {
  PAWL_ASSERT(bytes.size() == kBytes);
  SecretKey key;
  std::ranges::copy(bytes, key.bytes_.begin());
  return key;
}

SecretKey::~SecretKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

std::string seal_secret(const SecretKey& key, std::string_view nonce, std::string_view bytes, std::string_view place) {
  PAWL_ASSERT(nonce.size() == kNonceBytes);
  const Cipher cipher(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  EVP_CIPHER_CTX* context = cipher.get();
  std::string sealed(kNonceBytes + bytes.size() + kTagBytes, '\0');
  std::ranges::copy(nonce, sealed.begin());
  auto* out = reinterpret_cast<unsigned char*>(sealed.data());
  const auto update = [context](unsigned char* to, int* done, const unsigned char* from, int size) {
    return EVP_EncryptUpdate(context, to, done, from, size);
  };
  int left = 0;
  // These fail only if there is not enough memory. Data must then not be written as if it were encrypted.
  PAWL_ASSERT(context != nullptr &&
              EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nullptr, octets(key.bytes()), octets(nonce)) == 1);
  PAWL_ASSERT(run_through(place, nullptr, update));
  PAWL_ASSERT(run_through(bytes, out + kNonceBytes, update));
  PAWL_ASSERT(EVP_EncryptFinal_ex(context, out + kNonceBytes + bytes.size(), &left) == 1);
  PAWL_ASSERT(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, kTagBytes, out + kNonceBytes + bytes.size()) == 1);
  return sealed;
}

Result<std::string> open_secret(const SecretKey& key, std::string_view sealed, std::string_view place) {
  const auto refused = [] {
    return fail(Error{Code::decryption_failed,
                      "encrypted data was modified, moved, or encrypted with another key",
                      {},
                      {},
                      0,
                      Advice::check_store});
  };
  if (sealed.size() < kNonceBytes + kTagBytes) return refused();
  const std::string_view nonce = sealed.substr(0, kNonceBytes);
  const std::string_view body = sealed.substr(kNonceBytes, sealed.size() - kNonceBytes - kTagBytes);
  std::string tag(sealed.substr(sealed.size() - kTagBytes));
  const Cipher cipher(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  EVP_CIPHER_CTX* context = cipher.get();
  std::string bytes(body.size(), '\0');
  auto* out = reinterpret_cast<unsigned char*>(bytes.data());
  const auto update = [context](unsigned char* to, int* done, const unsigned char* from, int size) {
    return EVP_DecryptUpdate(context, to, done, from, size);
  };
  int left = 0;
  const bool opened =
      context != nullptr &&
      EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nullptr, octets(key.bytes()), octets(nonce)) == 1 &&
      run_through(place, nullptr, update) && run_through(body, out, update) &&
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context, out + bytes.size(), &left) == 1;
  if (!opened) return refused();
  return bytes;
}

std::array<std::uint8_t, 32> keyed_hash(const SecretKey& key, std::string_view bytes) {
  std::array<std::uint8_t, 32> hash{};
  unsigned int size = hash.size();
  const auto* done = HMAC(EVP_sha256(), key.bytes().data(), static_cast<int>(key.bytes().size()), octets(bytes),
                          bytes.size(), hash.data(), &size);
  PAWL_ASSERT(done != nullptr && size == hash.size());
  return hash;
}

std::string nonce_of(const SecretKey& key, std::string_view bytes) {
  const auto hash = keyed_hash(key, bytes);
  return std::string(reinterpret_cast<const char*>(hash.data()), kNonceBytes);
}

}  // namespace pawl
