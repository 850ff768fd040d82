#include "ports/file_system.hpp"

#include <array>

namespace pawl {

std::string_view to_text(SyncPoint point) {
  static constexpr std::array<std::string_view, kSyncPointCount> kNames = {
      "journal_batch",       "journal_takeover", "segment_created",
      "segment_recycled",    "segment_name",     "takeover_name",
      "journal_name",        "journals_name",    "blob",
      "blob_name",           "blob_folder_name", "published_file",
      "published_name",      "published_all",    "store_file",
      "side_file",           "side_name",        "inbox_message",
      "inbox_name",          "run_key",          "run_key_name",
      "store_file_name",     "pruned_kept",      "pruned_callers",
      "pruned_new_names",    "pruned_list",      "pruned_list_name",
      "fork_note",           "fork_note_name",   "erased_mark",
      "erased_mark_name",    "erased_bytes",     "erased_names",
      "imported_files",      "imported_name",    "catalogue",
      "catalogue_name",      "backup_file",      "backup_name",
      "restored_files",      "restored_name",    "archived_trail",
      "archived_trail_name", "cut_trail",        "cut_trail_name"};
  return kNames[static_cast<std::size_t>(point)];
}

Result<std::string> FileSystem::read_file(std::string_view path, std::uint64_t size_max) {
  PAWL_TRY_ASSIGN(const auto file, open(path, OpenMode::read));
  PAWL_TRY_ASSIGN(const std::uint64_t size, file->size());
  if (size > size_max) {
    return fail(Error{Code::store_damaged, fmt::format("the file has {} bytes; the maximum is {}", size, size_max),
                      std::string(path), "restore the file from a backup", 0});
  }
  return file->read_at(0, size);
}

Result<FileContent> FileSystem::content(std::string_view path, std::uint64_t size_max) {
  PAWL_TRY_ASSIGN(std::string text, read_file(path, size_max));
  auto kept = std::make_shared<const std::string>(std::move(text));
  const std::string_view bytes = *kept;
  return FileContent{std::move(kept), bytes};
}

std::string join_path(std::string_view folder, std::string_view name) {
  if (folder.empty()) return std::string(name);
  return fmt::format("{}/{}", folder, name);
}

std::string_view parent_folder(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

}  // namespace pawl
