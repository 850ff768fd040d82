// The keys of an encrypted store.
//
//   the outer key   from a file, the environment or a passphrase; wraps the store's key (in store.json)
//   the store's key created with the store; wraps each run's data key (in the run's key.json)
//   a run's key     encrypts what the run stores
//
// Changing the outer key therefore replaces one file, and destroying the key.json of a run makes its data unreadable.
#pragma once

#include <optional>
#include <pawl/types.hpp>
#include <string>
#include <string_view>

#include "codec/aead.hpp"

namespace pawl {

/// How an outer key is derived from a passphrase.
struct Scrypt {
  std::string salt = {};
  std::uint64_t n = 1U << 15U;
  std::uint64_t r = 8;
  std::uint64_t p = 1;
};

/// The key in store.json.
struct StoreKeyInfo {
  std::string id = {};                // ID of the outer key: 16 hexadecimal digits
  std::optional<Scrypt> scrypt = {};  // not set if the outer key is 32 random bytes
  std::string wrapped = {};           // the key of the store, encrypted with the outer key
};

/// Reads 32 bytes in hexadecimal or base64, with or without a newline. Fails with invalid_key.
[[nodiscard]] Result<SecretKey> parse_key(std::string_view text);
[[nodiscard]] std::string key_text(const SecretKey& key);
/// Fails with invalid_key if the passphrase is empty or the parameters are invalid.
[[nodiscard]] Result<SecretKey> key_of_passphrase(std::string_view passphrase, const Scrypt& scrypt);
/// Returns an ID that distinguishes keys and reveals nothing else about them.
[[nodiscard]] std::string key_id(const SecretKey& key);

[[nodiscard]] std::string wrap_store_key(const SecretKey& outer, const SecretKey& store_key, const Uuid& store,
                                         std::string_view nonce);
/// Fails with key_wrong if `outer` is not the key of the store, and with decryption_failed if the key of the store was
/// modified or belongs to another store.
[[nodiscard]] Result<SecretKey> unwrap_store_key(const SecretKey& outer, const StoreKeyInfo& info, const Uuid& store);

/// The content of key.json of a run.
[[nodiscard]] std::string encode_run_key(const SecretKey& store_key, const SecretKey& run_key, const Uuid& store,
                                         const Uuid& run, std::string_view nonce);
[[nodiscard]] Result<SecretKey> decode_run_key(std::string_view text, const SecretKey& store_key, const Uuid& store,
                                               const Uuid& run);
/// Returns whether the file is intact. This needs no key.
[[nodiscard]] bool run_key_is_whole(std::string_view text);

}  // namespace pawl
