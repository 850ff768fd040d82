#include "importers/source_tree.hpp"

#include <algorithm>
#include <cerrno>

#include "codec/compression.hpp"

namespace pawl {
namespace {

constexpr std::string_view kGzip = "\x1f\x8b";

}  // namespace

Result<SourceTree> SourceTree::open(FileSystem& files, const std::string& only, const SourceLimits& limits) {
  SourceTree tree(files, limits);
  tree.single_ = !only.empty();
  if (tree.single_) {
    tree.add_file(only);
  } else {
    PAWL_TRY(tree.add_folder("", 0));
  }
  std::ranges::sort(tree.paths_);
  std::ranges::sort(tree.refused_, {}, &SourceProblem::path);
  return tree;
}

Result<void> SourceTree::add_folder(const std::string& folder, int depth) {
  if (depth > limits_.depth_max) {
    refused_.push_back({folder, Error{Code::import_link, "the folders are nested too deeply", folder, {}, 0}});
    return {};
  }
  const auto entries = files_->list(folder);
  if (!entries) {
    refused_.push_back({folder, entries.error()});
    return {};
  }
  for (const FolderEntry& entry : *entries) {
    const std::string path = folder.empty() ? entry.name : join_path(folder, entry.name);
    if (entry.is_folder) {
      PAWL_TRY(add_folder(path, depth + 1));
    } else {
      add_file(path);
    }
    if (paths_.size() > limits_.files_max) {
      return fail(Error{Code::import_unrecognised,
                        fmt::format("more than {} files", limits_.files_max),
                        {},
                        "import one of its folders at a time",
                        0});
    }
  }
  return {};
}

void SourceTree::add_file(const std::string& path) {
  const auto file = files_->open(path, OpenMode::read);
  if (file) {
    paths_.push_back(path);
  } else if (file.error().os_error == ELOOP) {
    refused_.push_back({path, Error{Code::import_link, "a link; links are not followed", path, {}, ELOOP}});
  } else if (file.error().os_error == EINVAL || file.error().os_error == ENXIO) {
    refused_.push_back({path, Error{Code::import_link, "not a regular file", path, {}, EINVAL}});
  } else {
    refused_.push_back({path, file.error()});
  }
}

Result<std::string> SourceTree::read(const std::string& path) const {
  PAWL_TRY_ASSIGN(const auto file, files_->open(path, OpenMode::read));
  PAWL_TRY_ASSIGN(const std::uint64_t size, file->size());
  if (size > limits_.file_bytes_max) {
    return fail(Code::state_too_large, "the file has {} bytes; the limit is {}", size, limits_.file_bytes_max);
  }
  return file->read_at(0, size);
}

std::string SourceTree::begin_of(const std::string& path, std::uint64_t bytes) const {
  const auto file = files_->open(path, OpenMode::read);
  if (!file) return {};
  auto begin = (*file)->read_at(0, bytes);
  return begin ? std::move(*begin) : std::string();
}

Result<std::string> SourceTree::unpacked(std::string bytes) const {
  if (!bytes.starts_with(kGzip)) return bytes;
  return decompress_gzip(bytes, limits_.file_bytes_max);
}

std::vector<std::string_view> path_parts(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) parts.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

std::string_view without_gz(std::string_view path) {
  if (path.ends_with(".gz")) path.remove_suffix(3);
  return path;
}

}  // namespace pawl
