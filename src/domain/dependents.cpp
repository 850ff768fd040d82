#include "domain/dependents.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace pawl {

std::vector<Sequence> dependents_of(Sequence checkpoint, std::span<const ParentLink> links) {
  std::vector<ParentLink> by_parent(links.begin(), links.end());
  std::sort(by_parent.begin(), by_parent.end(),
            [](const ParentLink& a, const ParentLink& b) { return a.parent < b.parent; });
  std::set<Sequence> found;
  std::vector<Sequence> pending{checkpoint};
  while (!pending.empty()) {
    const Sequence parent = pending.back();
    pending.pop_back();
    auto link = std::lower_bound(by_parent.begin(), by_parent.end(), parent,
                                 [](const ParentLink& l, Sequence p) { return l.parent < p; });
    for (; link != by_parent.end() && link->parent == parent; ++link) {
      if (link->checkpoint != checkpoint && found.insert(link->checkpoint).second) pending.push_back(link->checkpoint);
    }
  }
  return {found.begin(), found.end()};
}

std::vector<std::string> steps_after(const Workflow& workflow, std::string_view id) {
  const auto& steps = workflow.steps;
  std::vector<bool> depends(steps.size(), false);
  const auto waits_for_one = [&](const Step& step) {
    return std::ranges::any_of(step.after,
                               [&](std::size_t before) { return depends[before] || steps[before].id == id; });
  };
  // The list of a workflow is not always in the order of execution, so this repeats until nothing is added.
  for (bool added = true; std::exchange(added, false);) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!depends[i] && steps[i].id != id && waits_for_one(steps[i])) added = depends[i] = true;
    }
  }
  std::vector<std::string> found;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (depends[i]) found.push_back(steps[i].id);
  }
  return found;
}

}  // namespace pawl
