// Outer keys of encrypted stores: files, the environment, passphrases. Never the command line, where others see it.
#pragma once

#include <optional>
#include <string>

#include "codec/store_keys.hpp"

namespace pawl {

/// The environment variable `name`; empty where it is not set.
[[nodiscard]] std::string variable(const char* name);

/// Reads a key file. Fails with invalid_key where others than its owner may read it, or where it holds no key.
[[nodiscard]] Result<SecretKey> read_key_file(const std::string& path);
/// Makes a key file that only its owner may read; durable when it returns. The file must not exist.
Result<void> make_key_file(const std::string& path, const SecretKey& key);
/// `~/.config/pawl/keys/STORE.key`
[[nodiscard]] Result<std::string> default_key_file(const Uuid& store);

/// The key that a store asks for: PAWL_KEY, PAWL_KEY_FILE, `configured_file`, the default file; for a passphrase
/// PAWL_PASSPHRASE or the terminal. Fails with key_missing.
[[nodiscard]] Result<SecretKey> find_outer_key(const Uuid& store, const StoreKeyInfo& info,
                                               const std::string& configured_file);

/// From the variable, else from the terminal without showing it; `twice` to be sure of it.
enum class Asked : std::uint8_t { once, twice };
[[nodiscard]] Result<std::string> ask_passphrase(const char* variable, const std::string& prompt, Asked asked);

}  // namespace pawl
