#include "adapters/posix/posix_filesystem_info.hpp"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>

#include "adapters/posix/posix_error.hpp"

namespace pawl {
namespace {

struct KnownType {
  std::uint64_t magic;
  std::string_view name;
  bool is_network;
};

// From statfs(2) and linux/magic.h; older releases of the header lack some of them.
constexpr std::uint64_t kFuseMagic = 0x65735546;
constexpr auto kKnownTypes = std::to_array<KnownType>({
    {0xEF53, "ext4", false},         {0x58465342, "xfs", false},      {0x9123683E, "btrfs", false},
    {0x01021994, "tmpfs", false},    {0x858458F6, "ramfs", false},    {0x794C7630, "overlay", false},
    {0x2FC12FC1, "zfs", false},      {0xF2F52010, "f2fs", false},     {0xCA451A4E, "bcachefs", false},
    {0x3153464A, "jfs", false},      {0x52654973, "reiserfs", false}, {0x4D44, "vfat", false},
    {0x2011BAB0, "exfat", false},    {0x5346544E, "ntfs", false},     {0x7366746E, "ntfs3", false},
    {0x73717368, "squashfs", false}, {0x61756673, "aufs", false},     {0xF15F, "ecryptfs", false},
    {0x3434, "nilfs2", false},       {0x24051905, "ubifs", false},    {0x72B6, "jffs2", false},
    {0x482B, "hfsplus", false},      {0xE0F5E1E2, "erofs", false},    {0x6969, "nfs", true},
    {0xFF534D42, "cifs", true},      {0xFE534D42, "smb2", true},      {0x517B, "smb", true},
    {0x01021997, "9p", true},        {0x5346414F, "afs", true},       {0x6B414653, "afs", true},
    {0x00C36400, "ceph", true},      {0x73757245, "coda", true},      {0x564C, "ncp", true},
    {0x7461636F, "ocfs2", true},     {0x01161970, "gfs2", true},      {0x0BD00BD0, "lustre", true},
});

std::string mount_type_of(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) < 0) return {};
  std::ifstream file("/proc/self/mountinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return mount_type_in(text, gnu_dev_major(info.st_dev), gnu_dev_minor(info.st_dev));
}

}  // namespace

// A line: "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"
std::string mount_type_in(std::string_view mountinfo, unsigned device_major, unsigned device_minor) {
  const std::string device = fmt::format(" {}:{} ", device_major, device_minor);
  while (!mountinfo.empty()) {
    const std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(line.size() + 1, mountinfo.size()));
    const auto separator = line.find(" - ");
    // The device is the third field, before any path, which may contain anything.
    const auto second_space = line.find(' ', line.find(' ') + 1);
    if (separator == std::string_view::npos || second_space > separator) continue;
    if (!line.substr(second_space).starts_with(device)) continue;
    const std::string_view rest = line.substr(separator + 3);
    return std::string(rest.substr(0, rest.find(' ')));
  }
  return {};
}

FilesystemInfo classify_filesystem(std::uint64_t magic, std::string_view mount_type) {
  FilesystemInfo info;
  const auto* known = std::ranges::find(kKnownTypes, magic, &KnownType::magic);
  if (known != kKnownTypes.end()) {
    info.type = known->name;
    info.place = known->is_network ? FilesystemPlace::network : FilesystemPlace::local;
    return info;
  }
  // A FUSE file system is whatever its program makes of it.
  info.place = FilesystemPlace::unknown;
  info.type = !mount_type.empty()   ? std::string(mount_type)
              : magic == kFuseMagic ? "fuse"
                                    : fmt::format("{:#x}", magic);
  return info;
}

Result<FilesystemInfo> filesystem_info_of(int fd, const std::string& where) {
  struct statfs kind{};
  struct statvfs room{};
  if (::fstatfs(fd, &kind) < 0 || ::fstatvfs(fd, &room) < 0) return fail(posix_error(PosixCall::look_up, errno, where));
  // f_type is signed on some machines; the magic numbers have 32 bits.
  const std::uint64_t magic = static_cast<std::uint32_t>(kind.f_type);
  FilesystemInfo info = classify_filesystem(magic, {});
  if (info.place == FilesystemPlace::unknown) info = classify_filesystem(magic, mount_type_of(fd));
  info.free_bytes = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
  info.read_only = (room.f_flag & ST_RDONLY) != 0;
  return info;
}

}  // namespace pawl
