// Forks: the origin of a run, and the runs that were forked from it.
#pragma once

#include <vector>

#include "ports/store.hpp"

namespace pawl {

/// The checkpoint that a fork started from. If the parent run can't be read, its UUID is used instead of its name.
struct Origin {
  std::string run;
  std::string uuid;
  Sequence at = {};
};
/// `run` must be a fork.
[[nodiscard]] Origin origin_of(Store& store, const RunInfo& run);

struct Lineage {
  std::optional<Origin> fork_of = {};        // not set if the run is not a fork
  Result<std::vector<ForkInfo>> forks = {};  // or why they are not known
};
[[nodiscard]] Lineage lineage_of(Store& store, const RunInfo& run);

}  // namespace pawl
