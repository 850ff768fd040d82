// Rewords the messages of the YAML parser for people who write workflows.
#pragma once

#include <string_view>

namespace pawl {

struct YamlProblem {
  std::string_view message;
  std::string_view hint;
};

/// `raw` is the message of yaml-cpp. An unknown message becomes "invalid YAML".
[[nodiscard]] YamlProblem explain_yaml_error(std::string_view raw);

}  // namespace pawl
