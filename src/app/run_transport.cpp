#include "app/run_transport.hpp"

#include <cstdlib>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/posix/posix_file_system.hpp"
#include "app/compose.hpp"
#include "app/keys.hpp"
#include "app/settings.hpp"

namespace pawl {
namespace {

using cli::Arrival;
using cli::ArrivedRun;
using cli::ExportedRun;
using cli::WithLogs;

/// The key that an encrypted run's key is wrapped with on its way. Not the store's: the file may go to somebody else.
Result<SecretKey> export_key() {
  const char* path = std::getenv("PAWL_EXPORT_KEY_FILE");
  if (path == nullptr || *path == '\0') {
    return fail(Error{Code::key_missing,
                      "the run is encrypted, and there is no key for its portable file",
                      {},
                      "name a key file: `(umask 077; head -c 32 /dev/urandom | base64 > export.key)`, then "
                      "PAWL_EXPORT_KEY_FILE=export.key",
                      0});
  }
  return read_key_file(path);
}

Result<FilesystemOpened> open(std::string_view store, Missing missing) {
  PAWL_TRY_ASSIGN(const Config config, load_settings(store));
  OpenOptions options;
  options.missing = missing;
  const char* network = std::getenv("PAWL_ALLOW_NETWORK_FS");
  if (network != nullptr && std::string_view(network) == "1") options.network_filesystem = NetworkFilesystem::allow;
  return open_filesystem(store, options, config.settings);
}

Result<ExportedRun> send(std::string_view store, const RunId& run, WithLogs logs,
                         const std::function<Result<void>(std::string_view)>& write) {
  PAWL_TRY_ASSIGN(const FilesystemOpened opened, open(store, Missing::refuse));
  PAWL_TRY_ASSIGN(const SentRun sent,
                  opened.store->send_run(run, logs == WithLogs::yes ? SendLogs::yes : SendLogs::no, export_key, write));
  return ExportedRun{
      .uuid = sent.uuid, .files = sent.files, .bytes = sent.bytes, .sha256 = sent.sha256, .encrypted = sent.encrypted};
}

/// Without writing anything.
Result<ArrivedRun> look_at(std::string_view store, File& file) {
  RunReceiver receiver(nullptr, file);
  PAWL_TRY_ASSIGN(const ExportHeader header, receiver.begin());
  PAWL_TRY_ASSIGN(const std::uint64_t files, receiver.receive());
  PAWL_TRY_ASSIGN(const RunId id, RunId::parse(header.run));
  ArrivedRun arrived{.run = header.run, .uuid = header.uuid, .files = files};
  const auto opened = open(store, Missing::refuse);
  if (!opened && opened.error().code == Code::store_not_found) return arrived;
  if (!opened) return std::unexpected(opened.error());
  const auto there = opened->store->run(id);
  if (there && there->uuid != header.uuid)
    return fail(Code::run_exists, "run '{}' exists already, and is another one", header.run);
  if (there) arrived.latest = there->latest;
  arrived.repeated = there.has_value();
  return arrived;
}

Result<ArrivedRun> receive(std::string_view store, File& file, Arrival arrival) {
  if (arrival == Arrival::only_check) return look_at(store, file);
  // A file that is refused leaves no store where there was none.
  if (const auto there = open(store, Missing::refuse); !there && there.error().code == Code::store_not_found)
    PAWL_TRY(look_at(store, file));
  PAWL_TRY_ASSIGN(const FilesystemOpened opened, open(store, Missing::create));
  PAWL_TRY_ASSIGN(const ReceivedRun received, opened.store->receive_run(file, export_key));
  return ArrivedRun{.run = received.run,
                    .uuid = received.uuid,
                    .latest = received.latest,
                    .checkpoints = received.checkpoints,
                    .files = received.files,
                    .repeated = received.repeated};
}

}  // namespace

cli::RunTransport run_transport() { return {.send = send, .receive = receive}; }

Result<std::unique_ptr<FileSystem>> open_source_folder(const std::string& folder) {
  auto files = PosixFileSystem::open(folder);
  if (!files) return fail(Error{Code::input_unreadable, files.error().message, folder, {}, files.error().os_error});
  return std::move(*files);
}

}  // namespace pawl
