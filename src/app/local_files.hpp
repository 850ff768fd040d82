// The files that a user names on the command line, and the standard streams. Not the files of the store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// Reads at most `bytes_max` bytes. Fails with input_unreadable or state_too_large.
[[nodiscard]] Result<std::string> read_local_file(const std::string& path, std::uint64_t bytes_max);

/// Writes the bytes to `path`, completely or not at all; durable on return. Uses a temporary file in the same folder
/// and a rename. If `path` is not a regular file (a terminal, a pipe, /dev/null), writes to it directly.
[[nodiscard]] Result<void> write_local_file(const std::string& path, std::string_view bytes);

/// Writes everything to an open descriptor. Returns 0 or an errno.
[[nodiscard]] int write_fully(int fd, std::string_view bytes);

}  // namespace pawl
