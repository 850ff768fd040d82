#include "adapters/filesystem/run_export.hpp"

#include <algorithm>

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/trail_file.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kCopyBytes = 1ULL << 20;
constexpr int kFolderDepthMax = 64;

Error file_damaged(std::string message) {
  return Error{Code::export_damaged, std::move(message), {}, "export the run again, or copy the file again", 0};
}

Result<void> collect(FileSystem& files, const std::string& root, const std::string& folder, int depth,
                     std::vector<std::string>& found) {
  if (depth > kFolderDepthMax) return fail(Code::not_portable, "the folders of the run are nested too deeply");
  PAWL_TRY_ASSIGN(const auto entries, files.list(join_path(root, folder)));
  for (const FolderEntry& entry : entries) {
    const std::string path = join_path(folder, entry.name);
    if (entry.is_folder) {
      PAWL_TRY(collect(files, root, path, depth + 1, found));
    } else if (may_be_exported(path) && !(folder == "audit" && parse_archive_name(entry.name))) {
      found.push_back(path);  // an export contains the trail as one file
    }
  }
  return {};
}

std::unexpected<Error> only_read() {
  return fail(Code::permission_denied, "a run that is being imported is read-only");
}

}  // namespace

Result<std::vector<std::string>> files_to_export(FileSystem& files, const std::string& run, ExportLogs logs) {
  std::vector<std::string> names;
  PAWL_TRY_ASSIGN(const auto entries, files.list(layout::run(run)));
  for (const FolderEntry& entry : entries) {
    if (entry.name == "logs" && logs == ExportLogs::no) continue;
    if (entry.is_folder) {
      PAWL_TRY(collect(files, layout::run(run), entry.name, 1, names));
    } else if (may_be_exported(entry.name)) {
      names.push_back(entry.name);
    }
  }
  std::ranges::sort(names);
  return names;
}

ExportWriter::ExportWriter(FileSystem& files, std::string run, std::function<Result<void>(std::string_view)> write)
    : files_(files), run_(std::move(run)), write_(std::move(write)) {}

Result<void> ExportWriter::put(std::string_view bytes) {
  hash_.add(bytes);
  bytes_ += bytes.size();
  return write_(bytes);
}

Result<void> ExportWriter::put_file(const std::string& name) {
  const std::string path = join_path(layout::run(run_), name);
  PAWL_TRY_ASSIGN(const auto file, path == layout::audit(run_) ? open_trail(files_, run_, OpenMode::read)
                                                               : files_.open(path, OpenMode::read));
  PAWL_TRY_ASSIGN(const std::uint64_t size, file->size());
  PAWL_TRY(put(encode_export(ExportEntry{.file = name, .bytes = size})));
  for (std::uint64_t at = 0; at < size;) {
    PAWL_TRY_ASSIGN(const std::string piece, file->read_at(at, std::min(kCopyBytes, size - at)));
    if (piece.empty()) return fail(Code::read_failed, "'{}' was truncated while it was being read", name);
    PAWL_TRY(put(piece));
    at += piece.size();
  }
  return put("\n");
}

Result<ExportedRun> ExportWriter::write_all(const ExportHeader& header, const std::vector<std::string>& names) {
  PAWL_TRY(put(encode_export(header)));
  for (const std::string& name : names) PAWL_TRY(put_file(name));
  ExportedRun sent{.uuid = header.uuid,
                   .files = names.size(),
                   .bytes = bytes_,
                   .sha256 = to_hex(hash_.finish()),
                   .encrypted = header.key.has_value()};
  const std::string last = encode_export(ExportEnd{.files = sent.files, .bytes = sent.bytes, .sha256 = sent.sha256});
  PAWL_TRY(write_(last));
  sent.bytes += last.size();
  return sent;
}

ExportReader::ExportReader(FileSystem* files, File& source) : files_(files), source_(source) {}

/// Returns the line without its newline. Does not hash it, because the last line is not part of the checksum.
Result<std::string> ExportReader::line() {
  PAWL_TRY_ASSIGN(std::string text, source_.read_at(at_, kExportLineMax));
  const std::size_t end = text.find('\n');
  if (end == std::string::npos)
    return fail(file_damaged(fmt::format("the export is truncated or damaged at byte {}", at_)));
  text.resize(end);
  return text;
}

Result<std::string> ExportReader::take(std::uint64_t bytes) {
  PAWL_TRY_ASSIGN(std::string text, source_.read_at(at_, bytes));
  if (text.size() != bytes) return fail(file_damaged("the export is truncated"));
  hash_.add(text);
  at_ += bytes;
  return text;
}

