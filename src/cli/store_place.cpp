#include "cli/store_place.hpp"

namespace pawl::cli {
namespace {

constexpr const char* kStoreHere = "./.pawl";

std::string folder_above(const std::string& folder) {
  const std::size_t slash = folder.find_last_of('/');
  return slash == 0 ? "/" : folder.substr(0, slash);
}

}  // namespace

StorePlace find_store(const std::string& folder, const LookAtFolder& look) {
  const auto here = look(folder);
  if (here && here->has_store) return {kStoreHere, StoreOrigin::here};
  std::string at = folder;
  // The folder of another user may contain a store with settings that this user did not choose.
  for (auto facts = here; facts && facts->is_mine && !facts->is_home && at != "/" && at.starts_with('/');) {
    std::string above = folder_above(at);
    const auto next = look(above);
    if (!next || next->device != facts->device || next->mount != facts->mount || !next->is_mine) break;
    if (next->has_store) return {above == "/" ? "/.pawl" : above + "/.pawl", StoreOrigin::above};
    at = std::move(above);
    facts = next;
  }
  return {kStoreHere, StoreOrigin::none};
}

std::string store_origin_text(StoreOrigin origin) {
  switch (origin) {
    case StoreOrigin::option: return "from --store";
    case StoreOrigin::variable: return "from PAWL_STORE";
    case StoreOrigin::setting: return "from checkpoint.storage_path";
    case StoreOrigin::here: return "in the current folder";
    case StoreOrigin::above: return "in a parent folder";
    case StoreOrigin::none: return "not found here or in a parent folder";
  }
  return {};
}

}  // namespace pawl::cli
