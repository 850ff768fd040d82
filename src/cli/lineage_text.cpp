#include "cli/lineage_text.hpp"

#include <fmt/ranges.h>

namespace pawl::cli {

std::string fork_json(const Origin& origin) {
  return JsonObject().text("run", origin.run).text("uuid", origin.uuid).number("sequence", origin.at.value).done();
}

std::string fork_text(const Origin& origin) { return fmt::format("{}@{}", origin.run, origin.at.value); }

std::string forks_text(const Lineage& lineage) {
  if (!lineage.forks) return lineage.forks.error().message;
  std::vector<std::string> names;
  for (const ForkInfo& fork : *lineage.forks)
    names.push_back(fmt::format("{} (from {})", fork.run.text(), fork.at.value));
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_lineage(JsonObject& document, const Lineage& lineage) {
  document.raw("fork_of", lineage.fork_of ? fork_json(*lineage.fork_of) : std::string());
  std::vector<std::string> rows;
  if (lineage.forks) {
    for (const ForkInfo& fork : *lineage.forks) rows.push_back(fork_json({fork.run.text(), fork.uuid.text(), fork.at}));
  }
  document.raw("forks", lineage.forks ? json_array(rows) : std::string());
}

}  // namespace pawl::cli
