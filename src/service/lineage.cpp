#include "service/lineage.hpp"

namespace pawl {

Origin origin_of(Store& store, const RunInfo& run) {
  const auto origin = store.origin_of(run.id);
  if (origin && *origin) return {(*origin)->run.text(), (*origin)->uuid.text(), (*origin)->at};
  const std::string uuid = run.fork_of_run ? run.fork_of_run->text() : std::string();
  return {uuid, uuid, run.fork_of_sequence};
}

Lineage lineage_of(Store& store, const RunInfo& run) {
  Lineage lineage{.forks = store.forks_of(run.id)};
  if (run.fork_of_run) lineage.fork_of = origin_of(store, run);
  return lineage;
}

}  // namespace pawl
