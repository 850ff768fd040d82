#include "app/audit_world.hpp"

#include <filesystem>

#include "adapters/filesystem/filesystem_evidence.hpp"
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_file_system.hpp"
#include "app/compose.hpp"
#include "app/key_files.hpp"
#include "app/keys.hpp"
#include "domain/store_uri.hpp"

namespace pawl {
namespace {

constexpr KeyFileNames kSigningKey{.file = "signing key", .elsewhere = "PAWL_SIGNING_KEY_FILE"};

/// Makes an ordinary store of a copy that was made while the store was in use, as any other command does. A copy that
/// can't be written or opened is verified as it is.
void take_over_copy(std::string_view uri) {
  OpenOptions options;
  options.missing = Missing::refuse;
  if (variable("PAWL_ALLOW_NETWORK_FS") == "1") options.network_filesystem = NetworkFilesystem::allow;
  const auto store = open_filesystem(uri, options, Settings());
  if (store) static_cast<void>((*store)->take_over_copy());
}

Result<std::unique_ptr<Evidence>> open_folder_evidence(std::string_view uri) {
  PAWL_TRY_ASSIGN(const std::string folder, require_store_folder(uri));
  PAWL_TRY_ASSIGN(auto files, PosixFileSystem::open(folder));
  PAWL_TRY_ASSIGN(const bool exists, files->exists(layout::kStoreFile));
  if (!exists) return fail(Error{Code::store_not_found, "this folder is not a store", folder, {}, 0});
  take_over_copy(uri);
  return std::make_unique<FilesystemEvidence>(std::move(files), current_owner().boot_id);
}

struct KeyPlace {
  std::string path;
  bool given = false;  // by the environment; such a file is never created
};

Result<KeyPlace> key_place() {
  if (std::string given = variable("PAWL_SIGNING_KEY_FILE"); !given.empty()) return KeyPlace{std::move(given), true};
  PAWL_TRY_ASSIGN(const std::string folder, key_folder(kSigningKey));
  return KeyPlace{folder + "/signing.key", false};
}

/// Returns nothing if the file does not exist.
Result<std::optional<SigningKey>> read_signing_key(const std::string& path) {
  PAWL_TRY_ASSIGN(const std::optional<KeyFileText> file, read_private_file(path, kSigningKey));
  if (!file) return std::optional<SigningKey>();
  auto key = SigningKey::parse(file->text);
  if (!key) return fail(at(key.error(), path));
  return std::optional(std::move(*key));
}

Result<SigningKey> signing_key() {
  PAWL_TRY_ASSIGN(const KeyPlace place, key_place());
  PAWL_TRY_ASSIGN(auto key, read_signing_key(place.path));
  if (key) return *key;
  if (place.given)
    return fail(Error{Code::key_missing, "the signing key is missing", place.path,
                      "create one: (umask 077; openssl genpkey -algorithm ed25519 > FILE)", 0});
  PAWL_TRY_ASSIGN(const SigningKey made, SigningKey::make());
  PAWL_TRY_ASSIGN(const std::string pem, made.pem());
  // If another process created it first, that key is used.
  PAWL_TRY(create_private_file(place.path, pem, 0600, kSigningKey));
  PAWL_TRY_ASSIGN(key, read_signing_key(place.path));
  if (!key) return fail(Error{Code::key_missing, "the signing key has been removed", place.path, {}, 0});
  PAWL_TRY_ASSIGN(const std::string digits, key->public_key());
  const std::string shown = std::filesystem::path(place.path).replace_extension(".pub").string();
  PAWL_TRY(create_private_file(shown, digits + "\n", 0644, kSigningKey));
  return *key;
}

Result<std::optional<std::string>> own_public_key() {
  PAWL_TRY_ASSIGN(const KeyPlace place, key_place());
  PAWL_TRY_ASSIGN(const auto key, read_signing_key(place.path));
  if (!key) return std::optional<std::string>();
  PAWL_TRY_ASSIGN(std::string digits, key->public_key());
  return std::optional(std::move(digits));
}

}  // namespace

AuditWorld audit_world() { return {open_folder_evidence, signing_key, own_public_key}; }

}  // namespace pawl
