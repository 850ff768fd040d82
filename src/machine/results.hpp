// The results of a map, collected from the records of its items.
#pragma once

#include <span>

#include "machine/state.hpp"

namespace pawl::machine {

/// Returns one object for each finished item that still exists, in index order: index, item, status, output, error.
/// `records` are all records of the run that no rollback took back. The newest result of an index counts.
[[nodiscard]] Json results_of(const Node& map, std::span<const Record> records);

/// Returns the output that record `number` contains.
[[nodiscard]] Result<Json> output_in(std::span<const Record> records, std::uint64_t number);

}  // namespace pawl::machine
