// The keys of a store that is open: none, or the store's key once it was needed, and those of its runs.
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

  /// What store.json says. Before that, the store is not encrypted.
  void use(const StoreRecord& store);
  [[nodiscard]] bool encrypted() const;

  /// Finds the store's key, where it has one.
  Result<void> unlock();
  /// How a run's records are read and written. A plain run in an encrypted store fails with not_encrypted.
  Result<RunCodec> codec(const std::string& run, const RunRecord& record);
  /// Makes the data key of a new run; it is durable, with its name, when this returns.
  Result<void> make_run_key(const std::string& run, const Uuid& uuid, Random& random);
  /// The run's own key, to be wrapped for another place.
  Result<SecretKey> key_of(const std::string& run, const Uuid& uuid) { return run_key(run, uuid); }
  /// key.json of a run that arrives.
  Result<std::string> arriving_key(const SecretKey& key, const Uuid& uuid, Random& random);
  /// store.json's text with the store's key wrapped for another outer key.
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
      PAWL_GUARDED_BY(mutex_);  // the id that was asked for, and why it was not found
};

/// A new key of the kind, from a source of randomness.
[[nodiscard]] SecretKey make_key(Random& random);
[[nodiscard]] std::string make_nonce(Random& random);
/// What store.json of a new encrypted store says.
[[nodiscard]] StoreKeyInfo make_store_key(const Uuid& store, const SecretKey& outer,
                                          const std::optional<Scrypt>& scrypt, Random& random);

}  // namespace pawl
