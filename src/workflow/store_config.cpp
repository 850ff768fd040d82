#include "workflow/store_config.hpp"

#include <yaml-cpp/yaml.h>

namespace pawl {
namespace {

std::unexpected<Error> wrong(const YAML::Mark& mark, const std::string& file, std::string_view what) {
  return fail(Error{Code::invalid_workflow, std::string(what), fmt::format("{}:{}:{}", file, mark.line + 1, mark.column + 1),
                    "recovery: { auto: true, max_attempts: 3, within: 24h }", 0});
}

Result<RecoverySettings> parse_recovery(const YAML::Node& node, const std::string& file) {
  RecoverySettings settings;
  if (!node.IsMap()) return wrong(node.Mark(), file, "`recovery` is a map");
  for (const auto& entry : node) {
    const auto key = entry.first.as<std::string>();
    const YAML::Node& value = entry.second;
    if (key == "auto" || key == "auto_recovery") {
      settings.automatic = value.as<bool>();
    } else if (key == "max_attempts" || key == "max_recovery_attempts") {
      settings.attempts_max = value.as<std::uint32_t>();
    } else if (key == "within") {
      const auto duration = parse_duration(value.as<std::string>());
      if (!duration) return wrong(value.Mark(), file, "`within` is a duration, such as 24h");
      settings.within = *duration;
    } else {
      return wrong(entry.first.Mark(), file, fmt::format("`recovery` has no key '{}'", key));
    }
  }
  return settings;
}

}  // namespace

Result<StoreConfig> parse_store_config(std::string_view text, const std::string& file) {
  StoreConfig config;
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    if (root.IsNull()) return config;
    if (!root.IsMap()) return wrong(root.Mark(), file, "the settings are a map");
    for (const auto& entry : root) {
      // Other settings belong to other parts of Pawl.
      if (entry.first.as<std::string>() == "recovery") {
        PAWL_TRY_ASSIGN(config.recovery, parse_recovery(entry.second, file));
      }
    }
  } catch (const YAML::Exception& error) {
    return wrong(error.mark, file, error.msg);
  }
  return config;
}

}  // namespace pawl
