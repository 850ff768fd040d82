// Files that contain keys: only their owner may read them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

/// What a key file is called in messages.
struct KeyFileNames {
  std::string_view file;       // "key file"
  std::string_view elsewhere;  // how the user names another file, for example "PAWL_KEY_FILE"
};

struct KeyFileText {
  std::string text;
  uid_t owner = 0;
};

/// Reads a key file of at most 4 KiB. Returns nothing if there is none. Fails with invalid_key if it can't be read, is
/// not a regular file, or if its mode lets others than its owner use it.
[[nodiscard]] Result<std::optional<KeyFileText>> read_private_file(const std::string& path, const KeyFileNames& names);

enum class Created : std::uint8_t { no, yes };

/// Creates `path` and missing parent folders; the file is complete and durable when this returns. Returns Created::no
/// and changes nothing if the file exists, also if another process creates it at the same time. Fails with invalid_key.
[[nodiscard]] Result<Created> create_private_file(const std::string& path, std::string_view text, mode_t mode,
                                                  const KeyFileNames& names);

/// Renames a key file and makes that durable. Fails with invalid_key.
[[nodiscard]] Result<void> rename_private_file(const std::string& from, const std::string& to);

/// Returns `$XDG_CONFIG_HOME/pawl`, or `~/.config/pawl`. Fails with key_missing if neither variable is set.
[[nodiscard]] Result<std::string> key_folder(const KeyFileNames& names);

}  // namespace pawl
