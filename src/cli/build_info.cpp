#include "cli/build_info.hpp"

#include <fmt/ranges.h>

#include "cli/json_out.hpp"
#include "cli/text.hpp"

namespace pawl::cli {
namespace {

std::string list_text(const std::vector<std::string>& words) {
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

std::string list_json(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += fmt::format("{}\"{}\"", out.empty() ? "" : ",", word);
  return "[" + out + "]";
}

}  // namespace

std::string version_text(const std::string& version, const BuildInfo& build) {
  std::string out = fmt::format("pawl {}\n", version);
  const auto line = [&out](std::string_view name, std::string_view value) {
    if (!value.empty()) out += fmt::format("{:<13}{}\n", fmt::format("{}:", name), value);
  };
  line("commit", build.date.empty() ? build.commit : fmt::format("{} ({})", build.commit, build.date));
  line("build", build.build_type);
  line("compiler", build.compiler);
  line("platform", build.platform);
  for (const auto& [kind, words] : build.features) line(kind, list_text(words));
  return out;
}

std::string version_json(const std::string& version, const BuildInfo& build) {
  JsonObject features;
  for (const auto& [kind, words] : build.features) features.raw(kind, list_json(words));
  return JsonObject()
      .text("version", version)
      .text("commit", build.commit)
      .text("date", build.date)
      .text("build_type", build.build_type)
      .text("compiler", build.compiler)
      .text("platform", build.platform)
      .raw("features", features.done())
      .done();
}

}  // namespace pawl::cli
