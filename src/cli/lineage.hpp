// Forks, for people and programs: what a run goes on from, and what goes on from it.
#pragma once

#include "cli/json_out.hpp"
#include "ports/store.hpp"

namespace pawl::cli {

/// Of a run that is a fork. Where the run's file can't be read, the UUID stands for the name.
struct Origin {
  std::string run;
  std::string uuid;
  Sequence at = {};
};
[[nodiscard]] Origin origin_of(Store& store, const RunInfo& run);

/// `{"run":...,"uuid":...,"sequence":...}`
[[nodiscard]] std::string fork_json(const Origin& origin);
/// `notes-k3f9@4`
[[nodiscard]] std::string fork_text(const Origin& origin);
/// `notes-b2x8 (from 4), ...`; empty where there are none, why not where they can't be known.
[[nodiscard]] std::string forks_text(Store& store, const RunInfo& run);
/// Adds `fork_of` (null where the run is no fork) and `forks`.
void add_lineage(JsonObject& document, Store& store, const RunInfo& run);

}  // namespace pawl::cli
