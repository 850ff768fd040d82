#include "audit/signing.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <array>

#include "base/hash.hpp"

namespace pawl {
namespace {

constexpr std::size_t kPublicBytes = 32;
constexpr std::size_t kSignatureBytes = 64;

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;
struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

std::unexpected<Error> unusable(const char* what) {
  return fail(Error{Code::invalid_key, what, {}, {}, 0, Advice::explain, {.value = code_text(Code::signature_wrong)}});
}

const unsigned char* raw(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
EVP_PKEY* handle(const std::shared_ptr<void>& key) { return static_cast<EVP_PKEY*>(key.get()); }

Result<std::string> public_digits(const EVP_PKEY* key) {
  std::array<unsigned char, kPublicBytes> bytes{};
  std::size_t size = bytes.size();
  if (key == nullptr || EVP_PKEY_get_raw_public_key(key, bytes.data(), &size) != 1 || size != kPublicBytes)
    return unusable("not an Ed25519 key");
  return to_hex(std::string_view(reinterpret_cast<const char*>(bytes.data()), size));
}

Bio bio_of(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

}  // namespace

Result<SigningKey> SigningKey::make() {
  EVP_PKEY* made = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  if (made == nullptr) return unusable("can't create a signing key");
  return SigningKey(std::shared_ptr<void>(made, [](void* key) { EVP_PKEY_free(static_cast<EVP_PKEY*>(key)); }));
}

Result<SigningKey> SigningKey::parse(std::string_view pem) {
  const Bio bio = bio_of(pem);
  // Never prompts for a passphrase: an encrypted key is refused.
  EVP_PKEY* key =
      bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, [](char*, int, int, void*) { return -1; }, nullptr) : nullptr;
  SigningKey parsed(std::shared_ptr<void>(key, [](void* held) { EVP_PKEY_free(static_cast<EVP_PKEY*>(held)); }));
  PAWL_TRY(parsed.public_key());
  return parsed;
}

Result<std::string> SigningKey::pem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_PrivateKey(bio.get(), handle(key_), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return unusable("can't write the signing key");
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Result<std::string> SigningKey::public_key() const { return public_digits(handle(key_)); }

Result<std::string> SigningKey::sign(std::string_view text) const {
  const Context context(EVP_MD_CTX_new());
  std::array<unsigned char, kSignatureBytes> signature{};
  std::size_t size = signature.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, handle(key_)) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, raw(text), text.size()) != 1) {
    return unusable("can't sign the text");
  }
  return to_hex(std::string_view(reinterpret_cast<const char*>(signature.data()), size));
}

Result<std::string> parse_public_key(std::string_view text) {
  while (text.ends_with('\n') || text.ends_with('\r') || text.ends_with(' ')) text.remove_suffix(1);
  if (text.size() == 2 * kPublicBytes && !from_hex(text).empty()) return std::string(text);
  const Bio bio = bio_of(text);
  const Key key(bio ? PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr) : nullptr);
  return public_digits(key.get());
}

bool signature_fits(std::string_view public_key, std::string_view text, std::string_view signature) {
  const std::string key_bytes = from_hex(public_key);
  const std::string bytes = from_hex(signature);
  if (key_bytes.size() != kPublicBytes || bytes.size() != kSignatureBytes) return false;
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(key_bytes), key_bytes.size()));
  const Context context(EVP_MD_CTX_new());
  return key && context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), raw(bytes), bytes.size(), raw(text), text.size()) == 1;
}

}  // namespace pawl
