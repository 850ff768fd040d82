// Errors that concern one run and must not stop commands about all of them.
#pragma once

#include <cerrno>
#include <pawl/error.hpp>

namespace pawl {

/// Returns whether the error is about the files that it names, and not about the machine: they are damaged, of another
/// kind than expected, or not accessible to this user.
[[nodiscard]] inline bool is_confined(const Error& error) {
  switch (error.os_error) {
    case EACCES:
    case EPERM:
    case ENOTDIR:
    case EISDIR:
    case ELOOP: return true;
    default: return is_refusal(error.code);
  }
}

}  // namespace pawl
