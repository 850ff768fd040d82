#include "adapters/posix/posix_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace pawl {
namespace {

const char* verb_of(PosixCall call) {
  switch (call) {
    case PosixCall::open_existing:
    case PosixCall::open_created: return "open";
    case PosixCall::open_root: return "open the store's folder";
    case PosixCall::make_root: return "make the store's folder";
    case PosixCall::read: return "read";
    case PosixCall::write: return "write";
    case PosixCall::resize: return "resize";
    case PosixCall::sync: return "make durable";
    case PosixCall::rename: return "rename";
    case PosixCall::remove: return "remove";
    case PosixCall::make_folder: return "make the folder";
    case PosixCall::list: return "list the folder";
    case PosixCall::look_up: return "look up";
    case PosixCall::lock: return "lock";
  }
  return "use";
}

Code missing_code_of(PosixCall call) {
  switch (call) {
    case PosixCall::open_existing: return Code::input_unreadable;
    case PosixCall::open_root:
    case PosixCall::make_root: return Code::store_not_found;
    case PosixCall::rename: return Code::rename_failed;
    default: return Code::write_failed;
  }
}

Code other_code_of(PosixCall call) {
  switch (call) {
    case PosixCall::open_existing:
    case PosixCall::open_root:
    case PosixCall::read:
    case PosixCall::list:
    case PosixCall::look_up: return Code::read_failed;
    case PosixCall::rename: return Code::rename_failed;
    default: return Code::write_failed;
  }
}

Code code_of(PosixCall call, int os_error) {
  if (call == PosixCall::sync) return Code::outcome_unknown;
  switch (os_error) {
    case ENOSPC:
    case EDQUOT: return Code::disk_full;
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP: return Code::permission_denied;
    case ENOENT: return missing_code_of(call);
    default: return other_code_of(call);
  }
}

const char* hint_of(PosixCall call, int os_error) {
  switch (os_error) {
    case ENOSPC: return "free some space on this disk, then try again";
    case EDQUOT: return "the disk quota is used up: remove files or ask for more, then try again";
    case EACCES:
    case EPERM: return "check owner and permissions of this path with ls -ld";
    case EROFS: return "the disk is mounted read-only: look at dmesg for the reason, then remount it";
    case ELOOP: return "a symbolic link stands here and is not followed: replace it by what it points to";
    case ENOTDIR: return "a file stands where a folder is expected: move it away";
    case EISDIR: return "a folder stands where a file is expected: move it away";
    case EMFILE:
    case ENFILE: return "too many files are open: raise the limit with ulimit -n";
    case EFBIG: return "the file reached a size limit: look at ulimit -f";
    case EIO: return "the disk reports errors: look at dmesg, and copy the store to another disk";
    case ENOENT: return call == PosixCall::open_existing ? "check the path" : "make its parent folder first";
    default: return call == PosixCall::sync ? "look at dmesg; then save again through a new handle" : "";
  }
}

}  // namespace

Error posix_error(PosixCall call, int os_error, std::string where) {
  const char* description = ::strerrordesc_np(os_error);
  std::string message =
      fmt::format("cannot {}: {}", verb_of(call), description != nullptr ? description : "unknown error");
  return Error{code_of(call, os_error), std::move(message), std::move(where), hint_of(call, os_error), os_error};
}

}  // namespace pawl
