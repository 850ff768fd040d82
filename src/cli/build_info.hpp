// What this program is: for `pawl --version`, bug reports and the manual.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pawl::cli {

struct BuildInfo {
  std::string commit;  // "unknown" where there was no git; empty in tests
  std::string date;    // of the commit, YYYY-MM-DD
  std::string build_type;
  std::string compiler;
  std::string platform;
  /// What was built in, by kind: {"stores", {"folder", "memory"}}. An empty list is "none".
  std::vector<std::pair<std::string, std::vector<std::string>>> features;
};

/// `pawl 0.1.0`, and a line for each thing that is known; as JSON: one object.
[[nodiscard]] std::string version_text(const std::string& version, const BuildInfo& build);
[[nodiscard]] std::string version_json(const std::string& version, const BuildInfo& build);

}  // namespace pawl::cli
