// Which store a command uses if none is named.
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

/// Facts about a folder for the search for a store.
struct FolderFacts {
  std::uint64_t device = 0;  // of the filesystem
  std::uint64_t mount = 0;   // id of the mount; differs for a bind mount. 0: unknown
  bool is_mine = false;      // it belongs to the current user
  bool is_home = false;      // it is the user's home folder
  bool has_store = false;    // it contains a folder .pawl, or a link of that name that leads nowhere
};
using LookAtFolder = std::function<std::optional<FolderFacts>(const std::string& folder)>;

/// Returns ./.pawl of the working directory, otherwise the nearest one in a parent folder. The search ends with the
/// home folder (which is still examined), at a mount point, and before a folder of another user. `folder` is absolute.
[[nodiscard]] StorePlace find_store(const std::string& folder, const LookAtFolder& look);

/// "in a parent folder", "from PAWL_STORE": for people.
[[nodiscard]] std::string store_origin_text(StoreOrigin origin);

}  // namespace pawl::cli
