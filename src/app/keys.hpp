// Outer keys of encrypted stores: files, the environment, passphrases. Never the command line, which other users can
// see.
#pragma once

#include <optional>
#include <string>

#include "codec/store_keys.hpp"

namespace pawl {

/// Returns the environment variable `name`, or an empty string if it is not set.
[[nodiscard]] std::string variable(const char* name);

/// Reads a key file. Fails with invalid_key if other users may read it, or if it does not contain a key.
[[nodiscard]] Result<SecretKey> read_key_file(const std::string& path);
/// Creates a key file that only its owner may read. Durable on return. The file must not exist.
Result<void> make_key_file(const std::string& path, const SecretKey& key);
/// Returns `~/.config/pawl/keys/STORE.key`.
[[nodiscard]] Result<std::string> default_key_file(const Uuid& store);

/// Returns the key that a store requires, from PAWL_KEY, PAWL_KEY_FILE, `configured_file` or the default file. For a
/// passphrase: from PAWL_PASSPHRASE or the terminal. Fails with key_missing.
[[nodiscard]] Result<SecretKey> find_outer_key(const Uuid& store, const StoreKeyInfo& info,
                                               const std::string& configured_file);

/// Reads a passphrase from the variable, or else from the terminal without echo. `twice` asks for confirmation.
enum class Asked : std::uint8_t { once, twice };
[[nodiscard]] Result<std::string> ask_passphrase(const char* variable, const std::string& prompt, Asked asked);

}  // namespace pawl
