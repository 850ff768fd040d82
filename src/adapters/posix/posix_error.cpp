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
    case PosixCall::make_root: return "create the store's folder";
    case PosixCall::read: return "read";
    case PosixCall::write: return "write";
    case PosixCall::resize: return "resize";
    case PosixCall::sync: return "sync";
    case PosixCall::rename: return "rename";
    case PosixCall::remove: return "remove";
    case PosixCall::make_folder: return "create the folder";
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
    case ENOSPC: return "free some space on this disk, for example with `pawl prune --keep 10`, then try again";
    case EDQUOT:
      return "the disk quota is exceeded: remove files, for example with `pawl prune --keep 10`, or request more space";
    case EACCES:
    case EPERM: return "check owner and permissions of this path with ls -ld";
    case EROFS: return "the disk is mounted read-only: check dmesg for the reason, then remount it";
    case ELOOP: return "symbolic links are not followed here: replace the link with its target";
    case ENOTDIR: return "expected a folder, found a file: move the file away";
    case EISDIR: return "expected a file, found a folder: move the folder away";
    case EMFILE:
    case ENFILE: return "too many files are open: raise the limit with ulimit -n";
    case EFBIG: return "the file reached the size limit: check ulimit -f";
    case EIO: return "the disk reports errors: check dmesg, and copy the store to another disk";
    case ENOENT: return call == PosixCall::open_existing ? "check the path" : "create its parent folder first";
    default: return call == PosixCall::sync ? "check dmesg, then save again through a new handle" : "";
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
