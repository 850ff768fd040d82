// The files that a user names on the command line, and the standard streams. Not the files of the store.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "ports/result_file.hpp"

namespace pawl {

/// Reads at most `bytes_max` bytes. Fails with input_unreadable or state_too_large.
[[nodiscard]] Result<std::string> read_local_file(const std::string& path, std::uint64_t bytes_max);

/// The same, but fails if it is not a regular file: a pipe in the place of a file would block for ever.
[[nodiscard]] Result<std::string> read_regular_file(const std::string& path, std::uint64_t bytes_max);

/// Where a result with a given path goes. Everything that a command writes for a user is placed by find_result_place.
struct ResultPlace {
  enum class Kind : std::uint8_t {
    replaced,    // a regular or missing file: replaced as a whole
    written_to,  // anything else, such as a terminal, a pipe or /dev/null
  };
  Kind kind = Kind::replaced;
  std::string folder = {};                // absolute, without links; empty if it is written to
  std::string name = {};                  // the same
  std::optional<unsigned int> mode = {};  // permissions of the file that is replaced
};
/// Follows symbolic links. Fails with usage if it is a folder, or with write_failed if its folder can't be opened.
[[nodiscard]] Result<ResultPlace> find_result_place(const std::string& path);

/// Creates a file for a result. A regular or missing file is replaced atomically, in the folder that a symbolic link
/// leads to. The file is durable once it is finished. The temporary file is removed if a signal ends the process.
[[nodiscard]] Result<std::unique_ptr<ResultFile>> create_result_file(const std::string& path);

/// Writes the bytes to such a file.
[[nodiscard]] Result<void> write_local_file(const std::string& path, std::string_view bytes);

/// Writes everything to an open descriptor. Returns 0 or an errno.
[[nodiscard]] int write_fully(int fd, std::string_view bytes);

}  // namespace pawl
