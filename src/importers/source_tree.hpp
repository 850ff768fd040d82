// The files that are to be imported: looked at, never written to, and never left through a link.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "ports/file_system.hpp"

namespace pawl {

struct SourceLimits {
  std::uint64_t file_bytes_max = 100ULL << 20;  // of one file, unpacked
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
  /// `only`: this one file of the folder; empty: everything below it. Fails with import_unrecognised where there are
  /// too many.
  [[nodiscard]] static Result<SourceTree> open(FileSystem& files, const std::string& only, const SourceLimits& limits);

  /// Relative paths of the regular files, sorted.
  [[nodiscard]] const std::vector<std::string>& files() const { return paths_; }
  /// Links, sockets and what can't be opened: they are never read.
  [[nodiscard]] const std::vector<SourceProblem>& refused() const { return refused_; }
  /// One file that was named by itself.
  [[nodiscard]] bool is_single() const { return single_; }
  /// The bytes as they are. Fails with state_too_large and what the file system fails with.
  [[nodiscard]] Result<std::string> read(const std::string& path) const;
  /// The first bytes, for telling formats apart; empty where it can't be read.
  [[nodiscard]] std::string begin_of(const std::string& path, std::uint64_t bytes) const;
  /// The same without gzip around it, where there is some.
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

/// The parts of a path between the slashes.
[[nodiscard]] std::vector<std::string_view> path_parts(std::string_view path);
/// Without `.gz` at its end.
[[nodiscard]] std::string_view without_gz(std::string_view path);

}  // namespace pawl
