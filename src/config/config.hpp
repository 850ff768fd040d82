// The effective settings, and the origin of each. Later ones override earlier ones: defaults, the file of the user, the
// file of the store, environment variables.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "config/keys.hpp"

namespace pawl {

inline constexpr std::uint64_t kConfigBytesMax = 64ULL << 10;

/// The origin of a setting. `where` is `FILE:LINE` or the name of a variable, and empty for a default.
struct ConfigOrigin {
  enum class Kind : std::uint8_t { built_in, user_file, store_file, variable };
  Kind kind = Kind::built_in;
  std::string where = {};
};

struct Config {
  Settings settings = {};
  std::vector<ConfigOrigin> origins = std::vector<ConfigOrigin>(config_keys().size());  // in the order of config_keys()

  /// Returns the origin of a setting for messages: `FILE:2`, `$PAWL_X` or `the default`.
  [[nodiscard]] std::string origin(std::string_view section, std::string_view name) const;
};

enum class ConfigPlace : std::uint8_t { user, store };

/// Applies the settings in `text` to `config`. Fails with invalid_config, with the place in `file`; the message lists
/// all errors, one per line. `config` is then unchanged.
[[nodiscard]] Result<void> apply_config(Config& config, std::string_view text, const std::string& file,
                                        ConfigPlace place);

/// The same for variables of the form NAME=value. Ignores variables whose name does not begin with PAWL_ and a section.
/// One that does but is not a setting is an error.
[[nodiscard]] Result<void> apply_variables(Config& config, const std::vector<std::string>& variables);

/// How settings are read.
struct ConfigWorld {
  /// Fails with input_unreadable and ENOENT if the file does not exist.
  std::function<Result<std::string>(const std::string& path, std::uint64_t bytes_max)> read_file = {};
  std::function<std::optional<std::string>(const std::string& name)> environment = {};
  /// Returns whether the file exists, as far as this user can see. If the function is not set, a file that can't be
  /// opened counts as existing.
  std::function<bool(const std::string& path)> sees = {};
  std::vector<std::string> variables = {};  // NAME=value, all of them
};

/// Returns $XDG_CONFIG_HOME/pawl/config.yaml or ~/.config/pawl/config.yaml, or an empty text if there is no home
/// directory.
[[nodiscard]] std::string user_config_path(const ConfigWorld& world);
/// Returns the config.yaml of the store with this URI, or an empty text if the store has no folder.
[[nodiscard]] std::string store_config_path(std::string_view store_uri);

/// Returns the URI of the default store: `checkpoint.storage_path`, or ./.pawl.
[[nodiscard]] std::string configured_store(const Settings& settings, const ConfigWorld& world);

/// Loads the settings without the file of the store, to find out which store is used.
[[nodiscard]] Result<Config> load_user_config(const ConfigWorld& world);
/// Loads all settings. Missing files are fine. Unreadable ones fail with invalid_config, except the file of the user if
/// its folder is not accessible to this user.
[[nodiscard]] Result<Config> load_config(const ConfigWorld& world, std::string_view store_uri);

}  // namespace pawl
