#include "adapters/filesystem/erased_file.hpp"

#include <algorithm>
#include <cerrno>

#include "adapters/filesystem/layout.hpp"
#include "domain/erasure.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kMarkBytesMax = 64ULL << 10;
constexpr std::uint64_t kChunkBytes = 1ULL << 20;

}  // namespace

Result<std::optional<ErasedRecord>> load_erased(FileSystem& files, std::string_view run) {
  const std::string path = layout::erased(run);
  const auto text = files.read_file(path, kMarkBytesMax);
  if (!text && text.error().code == Code::input_unreadable) return std::optional<ErasedRecord>();
  if (!text) return std::unexpected(text.error());
  auto record = decode_erased(*text);
  if (record && record->run != run)
    record = fail(Code::store_damaged, "the erasure mark belongs to run '{}'", record->run);
  if (!record) return fail(at(record.error(), path));
  return std::optional(std::move(*record));
}

Result<void> refuse_erased(FileSystem& files, std::string_view run) {
  PAWL_TRY_ASSIGN(const auto record, load_erased(files, run));
  if (!record) return {};
  PAWL_TRY_ASSIGN(const Erasure erasure, erasure_of(*record, Erasure::Outcome::already));
  return fail(erased_error(run, erasure));
}

Result<RunInfo> info_of_erased(const ErasedRecord& record) {
  PAWL_TRY_ASSIGN(RunId id, RunId::parse(record.run));
  const RunInfo info{.id = std::move(id),
                     .uuid = record.uuid,
                     .created = record.created,
                     .updated = {},
                     .latest = record.latest,
                     .status = {},
                     .kind = {},
                     .durability = {},
                     .workflow = {},
                     .workflow_hash = {},
                     .session = {},
                     .fork_of_run = {},
                     .fork_of_sequence = {}};
  return erased_info(info, record.at);
}

Result<void> overwrite(File& file, std::uint64_t offset) {
  PAWL_TRY_ASSIGN(const std::uint64_t size, file.size());
  if (offset >= size) return {};
  const std::string zeros(std::min(kChunkBytes, size - offset), '\0');
  // Anybody may have put a file with a huge hole there. Holes are zeros already, and stay holes.
  for (;; offset += zeros.size()) {
    PAWL_TRY_ASSIGN(offset, file.next_data(offset));
    if (offset >= size) return {};
    PAWL_TRY(
        file.write_at(offset, std::string_view(zeros).substr(0, std::min<std::uint64_t>(zeros.size(), size - offset))));
  }
}

Result<std::unique_ptr<File>> open_to_wipe(FileSystem& files, const std::string& path) {
  auto file = files.open(path, OpenMode::wipe);
  if (file) return file;
  const int reason = file.error().os_error;
  const bool no_file = reason == ELOOP || reason == EINVAL || reason == ENXIO || reason == EACCES;
  if (no_file || file.error().code == Code::input_unreadable) return std::unique_ptr<File>();
  return file;
}

Result<void> wipe_file(FileSystem& files, const std::string& path) {
  const auto file = open_to_wipe(files, path);
  if (!file) return std::unexpected(file.error());
  if (*file) {
    PAWL_TRY(overwrite(**file, 0));
    PAWL_TRY((*file)->sync(SyncPoint::erased_bytes));
  }
  return files.remove(path);
}

}  // namespace pawl
