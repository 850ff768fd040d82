#include "app/compose.hpp"

#include <cstdio>
#include <filesystem>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/memory/memory_store.hpp"
#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_file_system.hpp"
#include "app/keys.hpp"
#include "app/store_admin.hpp"
#include "domain/store_uri.hpp"

namespace pawl {
namespace {

Result<void> refuse_network(const PosixFileSystem& files, const std::string& folder, NetworkFilesystem allowed) {
  if (allowed == NetworkFilesystem::allow) return {};
  PAWL_TRY_ASSIGN(const FilesystemInfo info, files.filesystem_info());
  if (info.place == FilesystemPlace::local) return {};
  const std::string message =
      info.place == FilesystemPlace::network
          ? fmt::format("the store is on a network filesystem ({}), where locks and syncs are unreliable", info.type)
          : fmt::format(
                "the store is on a filesystem that is not known to be local ({}): locks and syncs may be "
                "unreliable",
                info.type);
  return fail(Error{Code::network_filesystem, message, folder,
                    "put it on a local disk, or set PAWL_ALLOW_NETWORK_FS=1 if only one machine uses it", 0});
}

/// Refuses a folder that contains no part of a store. One that contains only some of them is damaged, which the adapter
/// reports.
Result<void> refuse_other_folder(FileSystem& files, const std::string& folder) {
  for (const std::string_view part : {layout::kStoreFile, layout::kJournals, layout::kRuns}) {
    PAWL_TRY_ASSIGN(const bool exists, files.exists(part));
    if (exists) return {};
  }
  return fail(Error{Code::store_not_found, "this folder is not a store", folder, {}, 0});
}

Result<std::unique_ptr<FilesystemStore>> open_folder(const std::string& folder, const OpenOptions& options,
                                                     StoreUse use, const Settings& configured) {
  // An existing store needs neither a new folder nor a sync of its parent.
  std::error_code unreadable;
  const bool made = std::filesystem::exists(join_path(folder, layout::kStoreFile), unreadable);
  if (options.missing == Missing::create && !made) PAWL_TRY(make_root(folder));
  if (options.missing == Missing::create && !made && configured.checkpoint.encryption) {
    PAWL_TRY(store_admin().make(folder, {.encrypted = true, .key = {}, .config = {}}));
  }
  PAWL_TRY_ASSIGN(std::unique_ptr<PosixFileSystem> files,
                  PosixFileSystem::open(folder, configured.performance.mapped_from_bytes));
  PAWL_TRY(refuse_network(*files, folder, options.network_filesystem));
  if (options.missing == Missing::refuse) PAWL_TRY(refuse_other_folder(*files, folder));
  FilesystemOptions settings;
  settings.root = absolute_path(folder);
  if (configured.performance.async_writes) settings.durability = Durability::async;
  settings.state_bytes_max = configured.checkpoint.size_max_bytes;
  settings.packing = {configured.checkpoint.format, configured.checkpoint.compression,
                      configured.checkpoint.compression_from_bytes, configured.performance.compression_level};
  settings.retention = configured.checkpoint.retention;
  settings.lock_wait_us = std::chrono::microseconds(configured.lock_wait).count();
  settings.find_key = [file = configured.encryption.key_file](const Uuid& id, const StoreKeyInfo& info) {
    return find_outer_key(id, info, file);
  };
  settings.tell = [](const std::string& what) { std::fprintf(stderr, "pawl: %s\n", what.c_str()); };
  settings.background = use == StoreUse::service ? Background::thread : Background::none;
  return FilesystemStore::open(std::move(files), system_environment(), settings);
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(std::string_view uri, const OpenOptions& options, StoreUse use,
                                          const Settings& settings) {
  if (uri == kMemoryStore) return std::make_unique<MemoryStore>(system_environment());
  PAWL_TRY_ASSIGN(const std::string folder, require_store_folder(uri));
  return open_folder(folder, options, use, settings);
}

Result<std::unique_ptr<FilesystemStore>> open_filesystem(std::string_view uri, const OpenOptions& options,
                                                         const Settings& settings) {
  PAWL_TRY_ASSIGN(const std::string folder, require_store_folder(uri));
  return open_folder(folder, options, StoreUse::one_shot, settings);
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

}  // namespace pawl
