// From what was written to a value of a key's type.
#pragma once

#include "config/keys.hpp"
#include "yaml/yaml_tree.hpp"

namespace pawl {

/// What is wrong, and what to write instead.
struct ValueFault {
  std::string message;
  std::string hint = {};
};

/// The value as ConfigKey::set takes it.
[[nodiscard]] std::expected<Json, ValueFault> config_value(const ConfigKey& key, const ConfigName& name,
                                                           const YamlNode& node);

}  // namespace pawl
