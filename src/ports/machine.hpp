// Information about the machine and its disks, as a port. Paths are absolute.
#pragma once

#include <pawl/types.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace pawl {

struct DiskFacts {
  std::string type;  // "ext4", "nfs"
  bool is_network = false;
  bool is_unknown = false;  // a type that is not known to be local, such as FUSE
  bool read_only = false;
  std::uint64_t free_bytes = 0;  // for this user
  std::uint64_t total_bytes = 0;
  std::uint64_t free_files = 0;   // inodes
  std::uint64_t total_files = 0;  // 0 if the file system does not count them
};

struct FileFacts {
  unsigned mode = 0;  // the nine permission bits
  bool mine = false;  // owned by this user
  bool is_folder = false;
};

/// Thread-safe.
class Machine {
 public:
  Machine() = default;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  virtual ~Machine() = default;

  [[nodiscard]] virtual Result<DiskFacts> disk(const std::string& folder) = 0;
  /// Fails with input_unreadable and ENOENT if the path does not exist.
  [[nodiscard]] virtual Result<FileFacts> file(const std::string& path) = 0;
  /// Returns how long each of `count` small appends with fdatasync took, in microseconds. Uses a temporary file.
  [[nodiscard]] virtual Result<std::vector<std::int64_t>> sync_times_us(const std::string& folder,
                                                                        std::size_t count) = 0;
  /// Returns at most `limit` files below `folder` whose names end with `.tmp` and that were not modified for `age_s`
  /// seconds.
  [[nodiscard]] virtual std::vector<std::string> left_over(const std::string& folder, std::int64_t age_s,
                                                           std::size_t limit) = 0;
};

}  // namespace pawl
