// Every setting, once: its names, its type and bounds, what it does, and its place in Settings. Files, environment,
// `pawl config` and docs/configuration.md follow from this table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "domain/settings.hpp"

namespace pawl {

enum class ConfigType : std::uint8_t {
  boolean,       // true or false
  whole,         // a whole number
  whole_or_all,  // a whole number, or `all`
  size,          // 512MB; a bare number counts the name's units
  duration,      // 24h; the same
  word,          // one of some
  text,          // not empty
  texts,         // a list of texts, or one
};

struct ConfigName {
  std::string_view name;
  std::uint64_t unit = 0;  // what a bare number counts, in bytes or milliseconds; 0: a unit must be written
};

enum class ConfigScope : std::uint8_t {
  anywhere,
  outside_the_store,  // not in the store's own file
};

/// Values travel as JSON: a boolean, a number (sizes in bytes, durations in milliseconds), a text, or a list of
/// texts; null is `all`.
struct ConfigKey {
  std::string_view section;
  std::vector<ConfigName> names;  // the first is shown; all are read
  ConfigType type = ConfigType::text;
  std::uint64_t lowest = 0;
  std::uint64_t highest = UINT64_MAX;
  std::vector<std::string_view> words = {};
  std::string_view about;
  ConfigScope scope = ConfigScope::anywhere;
  Json (*get)(const Settings& settings) = nullptr;
  void (*set)(Settings& settings, const Json& value) = nullptr;

  /// `checkpoint.retention_days`
  [[nodiscard]] std::string full_name() const;
};

struct ConfigSection {
  std::string_view name;
  std::string_view long_name;  // `checkpoint_config`; empty where there is none
};

[[nodiscard]] std::span<const ConfigSection> config_sections();
[[nodiscard]] const std::vector<ConfigKey>& config_keys();

/// The key of this section with this name, and the name; null where there is none.
struct FoundKey {
  const ConfigKey* key = nullptr;
  std::size_t index = 0;  // in config_keys()
  ConfigName name = {};
};
[[nodiscard]] FoundKey find_key(std::string_view section, std::string_view name);
/// `checkpoint`, of `checkpoint` or `checkpoint_config`; empty where there is none.
[[nodiscard]] std::string_view find_section(std::string_view name);
/// All names of a section's keys.
[[nodiscard]] std::vector<std::string> names_in(std::string_view section);

/// The value as one would write it under the key's first name: a number where that has a unit and the value is
/// whole in it, else `500KB`, `24h`, a boolean, a number, a text, a list.
[[nodiscard]] Json written_value(const ConfigKey& key, const Json& value);

}  // namespace pawl
