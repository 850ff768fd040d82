// Facts about this program for `pawl --version`, bug reports and the manual.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pawl::cli {

struct BuildInfo {
  std::string commit;  // "unknown" if there was no git; empty in tests
  std::string date;    // of the commit, YYYY-MM-DD
  std::string build_type;
  std::string compiler;
  std::string platform;
  /// Built-in features by kind: {"stores", {"folder", "memory"}}. An empty list is shown as "none".
  std::vector<std::pair<std::string, std::vector<std::string>>> features;
};

/// `pawl 0.1.0`, followed by one line for each known fact; as JSON, one object.
[[nodiscard]] std::string version_text(const std::string& version, const BuildInfo& build);
[[nodiscard]] std::string version_json(const std::string& version, const BuildInfo& build);

}  // namespace pawl::cli
