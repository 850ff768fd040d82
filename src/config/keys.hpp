// The table of all settings: names, type, limits, description and place in Settings. Files, environment variables,
// `pawl config` and docs/configuration.md are based on it.
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
  size,          // 512MB; a number without a unit counts the units of the name
  duration,      // 24h; likewise
  word,          // one of several words
  text,          // not empty
  texts,         // a list of texts, or one text
};

struct ConfigName {
  std::string_view name;
  std::uint64_t unit = 0;  // unit of a number without a unit, in bytes or milliseconds; 0 if a unit is required
};

enum class ConfigScope : std::uint8_t {
  anywhere,
  outside_the_store,  // not in the store's own file
};

/// Values are passed as JSON: a boolean, a number (sizes in bytes, durations in milliseconds), a text, or a list of
/// texts; null is `all`.
struct ConfigKey {
  std::string_view section;
  std::vector<ConfigName> names;  // the first one is displayed; all are accepted
  ConfigType type = ConfigType::text;
  std::uint64_t lowest = 0;
  std::uint64_t highest = UINT64_MAX;
  std::vector<std::string_view> words = {};
  std::string_view about;
  ConfigScope scope = ConfigScope::anywhere;
  Json (*get)(const Settings& settings) = nullptr;
  void (*set)(Settings& settings, const Json& value) = nullptr;

  /// Returns the full name, for example `checkpoint.retention_days`.
  [[nodiscard]] std::string full_name() const;
};

struct ConfigSection {
  std::string_view name;
  std::string_view long_name;  // for example `checkpoint_config`; empty if there is none
};

[[nodiscard]] std::span<const ConfigSection> config_sections();
[[nodiscard]] const std::vector<ConfigKey>& config_keys();

/// Returns the key of this section with this name, and the name. The key is null if there is none.
struct FoundKey {
  const ConfigKey* key = nullptr;
  std::size_t index = 0;  // in config_keys()
  ConfigName name = {};
};
[[nodiscard]] FoundKey find_key(std::string_view section, std::string_view name);
/// Returns `checkpoint` for `checkpoint` or `checkpoint_config`, and an empty text for an unknown section.
[[nodiscard]] std::string_view find_section(std::string_view name);
/// Returns all names of the keys of a section.
[[nodiscard]] std::vector<std::string> names_in(std::string_view section);

/// Returns the value as it would be written under the first name of the key: a plain number if the name has a unit and
/// the value is a multiple of it, otherwise `500KB`, `24h`, a boolean, a number, a text or a list.
[[nodiscard]] Json written_value(const ConfigKey& key, const Json& value);

}  // namespace pawl
