#include "adapters/filesystem/key_ring.hpp"

#include <cstring>

#include "adapters/filesystem/layout.hpp"

namespace pawl {

SecretKey make_key(Random& random) {
  std::string bytes(SecretKey::kBytes, '\0');
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t part = random.next();
    std::memcpy(bytes.data() + i, &part, sizeof(part));
  }
  return SecretKey::of(bytes);
}

std::string make_nonce(Random& random) {
  const std::uint64_t first = random.next();
  return nonce_from(first, random.next());
}

StoreKeyInfo make_store_key(const Uuid& store, const SecretKey& outer, const std::optional<Scrypt>& scrypt,
                            Random& random) {
  const SecretKey key = make_key(random);
  return {.id = key_id(outer), .scrypt = scrypt, .wrapped = wrap_store_key(outer, key, store, make_nonce(random))};
}

KeyRing::KeyRing(FileSystem& files, const FilesystemOptions& options) : files_(files), options_(options) {}

void KeyRing::use(const StoreRecord& store) {
  const Lock lock(mutex_);
  store_ = store;
}

bool KeyRing::encrypted() const {
  const Lock lock(mutex_);
  return store_ && store_->key;
}

/// Reads store.json again: the key may have been changed since the store was opened.
void KeyRing::look_again() {
  const auto text = files_.read_file(layout::kStoreFile, 1ULL << 20U);
  if (auto now = text ? decode_store(*text) : std::unexpected(text.error())) store_ = std::move(*now);
}

Result<SecretKey> KeyRing::store_key() {
  const Lock lock(mutex_);
  if (store_key_) return *store_key_;
  look_again();
  while (true) {
    const auto id = [&]() PAWL_REQUIRES(mutex_) { return store_ && store_->key ? store_->key->id : std::string(); };
    const std::string asked_for = id();
    if (refused_ && refused_->first == asked_for)
      return std::unexpected(refused_->second);  // don't ask again for the
                                                 // same key
    auto key = find_store_key();
    if (key) {
      store_key_ = *key;
      return *store_key_;
    }
    look_again();  // it may have been changed in the meantime
    if (id() != asked_for) continue;
    refused_ = {asked_for, at(key.error(), std::string(layout::kStoreFile))};
    return std::unexpected(refused_->second);
  }
}

Result<SecretKey> KeyRing::find_store_key() {
  if (!options_.find_key || !store_ || !store_->key) {
    return fail(Error{Code::key_missing,
                      "the store is encrypted but no key was given",
                      {},
                      "set PAWL_KEY_FILE, PAWL_KEY or PAWL_PASSPHRASE",
                      0});
  }
  PAWL_TRY_ASSIGN(const SecretKey outer, options_.find_key(store_->id, *store_->key));
  return unwrap_store_key(outer, *store_->key, store_->id);
}

std::optional<SecretKey> KeyRing::known_outer_key() {
  const Lock lock(mutex_);
  if (!options_.find_key || !store_ || !store_->key || store_->key->scrypt) return std::nullopt;
  const auto outer = options_.find_key(store_->id, *store_->key);
  return outer ? std::optional(*outer) : std::nullopt;
}

Result<void> KeyRing::unlock() {
  if (encrypted()) PAWL_TRY(store_key());
  return {};
}

Result<SecretKey> KeyRing::run_key(const std::string& run, const Uuid& uuid) {
  PAWL_TRY_ASSIGN(const SecretKey outer, store_key());
  Uuid store;
  {
    const Lock lock(mutex_);
    store = store_->id;
  }
  const std::string path = layout::run_key(run);
  const auto text = files_.read_file(path, 1ULL << 16U);
  if (!text && text.error().code == Code::input_unreadable) {
    return fail(Error{Code::key_missing,
                      fmt::format("the key of run '{}' is missing, so its encrypted data can't be read", run), path,
                      "if it was not erased on purpose, restore the file from a backup", 0});
  }
  if (!text) return std::unexpected(text.error());
  auto key = decode_run_key(*text, outer, store, uuid);
  if (!key) return fail(at(key.error(), path));
  return *key;
}

Result<RunCodec> KeyRing::codec(const std::string& run, const RunRecord& record) {
  if (encrypted() && !record.encrypted) {
    return fail(Error{Code::not_encrypted,
                      fmt::format("run '{}' is not encrypted but the store is; this store did not create the run", run),
                      layout::run_file(run), "restore it from a backup, or move it to another store", 0});
  }
  if (!record.encrypted) return RunCodec(record.uuid, options_.packing, {});
  return RunCodec(record.uuid, options_.packing, [this, run, uuid = record.uuid] { return run_key(run, uuid); });
}

Result<void> KeyRing::make_run_key(const std::string& run, const Uuid& uuid, Random& random) {
  PAWL_TRY_ASSIGN(const SecretKey outer, store_key());
  Uuid store;
  {
    const Lock lock(mutex_);
    store = store_->id;
  }
  const std::string path = layout::run_key(run);
  const std::string temporary = path + ".tmp";
  PAWL_TRY(files_.remove(temporary));  // after a power loss it may be a second name of a renamed file
  PAWL_TRY_ASSIGN(const auto file, files_.open(temporary, OpenMode::create_empty));
  PAWL_TRY(file->write_at(0, encode_run_key(outer, make_key(random), store, uuid, make_nonce(random))));
  PAWL_TRY(file->sync(SyncPoint::run_key));
  PAWL_TRY(files_.rename(temporary, path));
  PAWL_TRY(files_.sync_folder(layout::run(run), SyncPoint::run_key_name));
  PAWL_TRY(files_.sync_folder(layout::kRuns, SyncPoint::run_key_name));
  return files_.sync_folder("", SyncPoint::run_key_name);
}

Result<std::string> KeyRing::arriving_key(const SecretKey& key, const Uuid& uuid, Random& random) {
  PAWL_TRY_ASSIGN(const SecretKey outer, store_key());
  Uuid store;
  {
    const Lock lock(mutex_);
    store = store_->id;
  }
  return encode_run_key(outer, key, store, uuid, make_nonce(random));
}

Result<std::string> KeyRing::rewrapped(std::string_view store_text, const SecretKey& outer,
                                       const std::optional<Scrypt>& scrypt, Random& random) {
  PAWL_TRY_ASSIGN(const SecretKey key, store_key());
  PAWL_TRY_ASSIGN(StoreRecord store, decode_store(store_text));
  store.key = StoreKeyInfo{
      .id = key_id(outer), .scrypt = scrypt, .wrapped = wrap_store_key(outer, key, store.id, make_nonce(random))};
  return change_store(store_text, store);
}

}  // namespace pawl
