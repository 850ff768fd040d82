// What of the text of a step its result depends on.
#pragma once

#include <string>

#include "yaml/yaml_tree.hpp"

namespace pawl {

/// Returns the canonical text of a step without the keys that only say how it is executed: its name and description,
/// timeouts, retries, limits, breakpoints, and how many items or iterations there may be at once or at all. A completed
/// step in which only such keys changed stays completed. `whole` is the canonical text of the step.
[[nodiscard]] std::string text_for_result(const YamlNode& step, const std::string& whole);

}  // namespace pawl
