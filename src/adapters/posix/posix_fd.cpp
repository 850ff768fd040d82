#include "adapters/posix/posix_fd.hpp"

#include <cerrno>

#include "adapters/posix/posix_error.hpp"

namespace pawl {

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(posix_error(PosixCall::write, errno, path));
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace pawl
