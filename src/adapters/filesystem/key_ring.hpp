// The keys of an open store: the store's key, once it was needed, and the keys of its runs.
#pragma once

#include <memory>
#include <optional>

#include "adapters/filesystem/options.hpp"
#include "base/mutex.hpp"
#include "codec/run_codec.hpp"
#include "ports/environment.hpp"
#include "ports/file_system.hpp"

namespace pawl {

/// Thread-safe.
class KeyRing {
 public:
  KeyRing(FileSystem& files, const FilesystemOptions& options);

  /// Sets what store.json contains. Before that, the store counts as not encrypted.
  void use(const StoreRecord& store);
  [[nodiscard]] bool encrypted() const;

  /// Finds the key of the store if it is encrypted.
  Result<void> unlock();
  /// Returns how the records of a run are read and written. Fails with not_encrypted for an unencrypted run in an
  /// encrypted store.
  Result<RunCodec> codec(const std::string& run, const RunRecord& record);
  /// Creates the data key of a new run. The key and its name are durable on return.
  Result<void> make_run_key(const std::string& run, const Uuid& uuid, Random& random);
  /// Returns the outer key of the store, unless it must be derived from a passphrase, or can't be found.
  std::optional<SecretKey> known_outer_key();
  /// Returns the key of the run, so that it can be wrapped for another place.
  Result<SecretKey> key_of(const std::string& run, const Uuid& uuid) { return run_key(run, uuid); }
  /// Returns key.json for a run that is being imported.
  Result<std::string> arriving_key(const SecretKey& key, const Uuid& uuid, Random& random);
  /// Returns the text of store.json with the store's key wrapped by another outer key.
  Result<std::string> rewrapped(std::string_view store_text, const SecretKey& outer,
                                const std::optional<Scrypt>& scrypt, Random& random);

 private:
  Result<SecretKey> store_key();
  void look_again() PAWL_REQUIRES(mutex_);
  Result<SecretKey> find_store_key() PAWL_REQUIRES(mutex_);
  Result<SecretKey> run_key(const std::string& run, const Uuid& uuid);

  FileSystem& files_;
  const FilesystemOptions& options_;
  mutable Mutex mutex_;
  std::optional<StoreRecord> store_ PAWL_GUARDED_BY(mutex_);
  std::optional<SecretKey> store_key_ PAWL_GUARDED_BY(mutex_);
  std::optional<std::pair<std::string, Error>> refused_
      PAWL_GUARDED_BY(mutex_);  // the id of the requested key, and why it was not found
};

/// Creates a random key.
[[nodiscard]] SecretKey make_key(Random& random);
[[nodiscard]] std::string make_nonce(Random& random);
/// Returns the encryption part of store.json for a new encrypted store.
[[nodiscard]] StoreKeyInfo make_store_key(const Uuid& store, const SecretKey& outer,
                                          const std::optional<Scrypt>& scrypt, Random& random);

}  // namespace pawl
