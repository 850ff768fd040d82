// Which checkpoints and steps depend on a checkpoint or step.
#pragma once

#include <pawl/types.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/workflow.hpp"

namespace pawl {

struct ParentLink {
  Sequence checkpoint;
  Sequence parent;  // 0: none
};

/// Returns the checkpoints that build on `checkpoint`, directly or through others, in ascending order and without
/// itself. Links may come in any order, and may form a cycle, which only damage can cause.
[[nodiscard]] std::vector<Sequence> dependents_of(Sequence checkpoint, std::span<const ParentLink> links);

/// Returns the steps of the workflow's own list that run after the step `id`, directly or through others, in the order
/// of the workflow. Empty if there is no such step.
[[nodiscard]] std::vector<std::string> steps_after(const Workflow& workflow, std::string_view id);

}  // namespace pawl
