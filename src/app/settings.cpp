#include "app/settings.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "app/local_files.hpp"

namespace pawl {

Result<Config> load_settings(std::string_view store_uri) {
  ConfigWorld world{.read_file = read_regular_file};
  world.environment = [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  world.sees = [](const std::string& path) {
    std::error_code unseen;
    return std::filesystem::exists(path, unseen);
  };
  for (char** entry = environ; *entry != nullptr; ++entry) world.variables.emplace_back(*entry);
  return load_config(world, store_uri);
}

}  // namespace pawl
