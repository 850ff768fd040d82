// The files that a user names on the command line, and the program's own streams. Nothing of the store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// At most `bytes_max` bytes: input_unreadable, or state_too_large.
[[nodiscard]] Result<std::string> read_local_file(const std::string& path, std::uint64_t bytes_max);

/// Puts the bytes at `path`, whole or not at all, and durable when it returns: a temporary file beside
/// it, then a rename. What is not a regular file (a terminal, a pipe, /dev/null) is written to directly.
[[nodiscard]] Result<void> write_local_file(const std::string& path, std::string_view bytes);

/// Writes everything to an open descriptor. 0, or an errno.
[[nodiscard]] int write_fully(int fd, std::string_view bytes);

}  // namespace pawl
