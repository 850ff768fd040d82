#include "domain/dependents.hpp"

#include <algorithm>
#include <set>

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

}  // namespace pawl