Result<ExportHeader> ExportReader::begin() {
  PAWL_TRY_ASSIGN(const std::string text, line());
  PAWL_TRY_ASSIGN(ExportHeader header, decode_export_header(text));
  PAWL_TRY(take(text.size() + 1));
  return header;
}

Result<void> ExportReader::make_folders(std::string_view file) {
  for (std::size_t slash = file.find('/'); slash != std::string_view::npos; slash = file.find('/', slash + 1)) {
    PAWL_TRY(files_->make_folder(join_path(layout::kArriving, file.substr(0, slash))));
  }
  return {};
}

Result<void> ExportReader::take_file(const ExportEntry& entry) {
  if (entry.file <= last_file_)
    return fail(file_damaged(fmt::format("'{}' is listed twice or out of order in the export", entry.file)));
  last_file_ = entry.file;
  std::unique_ptr<File> file;
  if (files_ != nullptr) {
    PAWL_TRY(make_folders(entry.file));
    PAWL_TRY_ASSIGN(file, files_->open(join_path(layout::kArriving, entry.file), OpenMode::create_empty));
  }
  for (std::uint64_t done = 0; done < entry.bytes;) {
    PAWL_TRY_ASSIGN(const std::string piece, take(std::min(kCopyBytes, entry.bytes - done)));
    if (file) PAWL_TRY(file->write_at(done, piece));
    done += piece.size();
  }
  PAWL_TRY_ASSIGN(const std::string newline, take(1));
  if (newline != "\n") return fail(file_damaged(fmt::format("the size of '{}' in the export is wrong", entry.file)));
  return {};
}

Result<std::uint64_t> ExportReader::read_files() {
  for (std::uint64_t files = 0;; ++files) {
    PAWL_TRY_ASSIGN(const std::string text, line());
    if (!text.starts_with("{\"files\":")) {
      PAWL_TRY_ASSIGN(const ExportEntry entry, decode_export_entry(text));
      PAWL_TRY(take(text.size() + 1));
      PAWL_TRY(take_file(entry));
      continue;
    }
    PAWL_TRY_ASSIGN(const ExportEnd end, decode_export_end(text));
    PAWL_TRY_ASSIGN(const std::uint64_t size, source_.size());
    if (end.files != files || end.bytes != at_ || end.sha256 != to_hex(hash_.finish())) {
      return fail(file_damaged("the checksum of the export is wrong"));
    }
    if (size != at_ + text.size() + 1) return fail(file_damaged("the export is followed by unexpected data"));
    return files;
  }
}

Result<void> remove_all(FileSystem& files, const std::string& folder, int depth_max) {
  if (depth_max == 0) return fail(Code::write_failed, "the folders below {} are nested too deeply", folder);
  PAWL_TRY_ASSIGN(const auto entries, files.list(folder));
  for (const FolderEntry& entry : entries) {
    const std::string path = join_path(folder, entry.name);
    PAWL_TRY(entry.is_folder ? remove_all(files, path, depth_max - 1) : files.remove(path));
  }
  return files.remove_folder(folder);
}

UnpackedFiles::UnpackedFiles(FileSystem& files, std::string_view run) : files_(files), folder_(layout::run(run)) {}

std::string UnpackedFiles::mapped(std::string_view path) const {
  if (path == folder_) return std::string(layout::kArriving);
  if (path.starts_with(folder_) && path.substr(folder_.size()).starts_with('/'))
    return std::string(layout::kArriving) + std::string(path.substr(folder_.size()));
  return std::string(path);
}

Result<std::unique_ptr<File>> UnpackedFiles::open(std::string_view path, OpenMode mode) {
  if (mode != OpenMode::read) return only_read();
  return files_.open(mapped(path), mode);
}
Result<bool> UnpackedFiles::exists(std::string_view path) { return files_.exists(mapped(path)); }
Result<std::vector<FolderEntry>> UnpackedFiles::list(std::string_view folder) { return files_.list(mapped(folder)); }
Result<bool> UnpackedFiles::make_folder(std::string_view) { return only_read(); }
Result<void> UnpackedFiles::rename(std::string_view, std::string_view) { return only_read(); }
Result<void> UnpackedFiles::remove(std::string_view) { return only_read(); }
Result<void> UnpackedFiles::remove_folder(std::string_view) { return only_read(); }
Result<void> UnpackedFiles::sync_folder(std::string_view, SyncPoint) { return only_read(); }
Result<void> UnpackedFiles::sync_all(SyncPoint) { return only_read(); }

}  // namespace pawl
