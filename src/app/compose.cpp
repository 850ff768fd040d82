#include "app/compose.hpp"

#include <filesystem>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/memory/memory_store.hpp"
#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_file_system.hpp"
#include "app/keys.hpp"
#include "app/store_admin.hpp"

namespace pawl {
namespace {

/// A store together with what it stands on. Members are destroyed from the last to the first.
class OwningStore final : public Store {
 public:
  explicit OwningStore(std::unique_ptr<PosixFileSystem> files) : files_(std::move(files)) {}
  [[nodiscard]] Environment environment() { return Environment{&clock_, &random_, current_owner()}; }
  [[nodiscard]] FileSystem& files() { return *files_; }
  void own(std::unique_ptr<Store> store) { store_ = std::move(store); }

  Result<std::unique_ptr<RunWriter>> open_run(const RunId& run, const RunOptions& options) override {
    return store_->open_run(run, options);
  }
  Result<std::unique_ptr<RunWriter>> fork(const RunId& parent, Sequence at, const RunId& run,
                                          const RunOptions& options) override {
    return store_->fork(parent, at, run, options);
  }
  Result<std::vector<ForkInfo>> forks_of(const RunId& run) override { return store_->forks_of(run); }
  Result<std::optional<ForkInfo>> origin_of(const RunId& run) override { return store_->origin_of(run); }
  Result<Restored> restore(const RunId& run, const Which& which) override { return store_->restore(run, which); }
  Result<RunInfo> run(const RunId& run) override { return store_->run(run); }
  Result<std::vector<RunInfo>> runs(std::size_t limit) override { return store_->runs(limit); }
  Result<CheckpointInfo> checkpoint(const RunId& run, const Which& which) override {
    return store_->checkpoint(run, which);
  }
  Result<std::vector<CheckpointInfo>> checkpoints(const RunId& run, Sequence after, std::size_t limit) override {
    return store_->checkpoints(run, after, limit);
  }
  Result<std::vector<Event>> events(const RunId& run, std::uint64_t after_number, std::size_t limit) override {
    return store_->events(run, after_number, limit);
  }
  Result<std::vector<AuditEntry>> audit(const RunId& run, std::uint64_t after, std::size_t limit) override {
    return store_->audit(run, after, limit);
  }
  Result<std::string> post(const RunId& run, std::string_view body) override { return store_->post(run, body); }
  Result<std::vector<Message>> inbox(const RunId& run) override { return store_->inbox(run); }
  Result<void> take(const RunId& run, std::string_view message_id) override { return store_->take(run, message_id); }
  Result<std::optional<std::string>> owner(const RunId& run) override { return store_->owner(run); }
  Result<std::string> local_folder(const RunId& run) override { return store_->local_folder(run); }
  Result<std::shared_ptr<LogCipher>> log_cipher(const RunId& run) override { return store_->log_cipher(run); }
  Result<RunFootprint> footprint(const RunId& run) override { return store_->footprint(run); }
  Result<std::uint64_t> shared_bytes() override { return store_->shared_bytes(); }
  Result<PruneReport> prune(const RunId& run, const RetentionSettings& settings, PruneMode mode) override {
    return store_->prune(run, settings, mode);
  }
  Result<Erasure> erase(const RunId& run, const EraseRequest& request) override { return store_->erase(run, request); }
  Result<Recovered> recover(const RunId& run, const RecoverScope& scope) override {
    return store_->recover(run, scope);
  }
  Result<void> log_failure(const RecoveryFailure& failure) override { return store_->log_failure(failure); }
  Result<CheckReport> check(const CheckScope& scope, Repair repair) override { return store_->check(scope, repair); }

