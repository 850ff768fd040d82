// The messages of the YAML parser in words that help someone who writes a workflow.
#pragma once

#include <string_view>

namespace pawl {

struct YamlProblem {
  std::string_view message;
  std::string_view hint;
};

/// `raw` is what yaml-cpp says. A message that is not known is "invalid YAML".
[[nodiscard]] YamlProblem explain_yaml_error(std::string_view raw);

}  // namespace pawl
