#include "adapters/filesystem/whole_file.hpp"

namespace pawl {

Result<std::unique_ptr<File>> write_whole_file(FileSystem& files, const std::string& path, std::string_view text,
                                               std::optional<SyncPoint> point, std::string_view suffix) {
  const std::string temporary = path + std::string(suffix);
  // After a power loss it may be a second name of a file that was renamed: truncating it would truncate that file.
  PAWL_TRY(files.remove(temporary));
  PAWL_TRY_ASSIGN(auto file, files.open(temporary, OpenMode::create_empty));
  auto written = file->write_at(0, text);
  if (written && point) written = file->sync(*point);
  if (written) written = files.rename(temporary, path);
  if (written) return file;
  file.reset();
  static_cast<void>(files.remove(temporary));  // a full disk needs the blocks
  return std::unexpected(written.error());
}

}  // namespace pawl
