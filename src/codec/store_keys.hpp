// The keys of an encrypted store.
//
//   the outer key   from a file, the environment or a passphrase; wraps the store's key (in store.json)
//   the store's key made with the store; wraps each run's data key (in the run's key.json)
//   a run's key     encrypts what the run stores
//
// So another outer key needs one file to be replaced, and destroying a run's key.json makes its data unreadable.
#pragma once

#include <optional>
#include <pawl/types.hpp>
#include <string>
#include <string_view>

#include "codec/aead.hpp"

namespace pawl {

/// How an outer key is made of a passphrase.
struct Scrypt {
  std::string salt = {};
  std::uint64_t n = 1U << 15U;
  std::uint64_t r = 8;
  std::uint64_t p = 1;
};

/// What store.json says of its key.
struct StoreKeyInfo {
  std::string id = {};                // of the outer key: 16 hexadecimal digits
  std::optional<Scrypt> scrypt = {};  // nothing: the outer key is 32 random bytes
  std::string wrapped = {};           // the store's key, encrypted with the outer one
};

/// The 32 bytes in hexadecimal or base64, with or without a newline. Fails with invalid_key.
[[nodiscard]] Result<SecretKey> parse_key(std::string_view text);
[[nodiscard]] std::string key_text(const SecretKey& key);
/// Fails with invalid_key for an empty passphrase or parameters that no store is made with.
[[nodiscard]] Result<SecretKey> key_of_passphrase(std::string_view passphrase, const Scrypt& scrypt);
/// Tells keys apart, and tells nothing else of them.
[[nodiscard]] std::string key_id(const SecretKey& key);

[[nodiscard]] std::string wrap_store_key(const SecretKey& outer, const SecretKey& store_key, const Uuid& store,
                                         std::string_view nonce);
/// key_wrong where `outer` is not the key that the store asks for, decryption_failed where the store's key was changed
/// or belongs to another store.
[[nodiscard]] Result<SecretKey> unwrap_store_key(const SecretKey& outer, const StoreKeyInfo& info, const Uuid& store);

/// A run's key.json.
[[nodiscard]] std::string encode_run_key(const SecretKey& store_key, const SecretKey& run_key, const Uuid& store,
                                         const Uuid& run, std::string_view nonce);
[[nodiscard]] Result<SecretKey> decode_run_key(std::string_view text, const SecretKey& store_key, const Uuid& store,
                                               const Uuid& run);
/// Whether the file is whole, which needs no key.
[[nodiscard]] bool run_key_is_whole(std::string_view text);

}  // namespace pawl
