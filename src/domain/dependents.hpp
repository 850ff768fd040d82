// Which checkpoints build on a checkpoint.
#pragma once

#include <pawl/types.hpp>
#include <span>
#include <vector>

namespace pawl {

struct ParentLink {
  Sequence checkpoint;
  Sequence parent;  // 0: none
};

/// All that build on `checkpoint`, directly or through others, in ascending order and without itself. Links
/// may come in any order; a cycle, which only damage can make, does no harm.
[[nodiscard]] std::vector<Sequence> dependents_of(Sequence checkpoint, std::span<const ParentLink> links);

}  // namespace pawl
