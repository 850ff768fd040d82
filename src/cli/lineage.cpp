#include "cli/lineage.hpp"

#include "cli/text.hpp"

namespace pawl::cli {

Origin origin_of(Store& store, const RunInfo& run) {
  const auto origin = store.origin_of(run.id);
  if (origin && *origin) return {(*origin)->run.text(), (*origin)->uuid.text(), (*origin)->at};
  const std::string uuid = run.fork_of_run ? run.fork_of_run->text() : std::string();
  return {uuid, uuid, run.fork_of_sequence};
}

std::string fork_json(const Origin& origin) {
  return JsonObject().text("run", origin.run).text("uuid", origin.uuid).number("sequence", origin.at.value).done();
}

std::string fork_text(const Origin& origin) { return fmt::format("{}@{}", origin.run, origin.at.value); }

std::string forks_text(Store& store, const RunInfo& run) {
  const auto forks = store.forks_of(run.id);
  if (!forks) return forks.error().message;
  std::vector<std::string> names;
  for (const ForkInfo& fork : *forks) names.push_back(fmt::format("{} (from {})", fork.run.text(), fork.at.value));
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_lineage(JsonObject& document, Store& store, const RunInfo& run) {
  document.raw("fork_of", run.fork_of_run ? fork_json(origin_of(store, run)) : std::string());
  const auto forks = store.forks_of(run.id);
  std::vector<std::string> rows;
  if (forks) {
    for (const ForkInfo& fork : *forks) rows.push_back(fork_json({fork.run.text(), fork.uuid.text(), fork.at}));
  }
  document.raw("forks", forks ? json_array(rows) : std::string());
}

}  // namespace pawl::cli
