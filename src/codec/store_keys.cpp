#include "codec/store_keys.hpp"

#include <openssl/evp.h>

#include "base/hash.hpp"
#include "codec/base64.hpp"
#include "codec/object_members.hpp"
#include "codec/sealed_text.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kScryptNMax = 1U << 20U;
constexpr std::uint64_t kScryptRMax = 32;
constexpr std::uint64_t kScryptPMax = 16;
constexpr std::uint64_t kScryptMemoryMax = 2ULL << 30U;

std::unexpected<Error> invalid(std::string message) {
  return fail(
      Error{Code::invalid_key, std::move(message), {}, "create a key: openssl rand -hex 32 > FILE; chmod 600 FILE", 0});
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string store_place(const Uuid& store) { return fmt::format("pawl/2 store key {}", store.text()); }
std::string run_place(const Uuid& store, const Uuid& run) {
  return fmt::format("pawl/2 run key {} {}", store.text(), run.text());
}

}  // namespace

Result<SecretKey> parse_key(std::string_view text) {
  const std::string_view digits = trimmed(text);
  std::string bytes = from_hex(digits);
  if (bytes.size() != SecretKey::kBytes) bytes = from_base64(digits).value_or(std::string());
  if (bytes.size() != SecretKey::kBytes) return invalid("the key is not 32 bytes in hexadecimal or base64");
  return SecretKey::of(bytes);
}

std::string key_text(const SecretKey& key) { return to_hex(key.bytes()) + "\n"; }

Result<SecretKey> key_of_passphrase(std::string_view passphrase, const Scrypt& scrypt) {
  if (passphrase.empty()) return fail(Error{Code::invalid_key, "the passphrase is empty", {}, "choose a long one", 0});
  const bool powers = scrypt.n >= 2 && (scrypt.n & (scrypt.n - 1)) == 0;
  if (!powers || scrypt.n > kScryptNMax || scrypt.r == 0 || scrypt.r > kScryptRMax || scrypt.p == 0 ||
      scrypt.p > kScryptPMax) {
    return fail(Error{
        Code::invalid_key, "store.json has invalid scrypt parameters", {}, "restore store.json from a backup", 0});
  }
  std::string bytes(SecretKey::kBytes, '\0');
  const int done =
      EVP_PBE_scrypt(passphrase.data(), passphrase.size(), reinterpret_cast<const unsigned char*>(scrypt.salt.data()),
                     scrypt.salt.size(), scrypt.n, scrypt.r, scrypt.p, kScryptMemoryMax,
                     reinterpret_cast<unsigned char*>(bytes.data()), bytes.size());
  if (done != 1)
    return fail(Error{Code::invalid_key, "not enough memory for scrypt", {}, "free some memory, then try again", 0});
  return SecretKey::of(bytes);
}

std::string key_id(const SecretKey& key) { return to_hex(sha256("pawl key id", key.bytes())).substr(0, 16); }

std::string wrap_store_key(const SecretKey& outer, const SecretKey& store_key, const Uuid& store,
                           std::string_view nonce) {
  return seal_secret(outer, nonce, store_key.bytes(), store_place(store));
}

Result<SecretKey> unwrap_store_key(const SecretKey& outer, const StoreKeyInfo& info, const Uuid& store) {
  if (key_id(outer) != info.id) {
    return fail(Error{Code::key_wrong,
                      fmt::format("wrong key: the store requires key {}, not {}", info.id, key_id(outer)),
                      {},
                      "pass the right one as PAWL_KEY_FILE, PAWL_KEY or PAWL_PASSPHRASE",
                      0});
  }
  PAWL_TRY_ASSIGN(const std::string bytes, open_secret(outer, info.wrapped, store_place(store)));
  if (bytes.size() != SecretKey::kBytes)
    return fail(Code::decryption_failed, "the key of the store has the wrong size");
  return SecretKey::of(bytes);
}

std::string encode_run_key(const SecretKey& store_key, const SecretKey& run_key, const Uuid& store, const Uuid& run,
                           std::string_view nonce) {
  std::string out = fmt::format("{{\"pawl\":2,\"run\":\"{}\",\"key\":\"{}\"", run.text(),
                                to_base64(seal_secret(store_key, nonce, run_key.bytes(), run_place(store, run))));
  seal(out);
  out += '\n';
  return out;
}

bool run_key_is_whole(std::string_view text) {
  if (!text.ends_with('\n')) return false;
  text.remove_suffix(1);
  return unseal(text).has_value();
}

Result<SecretKey> decode_run_key(std::string_view text, const SecretKey& store_key, const Uuid& store,
                                 const Uuid& run) {
  const auto damaged = [] {
    return fail(Error{Code::store_damaged,
                      "key.json of a run is damaged",
                      {},
                      "restore the file from a backup: without it the run can't be read",
                      0});
  };
  if (!run_key_is_whole(text)) return damaged();
  const auto body = unseal(text.substr(0, text.size() - 1));
  const auto members = ObjectMembers::parse(body->substr(1));
  if (!members) return damaged();
  const auto wrapped = from_base64(members->text("key"));
  if (!wrapped) return damaged();
  auto bytes = open_secret(store_key, *wrapped, run_place(store, run));
  if (!bytes) {
    return fail(Error{Code::decryption_failed,
                      "the key of the run was modified or belongs to another run or store",
                      {},
                      "restore the run's key.json from a backup",
                      0});
  }
  if (bytes->size() != SecretKey::kBytes) return damaged();
  return SecretKey::of(*bytes);
}

}  // namespace pawl
