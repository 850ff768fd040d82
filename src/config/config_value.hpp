// Converting YAML to the value of a setting.
#pragma once

#include "config/keys.hpp"
#include "yaml/yaml_tree.hpp"

namespace pawl {

/// An error, and what to write instead.
struct ValueFault {
  std::string message;
  std::string hint = {};
};

/// Returns the value as ConfigKey::set takes it.
[[nodiscard]] std::expected<Json, ValueFault> config_value(const ConfigKey& key, const ConfigName& name,
                                                           const YamlNode& node);

}  // namespace pawl
