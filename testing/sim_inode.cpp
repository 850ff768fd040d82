#include "testing/sim_inode.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

namespace pawl::testing {
namespace {

using Changes = std::vector<SimNameChange>;

void set_name(SimNames::Names& names, const std::string& name, const SimInodePtr& inode) {
  if (inode == nullptr) {
    names.erase(name);
  } else {
    names[name] = inode;
  }
}

/// Returns how many of the changes must be applied to include the one with this id. Returns 0 if it is not pending any
/// more, because it was synced or dropped by a failed sync.
std::size_t count_through(const Changes& changes, std::uint64_t id) {
  const auto found = std::ranges::find(changes, id, &SimNameChange::id);
  return found == changes.end() ? 0 : static_cast<std::size_t>(found - changes.begin()) + 1;
}

/// Applies the first `count` changes of a name to the disk, and those that they depend on.
void apply_changes(SimInode& folder, const std::string& name, std::size_t count) {
  const auto entry = folder.names.pending.find(name);
  if (entry == folder.names.pending.end() || count == 0) return;
  Changes& changes = entry->second;
  const auto end = changes.begin() + static_cast<std::ptrdiff_t>(count);
  const Changes applied(std::make_move_iterator(changes.begin()), std::make_move_iterator(end));
  changes.erase(changes.begin(), end);
  if (changes.empty()) folder.names.pending.erase(entry);
  set_name(folder.names.durable, name, applied.back().now);
  for (const SimNameChange& change : applied) {
    const SimInodePtr other = change.need.id == 0 ? nullptr : change.need.folder.lock();
    if (other == nullptr) continue;
    const auto needed = other->names.pending.find(change.need.name);
    if (needed == other->names.pending.end()) continue;
    apply_changes(*other, change.need.name, count_through(needed->second, change.need.id));
  }
}

/// Visits every inode that is reachable now, on the disk, or through an unsynced change.
void visit(SimInode& inode, std::unordered_set<SimInode*>& seen, const std::function<void(SimInode&)>& action) {
  if (!seen.insert(&inode).second) return;
  std::vector<SimInodePtr> children;
  for (const auto& [name, child] : inode.names.cached) children.push_back(child);
  for (const auto& [name, child] : inode.names.durable) children.push_back(child);
  for (const auto& [name, changes] : inode.names.pending) {
    for (const SimNameChange& change : changes) {
      if (change.now != nullptr) children.push_back(change.now);
    }
  }
  for (const SimInodePtr& child : children) visit(*child, seen, action);
  action(inode);
}

void visit_all(SimInode& root, const std::function<void(SimInode&)>& action) {
  std::unordered_set<SimInode*> seen;
  visit(root, seen, action);
}

/// The number of unsynced changes that survive, for each folder and name.
using Choice = std::map<std::pair<SimInode*, std::string>, std::size_t>;

void choose_names(SimInode& folder, SeededRandom& random, Choice& choice) {
  const std::uint64_t style = random.below(4);  // 0: none; 1: all; 2, 3: each name independently
  for (const auto& [name, changes] : folder.names.pending) {
    std::size_t kept = style == 0 ? 0 : changes.size();
    if (style >= 2) kept = static_cast<std::size_t>(random.below(changes.size() + 1));
    choice[{&folder, name}] = kept;
  }
}

/// Raises the choices that the chosen changes of one name depend on. Returns whether any was raised.
bool raise_needed(SimInode& folder, const std::string& name, std::size_t kept, Choice& choice) {
  bool raised = false;
  const Changes& changes = folder.names.pending.at(name);
  for (std::size_t i = 0; i < kept; ++i) {
    const SimNameChange::Need& need = changes[i].need;
    const SimInodePtr other = need.id == 0 ? nullptr : need.folder.lock();
    const auto entry = other == nullptr ? choice.end() : choice.find({other.get(), need.name});
    if (entry == choice.end()) continue;
    const std::size_t least = count_through(other->names.pending.at(need.name), need.id);
    raised = raised || entry->second < least;
    entry->second = std::max(entry->second, least);
  }
  return raised;
}

Choice choose_consistently(SimInode& root, SeededRandom& random) {
  Choice choice;
  visit_all(root, [&](SimInode& inode) { choose_names(inode, random, choice); });
  for (bool raised = true; raised;) {
    raised = false;
    for (const auto& [place, kept] : choice) raised = raise_needed(*place.first, place.second, kept, choice) || raised;
  }
  return choice;
}

void apply_choice(const Choice& choice) {
  for (const auto& [place, kept] : choice) {
    SimNames& names = place.first->names;
    if (kept > 0) set_name(names.durable, place.second, names.pending.at(place.second)[kept - 1].now);
  }
}

}  // namespace

SimInodePtr SimNames::find(std::string_view name) const {
  const auto entry = cached.find(name);
  return entry == cached.end() ? nullptr : entry->second;
}

void SimNames::change(const std::string& name, SimNameChange change) {
  set_name(cached, name, change.now);
  pending[name].push_back(std::move(change));
}

void sync_names(SimInode& folder) {
  while (!folder.names.pending.empty()) {
    const auto first = folder.names.pending.begin();
    const std::string name = first->first;  // a copy, because the entry is erased
    apply_changes(folder, name, first->second.size());
  }
}

void sync_tree(SimInode& root) {
  visit_all(root, [](SimInode& inode) {
    inode.content.sync();
    sync_names(inode);
  });
}

void fail_sync_tree(SimInode& root, SeededRandom& random) {
  visit_all(root, [&](SimInode& inode) { inode.content.fail_sync(random); });
}

void lose_tree(const SimInodePtr& root, Loss loss, SeededRandom& random) {
  // Kept alive until the end: an inode, even a folder, may lose its last name here.
  std::vector<SimInodePtr> before;
  visit_all(*root, [&](SimInode& inode) { before.push_back(inode.shared_from_this()); });
  if (loss == Loss::random) apply_choice(choose_consistently(*root, random));
  std::vector<SimInodePtr> all;
  visit_all(*root, [&](SimInode& inode) { all.push_back(inode.shared_from_this()); });
  if (loss == Loss::keep_all) {
    for (const SimInodePtr& inode : all) sync_names(*inode);
  }
  for (const SimInodePtr& inode : all) {
    inode->content.lose(loss, random);
    inode->names.pending.clear();
    inode->names.cached = inode->names.durable;
  }
}

namespace {

class Copier {
 public:
  SimInodePtr copy(const SimInode& from) {
    if (const auto known = copies_.find(&from); known != copies_.end()) return known->second;
    auto to = std::make_shared<SimInode>(from.is_folder);
    to->id = from.id;
    copies_.emplace(&from, to);
    to->content = from.content;
    for (const auto& [name, child] : from.names.cached) to->names.cached.emplace(name, copy(*child));
    for (const auto& [name, child] : from.names.durable) to->names.durable.emplace(name, copy(*child));
    for (const auto& [name, changes] : from.names.pending) {
      for (const SimNameChange& change : changes) to->names.pending[name].push_back(copy(change));
    }
    return to;
  }

 private:
  SimNameChange copy(const SimNameChange& from) {
    SimNameChange to{from.id, from.now == nullptr ? nullptr : copy(*from.now), from.need};
    if (const SimInodePtr folder = from.need.folder.lock()) to.need.folder = copy(*folder);
    return to;
  }

  std::unordered_map<const SimInode*, SimInodePtr> copies_;
};

}  // namespace

SimInodePtr copy_tree(const SimInode& root) {
  // The copier keeps every copy alive until all weak references are in place.
  Copier copier;
  return copier.copy(root);
}

}  // namespace pawl::testing
