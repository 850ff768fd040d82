#include "base/fault.hpp"

#include <cerrno>

namespace pawl {

Fault fault_of_errno(int os_error) {
  switch (os_error) {
    case EAGAIN:
    case EDQUOT:
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case ENOSPC:
    case EROFS:
    case ETOOMANYREFS: return Fault::machine;
    default: return Fault::work;
  }
}

Fault fault_of(const Error& error) {
  return is_machine_failure(error.code) ? Fault::machine : fault_of_errno(error.os_error);
}

}  // namespace pawl
