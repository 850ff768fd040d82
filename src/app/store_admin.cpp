#include "app/store_admin.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_file_system.hpp"
#include "app/compose.hpp"
#include "app/key_files.hpp"
#include "app/keys.hpp"
#include "app/local_files.hpp"
#include "app/settings.hpp"
#include "base/json.hpp"
#include "domain/store_uri.hpp"

namespace pawl {
namespace {

Result<std::string> folder_of(std::string_view uri) {
  PAWL_TRY_ASSIGN(const std::string folder, require_store_folder(uri));
  std::error_code error;
  return std::filesystem::absolute(folder, error).lexically_normal().string();
}

/// Opens the store in `folder`. Starts no threads.
Result<std::unique_ptr<FilesystemStore>> open_folder(const std::string& folder, const std::string& key_file) {
  PAWL_TRY_ASSIGN(std::unique_ptr<FileSystem> files, PosixFileSystem::open(folder));
  FilesystemOptions options;
  options.root = folder;
  options.find_key = [key_file](const Uuid& store, const StoreKeyInfo& info) {
    return find_outer_key(store, info, key_file);
  };
  return FilesystemStore::open(std::move(files), system_environment(), options);
}

struct ChosenKey {
  NewStoreKey key;
  StoreKeyPlace place;
  std::string replaces = {};  // the file that the new one replaces
};

Result<ChosenKey> of_passphrase(const char* name, Random& random) {
  PAWL_TRY_ASSIGN(const std::string passphrase, ask_passphrase(name, "a passphrase for the store: ", Asked::twice));
  Scrypt scrypt;
  for (int i = 0; i < 2; ++i) scrypt.salt += fmt::format("{:016x}", random.next());
  PAWL_TRY_ASSIGN(const SecretKey outer, key_of_passphrase(passphrase, scrypt));
  return ChosenKey{{outer, scrypt}, {key_id(outer), "the passphrase", false}};
}

/// Returns the key in that file, which is created if it is missing.
Result<ChosenKey> of_file(const std::string& path, Random& random) {
  auto key = read_key_file(path);
  if (key) return ChosenKey{{*key, {}}, {key_id(*key), path, false}};
  if (key.error().code != Code::key_missing) return std::unexpected(key.error());
  const SecretKey made = make_key(random);
  PAWL_TRY(make_key_file(path, made));
  return ChosenKey{{made, {}}, {key_id(made), path, true}};
}

Result<ChosenKey> choose_key(const NewKey& wanted, const Uuid& store, const std::string& configured, Random& random) {
  if (wanted.passphrase) return of_passphrase("PAWL_PASSPHRASE", random);
  if (wanted.file) return of_file(*wanted.file, random);
  if (const std::string text = variable("PAWL_KEY"); !text.empty()) {
    PAWL_TRY_ASSIGN(const SecretKey key, parse_key(text));
    return ChosenKey{{key, {}}, {key_id(key), "PAWL_KEY", false}};
  }
  if (const std::string path = variable("PAWL_KEY_FILE"); !path.empty()) return of_file(path, random);
  if (!variable("PAWL_PASSPHRASE").empty()) return of_passphrase("PAWL_PASSPHRASE", random);
  if (!configured.empty()) return of_file(configured, random);
  PAWL_TRY_ASSIGN(const std::string path, default_key_file(store));
  return of_file(path, random);
}

Result<MadeStore> make_store(std::string_view uri, const NewStore& asked) {
  PAWL_TRY_ASSIGN(const std::string folder, folder_of(uri));
  PAWL_TRY_ASSIGN(const Config config, load_settings(uri));
  NewStore wanted = asked;
  wanted.encrypted = wanted.encrypted || config.settings.checkpoint.encryption;
  PAWL_TRY(make_root(folder));
  PAWL_TRY_ASSIGN(const auto opened, open_folder(folder, {}));
  SystemRandom random;
  MadeStore made{
      .folder = folder, .id = make_uuid(random), .key = {}, .retention = config.settings.checkpoint.retention};
  if (opened->store_record()) {
    return fail(Error{Code::store_exists, "a store already exists here", folder,
                      "use it, or choose another folder with --store", 0});
  }
  std::optional<NewStoreKey> key;
  if (wanted.encrypted) {
    PAWL_TRY_ASSIGN(const ChosenKey chosen,
                    choose_key(wanted.key, made.id, config.settings.encryption.key_file, random));
    key = chosen.key;
    made.key = chosen.place;
    // Later commands find the key file through this setting.
    if (wanted.key.file)
      wanted.config += fmt::format("encryption:\n  key_file: {}\n", compact(absolute_path(*wanted.key.file)));
  }
  PAWL_TRY(opened->create(made.id, key));
  if (!wanted.config.empty()) PAWL_TRY(write_local_file(folder + "/config.yaml", wanted.config));
  return made;
}

/// Creates the new key for a store whose key is in a file. It stays next to that file until the store uses it.
Result<ChosenKey> beside(const std::string& path, Random& random) {
  const std::string fresh = path + ".new";
  if (::unlink(fresh.c_str()) != 0 && errno != ENOENT)
    return fail(Error{Code::invalid_key, "a new key from an earlier attempt already exists", fresh, "remove it", 0});
  const SecretKey made = make_key(random);
  PAWL_TRY(make_key_file(fresh, made));
  return ChosenKey{{made, {}}, {key_id(made), path, true}, path};
}

Result<ChosenKey> choose_next_key(const NewKey& wanted, const StoreRecord& store, const std::string& configured,
                                  Random& random) {
  if (wanted.passphrase) return of_passphrase("PAWL_NEW_PASSPHRASE", random);
  if (wanted.file) return of_file(*wanted.file, random);
  if (const std::string text = variable("PAWL_NEW_KEY"); !text.empty()) {
    PAWL_TRY_ASSIGN(const SecretKey key, parse_key(text));
    return ChosenKey{{key, {}}, {key_id(key), "PAWL_NEW_KEY", false}};
  }
  if (store.key->scrypt) return of_passphrase("PAWL_NEW_PASSPHRASE", random);
  if (!variable("PAWL_KEY").empty()) {
    return fail(Error{Code::usage,
                      "the key comes from PAWL_KEY, which pawl can't change",
                      {},
                      "pass the new key as PAWL_NEW_KEY or --key-file",
                      0});
  }
  std::string path = variable("PAWL_KEY_FILE");
  if (path.empty()) path = configured;
  if (path.empty()) {
    PAWL_TRY_ASSIGN(path, default_key_file(store.id));
  }
  // An interrupted rotation may have left the store's current key next to its final place.
  if (auto fresh = read_key_file(path + ".new"); fresh && key_id(*fresh) == store.key->id) {
    PAWL_TRY(rename_private_file(path + ".new", path));
  }
  return beside(path, random);
}

/// Gives the file a second name, which stays when the new key takes its place.
Result<std::string> keep_old_key(const std::string& path, const std::string& id) {
  std::string kept = fmt::format("{}.old-{}", path, id.substr(0, 8));
  if (::link(path.c_str(), kept.c_str()) == 0 || errno == EEXIST) return kept;
  if (errno != ENOENT)
    return fail(Error{Code::invalid_key, fmt::format("can't keep the old key: {}", std::strerror(errno)), kept, {}, 0});
  return std::string();
}

Result<StoreKeyPlace> rekey_store(std::string_view uri, const NewKey& wanted) {
  PAWL_TRY_ASSIGN(const std::string folder, folder_of(uri));
  PAWL_TRY_ASSIGN(const Config config, load_settings(uri));
  const std::string& configured = config.settings.encryption.key_file;
  PAWL_TRY_ASSIGN(const auto opened, open_folder(folder, configured));
  auto record = opened->store_record();
  if (!record) return fail(Error{Code::store_not_found, "no store found", folder, {}, 0, Advice::make_encrypted_store});
  if (!record->key)
    return fail(Error{Code::usage, "the store is not encrypted", folder, {}, 0, Advice::make_other_encrypted_store});
  PAWL_TRY(opened->unlock());
  SystemRandom random;
  PAWL_TRY_ASSIGN(const ChosenKey chosen, choose_next_key(wanted, *record, configured, random));
  StoreKeyPlace place = chosen.place;
  // Backups that were made before need it.
  if (!chosen.replaces.empty()) {
    PAWL_TRY_ASSIGN(place.old_file, keep_old_key(chosen.replaces, record->key->id));
  }
  PAWL_TRY(opened->rekey(chosen.key));
  if (!chosen.replaces.empty()) PAWL_TRY(rename_private_file(chosen.replaces + ".new", chosen.replaces));
  return place;
}

}  // namespace

StoreAdmin store_admin() { return {.make = make_store, .rekey = rekey_store}; }

}  // namespace pawl
