#include "app/backup.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "adapters/filesystem/backups.hpp"
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_file_system.hpp"
#include "app/compose.hpp"
#include "app/local_files.hpp"
#include "app/remove_on_signal.hpp"
#include "app/settings.hpp"
#include "codec/record_text.hpp"
#include "domain/store_uri.hpp"

namespace pawl {
namespace {

// States compress well, but not a thousandfold. A file that says so is meant to fill the disk.
constexpr std::uint64_t kAlwaysAllowedBytes = 1ULL << 30U;
constexpr std::uint64_t kRatioMax = 1000;
constexpr std::uint64_t kStoreFileBytesMax = 1ULL << 20U;

struct NamedPlace {
  std::unique_ptr<FileSystem> folder;
  std::string folder_path;
  std::string name;
};

/// Opens the folder that contains `path`.
Result<NamedPlace> open_parent(const std::string& path, Code code) {
  std::filesystem::path absolute = absolute_path(path);
  if (absolute.filename().empty()) absolute = absolute.parent_path();  // a trailing slash
  NamedPlace place;
  place.folder_path = absolute.parent_path().string();
  place.name = absolute.filename().string();
  if (place.name.empty() || place.name == "." || place.name == "..")
    return fail(Error{Code::usage, "not a name of a file or folder", path, "pass another name", 0});
  auto folder = PosixFileSystem::open(place.folder_path);
  if (!folder) {
    return fail(Error{code, "the folder that should contain it can't be opened", place.folder_path,
                      "create it first, or pass another path", folder.error().os_error});
  }
  place.folder = std::move(*folder);
  return place;
}

/// Backups and restored stores are for their owner only, whatever the umask says.
class PrivateFiles {
 public:
  PrivateFiles() : before_(::umask(077)) {}
  PrivateFiles(const PrivateFiles&) = delete;
  PrivateFiles& operator=(const PrivateFiles&) = delete;
  ~PrivateFiles() { ::umask(before_); }

 private:
  const mode_t before_;
};

/// Names the file as the user did.
template <class T>
Result<T> named(Result<T> result, const std::string& path) {
  if (result) return result;
  Error error = std::move(result).error();
  const bool about_the_file = error.code == Code::backup_damaged || error.code == Code::backup_exists ||
                              error.code == Code::backup_too_large || error.code == Code::folder_not_empty ||
                              (error.code == Code::unsupported_version && error.where.empty());
  if (about_the_file) error.where = path;
  return fail(std::move(error));
}

/// Returns whether `folder`, an absolute path without links, is `root` or below it.
bool is_below(std::filesystem::path folder, const std::filesystem::path& root) {
  std::error_code error;
  for (;; folder = folder.parent_path()) {
    if (std::filesystem::equivalent(folder, root, error)) return true;
    if (folder == folder.parent_path()) return false;
  }
}

/// A file in the store's folder would be damage, or part of the next backup.
Result<void> refuse_own_folder(std::string_view store, const ResultPlace& place, const std::string& path) {
  PAWL_TRY_ASSIGN(const std::string root, require_store_folder(store));
  if (!is_below(place.folder, root)) return {};
  return fail(Error{Code::usage, "a backup can't be written into the folder of the store", path,
                    "choose a file outside of the store", 0});
}

/// Returns the folder of the store that contains `folder`, or an empty text.
std::filesystem::path store_around(std::filesystem::path folder) {
  std::error_code error;
  folder = std::filesystem::canonical(folder, error);
  for (; !folder.empty(); folder = folder.parent_path()) {
    const auto files = PosixFileSystem::open(folder.string());
    const auto text = files ? (*files)->read_file(layout::kStoreFile, kStoreFileBytesMax) : fail(files.error());
    if (text && decode_store(*text)) return folder;
    if (folder == folder.parent_path()) break;
  }
  return {};
}

/// A folder inside a store would be damage, or part of the next backup.
Result<void> refuse_store_around(const std::string& parent, const std::string& folder) {
  const std::filesystem::path store = store_around(parent);
  if (store.empty()) return {};
  return fail(Error{Code::usage,
                    fmt::format("a store can't be restored into the folder of a store, {}", store.string()), folder,
                    "choose a folder outside of the store", 0});
}

Result<WrittenBackup> create_from_store(std::string_view store, const std::string& path, ExistingBackup existing,
                                        const ShowBackupProgress& show) {
  PAWL_TRY_ASSIGN(const Config config, load_settings(store));
  OpenOptions options;
  options.missing = Missing::refuse;
  const char* network = std::getenv("PAWL_ALLOW_NETWORK_FS");
  if (network != nullptr && std::string_view(network) == "1") options.network_filesystem = NetworkFilesystem::allow;
  PAWL_TRY_ASSIGN(const auto opened, open_filesystem(store, options, config.settings));
  PAWL_TRY_ASSIGN(const ResultPlace place, find_result_place(path));
  if (place.kind != ResultPlace::Kind::replaced) {
    return fail(Error{Code::usage, "it is not a regular file, and a backup can't be written to anything else", path,
                      "pass a file name", 0});
  }
  PAWL_TRY(refuse_own_folder(store, place, path));
  PAWL_TRY_ASSIGN(const auto folder, PosixFileSystem::open(place.folder));
  const PrivateFiles private_files;
  std::optional<RemoveOnSignal> removed_on_signal;
  const auto announce = [&](const std::string& name) { removed_on_signal.emplace(join_path(place.folder, name)); };
  return named(create_backup(*opened, {folder.get(), place.name, existing, system_environment(), announce}, show),
               path);
}

std::uint64_t free_bytes(const std::string& folder) {
  struct statvfs info{};
  if (::statvfs(folder.c_str(), &info) != 0) return UINT64_MAX;
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

Result<std::unique_ptr<File>> open_backup(const NamedPlace& source, const std::string& path) {
  auto file = source.folder->open(source.name, OpenMode::read);
  if (!file)
    return fail(Error{Code::input_unreadable, file.error().message, path, file.error().hint, file.error().os_error});
  return file;
}

Result<CheckedBackup> check_file(const std::string& path, const ShowBackupProgress& show) {
  PAWL_TRY_ASSIGN(const NamedPlace source, open_parent(path, Code::input_unreadable));
  PAWL_TRY_ASSIGN(const auto file, open_backup(source, path));
  return named(check_backup(*file, show), path);
}

Result<RestoredStore> restore_to_folder(const std::string& path, const std::string& folder,
                                        std::optional<std::uint64_t> bytes_max, const ShowBackupProgress& show) {
  PAWL_TRY_ASSIGN(const NamedPlace source, open_parent(path, Code::input_unreadable));
  PAWL_TRY_ASSIGN(const auto file, open_backup(source, path));
  PAWL_TRY_ASSIGN(const std::uint64_t size, file->size());
  PAWL_TRY_ASSIGN(const NamedPlace target, open_parent(folder, Code::write_failed));
  PAWL_TRY(refuse_store_around(target.folder_path, folder));
  if (!bytes_max) bytes_max = std::max(kAlwaysAllowedBytes, size > UINT64_MAX / kRatioMax ? size : size * kRatioMax);
  const PrivateFiles private_files;
  RestorePlace place{target.folder.get(), target.name, system_environment(),
                     std::min(*bytes_max, free_bytes(target.folder_path))};
  auto restored = restore_backup(*file, place, show);
  const bool about_the_target = !restored && restored.error().code == Code::folder_not_empty;
  return named(std::move(restored), about_the_target ? folder : path);
}

}  // namespace

StoreBackups store_backups() {
  return {.create = create_from_store, .restore = restore_to_folder, .verify = check_file};
}

}  // namespace pawl
