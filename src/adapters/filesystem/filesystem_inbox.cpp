// FilesystemStore: messages, owners, local folders, and what all runs share.
#include <algorithm>

#include "adapters/filesystem/erased_file.hpp"
#include "adapters/filesystem/filesystem_limits.hpp"
#include "adapters/filesystem/filesystem_result_cache.hpp"
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/inbox.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/run_log_cipher.hpp"
#include "domain/erasure.hpp"

namespace pawl {

Result<RunRecord> FilesystemStore::record_of(const RunId& run) {
  return read_consistently(run.text(), [&](auto snapshot) {
    return RunReader(files_, keys_, run.text(), std::move(snapshot)).run_record();
  });
}

Result<std::string> FilesystemStore::post(const RunId& run, std::string_view body) {
  PAWL_TRY_ASSIGN(const RunRecord record, record_of(run));
  PAWL_TRY_ASSIGN(RunCodec codec, keys_.codec(run.text(), record));
  bool named = false;
  {
    const Lock lock(inbox_mutex_);
    named = named_inboxes_.contains(run.text());
  }
  Inbox inbox(files_, run.text(), seal_seed(record.uuid));
  PAWL_TRY_ASSIGN(std::string id,
                  inbox.post(environment_, codec, body, named ? Inbox::Names::durable : Inbox::Names::unsynced));
  if (const auto erased = refuse_erased(files_, run.text()); !erased) {
    // The run was erased in the meantime, perhaps before the message was posted. If that can't be determined, the
    // message stays.
    if (is_gone(erased.error().code)) PAWL_TRY(wipe_file(files_, layout::message(run.text(), id)));
    return std::unexpected(erased.error());
  }
  const Lock lock(inbox_mutex_);
  named_inboxes_.insert(run.text());
  return id;
}

/// The run's owner polls many times a second, and the record may be anywhere in the journal. It is therefore read only
/// if there is a message.
Result<std::vector<Message>> FilesystemStore::inbox(const RunId& run) {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::inbox(run.text())));
  PAWL_TRY_ASSIGN(const bool has_owner, files_.exists(layout::run_lock(run.text())));
  if (entries.empty() && has_owner) {
    PAWL_TRY(refuse_erased(files_, run.text()));
    return std::vector<Message>();
  }
  PAWL_TRY_ASSIGN(const RunRecord record, record_of(run));
  PAWL_TRY_ASSIGN(RunCodec codec, keys_.codec(run.text(), record));
  return Inbox(files_, run.text(), seal_seed(record.uuid)).list(codec);
}

/// Not synced: if a power loss restores the message, the run's owner has already recorded it as taken.
Result<void> FilesystemStore::take(const RunId& run, std::string_view message_id) {
  if (!is_message_id(message_id)) return {};
  return files_.remove(layout::message(run.text(), message_id));
}

Result<bool> FilesystemStore::inbox_sealed(const RunId& run) {
  const auto lock = files_.open(layout::run_lock(run.text()), OpenMode::read);
  if (!lock && lock.error().code == Code::input_unreadable) return false;
  if (!lock) return std::unexpected(lock.error());
  return (*lock)->locked_elsewhere(layout::kSealByte);
}

Result<std::optional<std::string>> FilesystemStore::owner(const RunId& run) {
  const auto lock = files_.open(layout::run_lock(run.text()), OpenMode::read);
  if (!lock && lock.error().code == Code::input_unreadable) return std::optional<std::string>();
  if (!lock) return std::unexpected(lock.error());
  PAWL_TRY_ASSIGN(const bool held, (*lock)->locked_elsewhere(layout::kWriterByte));
  if (!held) return std::optional<std::string>();
  PAWL_TRY_ASSIGN(const std::string text, (*lock)->read_at(0, kWatermarkOffset));
  return std::optional(describe_owner(text));
}

Result<std::vector<std::string>> FilesystemStore::held_locks(const RunId& run) {
  const std::string folder = layout::logs(run.text());
  PAWL_TRY_ASSIGN(const auto entries, files_.list(folder));
  std::vector<std::string> held;
  for (const FolderEntry& entry : entries) {
    if (entry.is_folder || !entry.name.ends_with(".lock")) continue;
    const auto file = files_.open(join_path(folder, entry.name), OpenMode::read);
    if (!file && file.error().code == Code::input_unreadable) continue;  // removed in the meantime
    if (!file) return std::unexpected(file.error());
    PAWL_TRY_ASSIGN(const bool locked, (*file)->locked_elsewhere(0));
    if (locked) held.push_back(entry.name);
  }
  std::ranges::sort(held);
  return held;
}

Result<std::shared_ptr<LogCipher>> FilesystemStore::log_cipher(const RunId& run) {
  PAWL_TRY_ASSIGN(const RunRecord record, record_of(run));
  if (!record.encrypted) return nullptr;
  PAWL_TRY_ASSIGN(RunCodec codec, keys_.codec(run.text(), record));
  return std::make_shared<RunLogCipher>(std::move(codec), *environment_.random);
}

std::unique_ptr<Limits> FilesystemStore::limits() { return make_filesystem_limits(files_, *environment_.clock); }

std::unique_ptr<ResultCache> FilesystemStore::result_cache() {
  return make_filesystem_result_cache(files_, *environment_.random);
}

Result<std::string> FilesystemStore::local_folder(const RunId& run) {
  PAWL_TRY(refuse_erased(files_, run.text()));
  const std::string folder = layout::logs(run.text());
  if (options_.root.empty()) return fail(Error{Code::write_failed, "this store has no local folder", folder, {}, 0});
  PAWL_TRY(files_.make_folder(layout::kRuns));
  PAWL_TRY(files_.make_folder(layout::run(run.text())));
  PAWL_TRY(files_.make_folder(folder));
  return join_path(options_.root, folder);
}

}  // namespace pawl
