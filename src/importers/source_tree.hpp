// The files to import. They are only read, and links are not followed.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "ports/file_system.hpp"

namespace pawl {

struct SourceLimits {
  std::uint64_t file_bytes_max = 100ULL << 20;  // of one file, decompressed
  std::size_t files_max = 1'000'000;
  int depth_max = 32;
};

struct SourceProblem {
  std::string path;
  Error error;
};

/// Not thread-safe.
class SourceTree {
 public:
  /// `only` names one file of the folder; empty: everything below it. Fails with import_unrecognised if there are too
  /// many files.
  [[nodiscard]] static Result<SourceTree> open(FileSystem& files, const std::string& only, const SourceLimits& limits);

  /// Returns the relative paths of the regular files, sorted.
  [[nodiscard]] const std::vector<std::string>& files() const { return paths_; }
  /// Returns links, sockets and what can't be opened. They are never read.
  [[nodiscard]] const std::vector<SourceProblem>& refused() const { return refused_; }
  /// Returns whether a single file was named.
  [[nodiscard]] bool is_single() const { return single_; }
  /// Returns the bytes as stored. Fails with state_too_large or an error of the file system.
  [[nodiscard]] Result<std::string> read(const std::string& path) const;
  /// Returns the first bytes, to detect the format; empty if the file can't be read.
  [[nodiscard]] std::string begin_of(const std::string& path, std::uint64_t bytes) const;
  /// Returns the content, decompressed if it is gzip.
  [[nodiscard]] Result<std::string> unpacked(std::string bytes) const;
  [[nodiscard]] const SourceLimits& limits() const { return limits_; }

 private:
  SourceTree(FileSystem& files, const SourceLimits& limits) : files_(&files), limits_(limits) {}
  Result<void> add_folder(const std::string& folder, int depth);
  void add_file(const std::string& path);

  FileSystem* files_;
  SourceLimits limits_;
  std::vector<std::string> paths_;
  std::vector<SourceProblem> refused_;
  bool single_ = false;
};

/// Returns the parts of a path between the slashes.
[[nodiscard]] std::vector<std::string_view> path_parts(std::string_view path);
/// Returns the path without a trailing `.gz`.
[[nodiscard]] std::string_view without_gz(std::string_view path);

}  // namespace pawl
