// Forks, for people and programs.
#pragma once

#include "cli/json_out.hpp"
#include "service/lineage.hpp"

namespace pawl::cli {

/// `{"run":...,"uuid":...,"sequence":...}`
[[nodiscard]] std::string fork_json(const Origin& origin);
/// `notes-k3f9@4`
[[nodiscard]] std::string fork_text(const Origin& origin);
/// `notes-b2x8 (from 4), ...`; empty if there are none; the reason if they are not known.
[[nodiscard]] std::string forks_text(const Lineage& lineage);
/// Adds `fork_of` (null if the run is not a fork) and `forks` (null if they are not known).
void add_lineage(JsonObject& document, const Lineage& lineage);

}  // namespace pawl::cli
