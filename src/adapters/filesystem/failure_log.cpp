#include "adapters/filesystem/failure_log.hpp"

#include "adapters/filesystem/layout.hpp"
#include "codec/sealed_text.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

Result<void> sync_names(FileSystem& files) {
  PAWL_TRY(files.sync_folder(layout::kRecovery, SyncPoint::side_name));
  return files.sync_folder("", SyncPoint::side_name);
}

}  // namespace

Result<void> set_aside(FileSystem& files, std::string_view path, std::string_view bytes) {
  PAWL_TRY(files.make_folder(layout::kRecovery));
  // Not truncated first: if the bytes were set aside before, the same bytes are written to the same place.
  PAWL_TRY_ASSIGN(const auto file, files.open(path, OpenMode::create));
  PAWL_TRY(file->write_at(0, bytes));
  PAWL_TRY(file->resize(bytes.size()));
  PAWL_TRY(file->sync(SyncPoint::side_file));
  return sync_names(files);
}

Result<void> log_failure(FileSystem& files, const Environment& environment, const Finding& finding) {
  PAWL_TRY(files.make_folder(layout::kRecovery));
  PAWL_TRY_ASSIGN(const auto file, files.open(layout::kFailures, OpenMode::create));
  for (std::int64_t waited_us = 0;; waited_us += kLockStepUs) {
    PAWL_TRY_ASSIGN(const bool locked, file->try_lock(0));
    if (locked) break;
    if (waited_us >= kLockWaitUs)
      return fail(Code::store_busy, "timed out waiting for another process that is writing the failure log");
    environment.clock->sleep_us(kLockStepUs);
  }
  PAWL_TRY_ASSIGN(const std::uint64_t size, file->size());
  std::string line =
      fmt::format("{{\"at\":\"{}\",\"code\":\"{}\",", environment.clock->now().text(), code_text(finding.code));
  if (!finding.run.empty()) line += fmt::format("\"run\":{},", escape_json(finding.run));
  line += fmt::format("\"file\":{},\"what\":{}", escape_json(finding.file), escape_json(finding.what));
  seal(line);
  line += '\n';
  PAWL_TRY(file->write_at(size, line));
  PAWL_TRY(file->sync(SyncPoint::side_file));
  return sync_names(files);
}

}  // namespace pawl
