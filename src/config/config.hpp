// The settings that are in force, and where each came from. Later ones win: built-in values, the user's file, the
// store's file, environment variables.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "config/keys.hpp"

namespace pawl {

inline constexpr std::uint64_t kConfigBytesMax = 64ULL << 10;

/// A setting's origin. `where`: `FILE:LINE`, or a variable's name; empty for a built-in value.
struct ConfigOrigin {
  enum class Kind : std::uint8_t { built_in, user_file, store_file, variable };
  Kind kind = Kind::built_in;
  std::string where = {};
};

struct Config {
  Settings settings = {};
  std::vector<ConfigOrigin> origins = std::vector<ConfigOrigin>(config_keys().size());  // as config_keys()

  /// Of the setting with this name in this section, for messages: `FILE:2`, `$PAWL_X` or `the built-in value`.
  [[nodiscard]] std::string origin(std::string_view section, std::string_view name) const;
};

enum class ConfigPlace : std::uint8_t { user, store };

/// Puts what stands in `text` over `config`. Fails with invalid_config, with the place in `file`; the message lists
/// all faults, a line each. Then `config` is unchanged.
[[nodiscard]] Result<void> apply_config(Config& config, std::string_view text, const std::string& file,
                                        ConfigPlace place);

/// The same for variables of the form NAME=value. Those whose name does not begin with PAWL_ and a section are
/// left alone; one that does and names no setting is an error.
[[nodiscard]] Result<void> apply_variables(Config& config, const std::vector<std::string>& variables);

/// What loading reaches of the world.
struct ConfigWorld {
  /// input_unreadable with ENOENT where there is none.
  std::function<Result<std::string>(const std::string& path, std::uint64_t bytes_max)> read_file = {};
  std::function<std::optional<std::string>(const std::string& name)> environment = {};
  /// Whether there is such a file, as far as this user can see. Empty: one that can't be opened is there.
  std::function<bool(const std::string& path)> sees = {};
  std::vector<std::string> variables = {};  // NAME=value, all of them
};

/// $XDG_CONFIG_HOME/pawl/config.yaml, or that in ~/.config; empty where there is no home.
[[nodiscard]] std::string user_config_path(const ConfigWorld& world);
/// The config.yaml of the store with this URI; empty where it has no folder.
[[nodiscard]] std::string store_config_path(std::string_view store_uri);

/// The URI of the store that is meant where nobody names one: `checkpoint.storage_path`, else ./.pawl.
[[nodiscard]] std::string configured_store(const Settings& settings, const ConfigWorld& world);

/// Without the store's file: it tells which store is meant.
[[nodiscard]] Result<Config> load_user_config(const ConfigWorld& world);
/// All of it. Missing files are fine; unreadable ones are invalid_config, but for a user's file in a home that is not
/// this user's to look into.
[[nodiscard]] Result<Config> load_config(const ConfigWorld& world, std::string_view store_uri);

}  // namespace pawl
