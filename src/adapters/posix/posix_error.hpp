// Converts an errno to an Error: code, message and hint.
#pragma once

#include <cstdint>
#include <pawl/error.hpp>
#include <string>

namespace pawl {

/// The operation that failed.
enum class PosixCall : std::uint8_t {
  open_existing,  // ENOENT means input_unreadable
  open_created,   // ENOENT means that the folder is missing
  open_root,      // ENOENT means store_not_found
  make_root,      // the same
  read,
  write,
  resize,
  sync,  // always outcome_unknown, whatever the errno
  rename,
  remove,
  make_folder,
  list,
  look_up,
  lock,
};

/// ENOSPC and EDQUOT are disk_full; EACCES, EPERM, EROFS and ELOOP (links are not followed) are
/// permission_denied; the rest depends on the call: read_failed, write_failed or rename_failed.
[[nodiscard]] Error posix_error(PosixCall call, int os_error, std::string where);

}  // namespace pawl
