// Forks: what a run continues from, and what continues from it.
#pragma once

#include <vector>

#include "ports/store.hpp"

namespace pawl {

/// The checkpoint that a fork started from. If the parent run can't be read, its UUID stands in for its name.
struct Origin {
  std::string run;
  std::string uuid;
  Sequence at = {};
};
/// `run` must be a fork.
[[nodiscard]] Origin origin_of(Store& store, const RunInfo& run);

struct Lineage {
  std::optional<Origin> fork_of = {};        // none if the run is not a fork
  Result<std::vector<ForkInfo>> forks = {};  // or why they are not known
};
[[nodiscard]] Lineage lineage_of(Store& store, const RunInfo& run);

}  // namespace pawl
