// Who is responsible for a failure: the work or the machine.
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace pawl {

enum class Fault : std::uint8_t {
  work,     // repeating it on a healthy machine would fail again: a missing program, a folder without permission
  machine,  // full disk, no descriptors or memory, a failing or read-only disk: it may succeed later
};

/// Attributes the errno of a failed system call: ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EAGAIN, EIO, EROFS and the
/// like are the fault of the machine, all others that of the work. 0 is the fault of the work.
[[nodiscard]] Fault fault_of_errno(int os_error);

/// Attributes an error of a file, a store or a process by its code and errno, never by its text. Errors of the storage
/// and of the operating system are the fault of the machine, also without an errno. An input that can't be read is the
/// fault of the work, unless its errno says otherwise.
[[nodiscard]] Fault fault_of(const Error& error);

}  // namespace pawl
