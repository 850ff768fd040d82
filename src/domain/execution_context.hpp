// The state of a workflow on its three levels, and how it is rebuilt along a chain of checkpoints.
#pragma once

#include <pawl/types.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pawl {

/// Each level is a JSON object as text.
struct StateLevels {
  std::string workflow = "{}";
  std::string stage = "{}";
  std::string agent = "{}";
  bool operator==(const StateLevels&) const = default;
};

/// The levels of a state that keeps them as its members "workflow", "stage" and "agent" (or "step"); a level
/// that is missing or no object is empty.
[[nodiscard]] StateLevels levels_of(std::string_view state);

/// `base` with the members of `update` set, one level deep. Members keep their place; new ones come last.
/// Unlike in a merge patch, null is a value. Both are valid JSON objects.
[[nodiscard]] std::string merge_members(std::string_view base, std::string_view update);

struct ChainLink {
  Sequence sequence;
  Sequence parent;
  StateLevels levels;
};

/// What a handler is given to resume with.
struct ExecutionContext {
  StateLevels levels;
  std::vector<Sequence> chain;  // oldest first
};

/// Merges the levels of a chain, oldest first. Fails with chain_broken where the first link has a parent,
/// or another one's parent is not the link before it.
[[nodiscard]] Result<ExecutionContext> rebuild_context(std::span<const ChainLink> chain);

}  // namespace pawl
