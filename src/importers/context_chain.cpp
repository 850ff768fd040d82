#include "importers/context_chain.hpp"

#include "base/assert.hpp"
#include "domain/execution_context.hpp"

namespace pawl {

std::string ContextChain::state_at(std::size_t index) {
  std::vector<std::size_t> chain{index};  // newest first
  while (last_ != chain.back() && checkpoints_[chain.back()].parent) {
    const std::size_t parent = *checkpoints_[chain.back()].parent;
    PAWL_ASSERT(parent < chain.back());
    chain.push_back(parent);
  }
  std::string state = last_ == chain.back() ? last_state_ : checkpoints_[chain.back()].state;
  if (chain.size() > 1) {
    StateLevels context = levels_of(state);
    for (auto link = chain.rbegin() + 1; link != chain.rend(); ++link)
      context = merge_levels(context, levels_of(checkpoints_[*link].state));
    state = context.to_json();
  }
  last_ = index;
  last_state_ = state;
  return state;
}

}  // namespace pawl
