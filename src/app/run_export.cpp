#include "app/run_export.hpp"

#include <cstdlib>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/posix/posix_file_system.hpp"
#include "app/compose.hpp"
#include "app/keys.hpp"
#include "app/settings.hpp"

namespace pawl {
namespace {

/// Returns the key that encrypts the run's key in the export. It is not the store's: the recipient needs it.
Result<SecretKey> key_of_export(Error missing) {
  const char* path = std::getenv("PAWL_EXPORT_KEY_FILE");
  if (path == nullptr || *path == '\0') return fail(std::move(missing));
  return read_key_file(path);
}

Result<SecretKey> key_to_export() {
  return key_of_export({Code::key_missing,
                        "the run is encrypted and there is no key for the export",
                        {},
                        "create a key file: `(umask 077; head -c 32 /dev/urandom | base64 > export.key)`, then "
                        "set PAWL_EXPORT_KEY_FILE=export.key",
                        0});
}

Result<SecretKey> key_to_import() {
  return key_of_export({Code::key_missing,
                        "the run is encrypted, and the key that it was exported with is missing",
                        {},
                        "set PAWL_EXPORT_KEY_FILE to the key file that was used at the export",
                        0});
}

Result<std::unique_ptr<FilesystemStore>> open_for_export(std::string_view store, Missing missing) {
  PAWL_TRY_ASSIGN(const Config config, load_settings(store));
  OpenOptions options;
  options.missing = missing;
  const char* network = std::getenv("PAWL_ALLOW_NETWORK_FS");
  if (network != nullptr && std::string_view(network) == "1") options.network_filesystem = NetworkFilesystem::allow;
  return open_filesystem(store, options, config.settings);
}

Result<ExportedRun> export_from_store(std::string_view store, const RunId& run, ExportLogs logs,
                                      const std::function<Result<void>(std::string_view)>& write) {
  PAWL_TRY_ASSIGN(const auto opened, open_for_export(store, Missing::refuse));
  auto exported = opened->export_run(run, logs, key_to_export, write);
  if (exported || exported.error().code != Code::run_busy) return exported;
  Error error = with_other_advice(exported.error(), Advice::show_run, {.run = run.text()});
  error.hint = "wait until it finishes, then export it again";
  return fail(std::move(error));
}

/// An id that is reserved for a removed run can only be used in another store.
template <class T>
Result<T> with_import_hint(Result<T> imported) {
  if (imported || imported.error().code != Code::run_removed) return imported;
  Error error = imported.error();
  error.hint = "import it into another store: --store DIR";
  return fail(std::move(error));
}

/// Checks the file. Writes nothing.
Result<ImportedExport> look_at(std::string_view store, File& file) {
  ExportReader reader(nullptr, file);
  PAWL_TRY_ASSIGN(const ExportHeader header, reader.begin());
  PAWL_TRY_ASSIGN(const std::uint64_t files, reader.read_files());
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(header.run));
  ImportedExport checked{.run = header.run, .uuid = header.uuid, .files = files};
  const auto opened = open_for_export(store, Missing::refuse);
  if (!opened && opened.error().code == Code::store_not_found) return checked;
  if (!opened) return std::unexpected(opened.error());
  const auto there = (*opened)->run(id);
  if (there && there->uuid != header.uuid)
    return fail(Code::run_exists, "the store already contains a different run '{}'", header.run);
  if (!there && there.error().code == Code::run_removed)
    return with_import_hint<ImportedExport>(std::unexpected(there.error()));
  if (there) checked.latest = there->latest;
  checked.repeated = there.has_value();
  return checked;
}

/// A new store is encrypted if the settings say so.
Result<void> refuse_other_kind(std::string_view store, File& file) {
  ExportReader reader(nullptr, file);
  PAWL_TRY_ASSIGN(const ExportHeader header, reader.begin());
  PAWL_TRY_ASSIGN(const Config config, load_settings(store));
  if (header.key.has_value() == config.settings.checkpoint.encryption) return {};
  return fail(Error{Code::not_encrypted,
                    header.key ? "the run is encrypted, and there is no encrypted store here yet"
                               : "the run is not encrypted, but the settings say that new stores are",
                    std::string(store), header.key ? "" : "import it into a store that is not encrypted", 0,
                    header.key ? Advice::make_encrypted_store : Advice::none});
}

Result<ImportedExport> import_to_store(std::string_view store, File& file, ExportUse use) {
  if (use == ExportUse::only_check) return look_at(store, file);
  // Check the file first: one that can't be imported must not create a store.
  if (const auto there = open_for_export(store, Missing::refuse);
      !there && there.error().code == Code::store_not_found) {
    PAWL_TRY(look_at(store, file));
    PAWL_TRY(refuse_other_kind(store, file));
  }
  PAWL_TRY_ASSIGN(const auto opened, open_for_export(store, Missing::create));
  return with_import_hint(opened->import_run(file, key_to_import));
}

}  // namespace

RunExport run_export() { return {.export_run = export_from_store, .import_run = import_to_store}; }

Result<std::unique_ptr<FileSystem>> open_source_folder(const std::string& folder) {
  auto files = PosixFileSystem::open(folder);
  if (!files) return fail(Error{Code::input_unreadable, files.error().message, folder, {}, files.error().os_error});
  return std::move(*files);
}

}  // namespace pawl
