#include "domain/store_uri.hpp"

namespace pawl {

std::optional<std::string> folder_of_store(std::string_view uri) {
  if (uri == kMemoryStore) return std::nullopt;
  for (const std::string_view prefix : {"file://", "file:"}) {
    if (uri.starts_with(prefix)) {
      uri.remove_prefix(prefix.size());
      break;
    }
  }
  if (uri.empty() || uri.find("://") != std::string_view::npos) return std::nullopt;
  return std::string(uri);
}

Result<std::string> require_store_folder(std::string_view uri) {
  if (std::optional<std::string> folder = folder_of_store(uri)) return std::move(*folder);
  std::string message = "the name of the store is empty";
  if (uri == kMemoryStore)
    message = "a store in memory has no folder";
  else if (!uri.empty())
    message = fmt::format("unknown kind of store: '{}'", uri);
  return fail(Error{Code::usage, std::move(message), {}, "name a folder: --store ./.pawl", 0});
}

}  // namespace pawl
