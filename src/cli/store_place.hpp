// Which store a command works with, if nobody names one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace pawl::cli {

enum class StoreOrigin : std::uint8_t {
  option,    // --store
  variable,  // PAWL_STORE
  setting,   // checkpoint.storage_path
  here,      // ./.pawl
  above,     // .pawl in a parent folder
  none,      // ./.pawl, which does not exist yet
};

struct StorePlace {
  std::string uri = {};
  StoreOrigin origin = StoreOrigin::none;
};

/// What the search for a store has to know of a folder.
struct FolderFacts {
  std::uint64_t device = 0;  // of the filesystem
  bool is_mine = false;      // it belongs to the user of this process
  bool is_home = false;      // it is the user's home folder
  bool has_store = false;    // it has a folder .pawl
};
using LookAtFolder = std::function<std::optional<FolderFacts>(const std::string& folder)>;

/// ./.pawl of the working folder, else the nearest one in a folder above it. The search ends with the home folder
/// (which is still looked at), at a mount point, and before a folder of another user. `folder` is absolute.
[[nodiscard]] StorePlace find_store(const std::string& folder, const LookAtFolder& look);

/// "in a parent folder", "from PAWL_STORE": for people.
[[nodiscard]] std::string store_origin_text(StoreOrigin origin);

}  // namespace pawl::cli