 private:
  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<PosixFileSystem> files_;
  std::unique_ptr<Store> store_;
};

struct StorePlace {
  enum class Kind : std::uint8_t { memory, folder };
  Kind kind = Kind::folder;
  std::string folder;
};

Result<StorePlace> parse_uri(std::string_view uri) {
  if (uri == "memory:") return StorePlace{StorePlace::Kind::memory, {}};
  for (const std::string_view prefix : {"file://", "file:"}) {
    if (uri.starts_with(prefix)) {
      uri.remove_prefix(prefix.size());
      break;
    }
  }
  if (uri.find("://") != std::string_view::npos) {
    return fail(Error{
        Code::usage, fmt::format("no kind of store is known for '{}'", uri), {}, "name a folder: --store ./.pawl", 0});
  }
  if (uri.empty())
    return fail(Error{Code::usage, "the store's name is empty", {}, "name a folder: --store ./.pawl", 0});
  return StorePlace{StorePlace::Kind::folder, std::string(uri)};
}

Result<void> refuse_network(const PosixFileSystem& files, const std::string& folder, NetworkFilesystem allowed) {
  if (allowed == NetworkFilesystem::allow) return {};
  PAWL_TRY_ASSIGN(const FilesystemInfo info, files.filesystem_info());
  if (!info.is_network) return {};
  return fail(Error{
      Code::network_filesystem,
      fmt::format("the store is on a network filesystem ({}), where locks and syncs can't be relied on", info.type),
      folder, "put it on a local disk, or set PAWL_ALLOW_NETWORK_FS=1 if one machine alone uses it", 0});
}

/// A folder that holds none of a store's parts is no store. One that lost some of them is damaged, which
/// the adapter finds.
Result<void> refuse_other_folder(FileSystem& files, const std::string& folder) {
  for (const std::string_view part : {layout::kStoreFile, layout::kJournals, layout::kRuns}) {
    PAWL_TRY_ASSIGN(const bool exists, files.exists(part));
    if (exists) return {};
  }
  return fail(Error{Code::store_not_found, "this folder holds no store", folder, {}, 0});
}

/// Where nothing is to be made, a missing folder is a missing store, whatever advice there is on making one.
Result<std::unique_ptr<PosixFileSystem>> open_root(const std::string& folder, Missing missing,
                                                   const Settings& settings) {
  Result<std::unique_ptr<PosixFileSystem>> files =
      PosixFileSystem::open(folder, settings.performance.mapped_from_bytes);
  if (!files && missing == Missing::refuse && files.error().code == Code::store_not_found) {
    return fail(Error{Code::store_not_found, "there is no store here", folder, {}, files.error().os_error});
  }
  return files;
}

Result<FilesystemOpened> open_folder(const std::string& folder, const OpenOptions& options, StoreUse use,
                                     const Settings& configured) {
  // A store that is there needs no new folder, and no sync of its parent.
  std::error_code unreadable;
  const bool made = std::filesystem::exists(join_path(folder, layout::kStoreFile), unreadable);
  if (options.missing == Missing::create && !made) PAWL_TRY(make_root(folder));
  if (options.missing == Missing::create && !made && configured.checkpoint.encryption) {
    PAWL_TRY(store_admin().make(folder, {.encrypted = true, .key = {}, .config = {}}));
  }
  PAWL_TRY_ASSIGN(std::unique_ptr<PosixFileSystem> files, open_root(folder, options.missing, configured));
  PAWL_TRY(refuse_network(*files, folder, options.network_filesystem));
  if (options.missing == Missing::refuse) PAWL_TRY(refuse_other_folder(*files, folder));
  auto owning = std::make_unique<OwningStore>(std::move(files));
  FilesystemOptions settings;
  settings.root = absolute_path(folder);
  if (configured.performance.async_writes) settings.durability = Durability::async;
  settings.state_bytes_max = configured.checkpoint.size_max_bytes;
  settings.packing = {configured.checkpoint.format, configured.checkpoint.compression,
                      configured.checkpoint.compression_from_bytes, configured.performance.compression_level};
  settings.retention = configured.checkpoint.retention;
  settings.find_key = [file = configured.encryption.key_file](const Uuid& id, const StoreKeyInfo& info) {
    return find_outer_key(id, info, file);
  };
  settings.background = use == StoreUse::service ? Background::thread : Background::none;
  PAWL_TRY_ASSIGN(std::unique_ptr<FilesystemStore> store,
                  FilesystemStore::open(owning->files(), owning->environment(), settings,
                                        join_path(settings.root, layout::kCatalogue)));
  FilesystemStore* const opened = store.get();
  owning->own(std::move(store));
  return FilesystemOpened{std::move(owning), opened};
}

std::unique_ptr<Store> open_memory() {
  auto owning = std::make_unique<OwningStore>(nullptr);
  owning->own(std::make_unique<MemoryStore>(owning->environment()));
  return owning;
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(std::string_view uri, const OpenOptions& options, StoreUse use,
                                          const Settings& settings) {
  PAWL_TRY_ASSIGN(const StorePlace place, parse_uri(uri));
  if (place.kind == StorePlace::Kind::memory) return open_memory();
  PAWL_TRY_ASSIGN(FilesystemOpened opened, open_folder(place.folder, options, use, settings));
  return std::move(opened.owner);
}

Result<FilesystemOpened> open_filesystem(std::string_view uri, const OpenOptions& options, const Settings& settings) {
  PAWL_TRY_ASSIGN(const StorePlace place, parse_uri(uri));
  if (place.kind == StorePlace::Kind::memory)
    return fail(Error{Code::usage, "a store in memory has no files", {}, "name a folder: --store ./.pawl", 0});
  return open_folder(place.folder, options, StoreUse::one_shot, settings);
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

}  // namespace pawl
