// The type of filesystem that a folder is on. Locks and syncs are unreliable over a network.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

enum class FilesystemPlace : std::uint8_t {
  local,    // ext4, XFS, Btrfs and others that are known to be on a disk of this machine
  network,  // NFS, SMB, 9p, AFS, Ceph and others that are known to be remote
  unknown,  // every FUSE file system, and types that are not in the list
};

struct FilesystemInfo {
  std::string type;  // "ext4", "nfs", "fuse.sshfs"; "0x1234" if unknown
  FilesystemPlace place = FilesystemPlace::unknown;
  std::uint64_t free_bytes = 0;  // for this user
  bool read_only = false;
};

/// Describes the filesystem of this descriptor. `where` is for errors.
[[nodiscard]] Result<FilesystemInfo> filesystem_info_of(int fd, const std::string& where);

/// Type and place by statfs's f_type. `mount_type` (as mounted: "fuse.sshfs") is the type of unknown ones.
[[nodiscard]] FilesystemInfo classify_filesystem(std::uint64_t magic, std::string_view mount_type);

/// Returns the type of the mount with this device number in the text of /proc/self/mountinfo, or an empty string.
[[nodiscard]] std::string mount_type_in(std::string_view mountinfo, unsigned device_major, unsigned device_minor);

}  // namespace pawl
