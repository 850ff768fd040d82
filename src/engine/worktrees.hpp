// `isolate: worktree`: each item, or each attempt at a step, works in a git worktree of its own.
//
// A worktree starts at the commit of the working directory when the item starts. Everything inside the item shares it.
// Its changes are committed and merged into the working directory once, at the end of the item, in index order. The
// worktree of a failed item is kept for the dead-letter queue and leaves nothing on the branch.
//
// All git commands are processes of the run: they are killed with it. What a killed one leaves behind (locks, half a
// checkout) is cleaned up by the next one, which knows from a marker in the repository that it was Pawl's.
#pragma once

#include <optional>

#include "engine/run_context.hpp"

namespace pawl {

class Worktrees {
 public:
  using Then = std::function<void(std::optional<std::string> error)>;
  explicit Worktrees(RunContext& context) : context_(context) {}

  /// Returns the folder that attempts of this step work in; empty: the working directory.
  [[nodiscard]] std::string tree_of(const machine::Node& node) const;
  /// Creates the worktree. Resets it, unless a step inside the same item has completed or is running.
  void prepare(const machine::Node& node, Then then);
  /// Commits and merges the changes of a plain step.
  void merge_step(const machine::Node& node, Then then);
  /// Merges the worktrees of these items that are left, one after the other, and reports ItemsMerged.
  void merge_items(const machine::command::MergeItems& command);
  /// Returns whether a git command is running.
  [[nodiscard]] bool busy() const { return running_ > 0; }

 private:
  void run_git(const std::string& about, const std::string& script, const std::string& tree, Then then);
  void commit_and_merge(const std::string& about, const std::string& tree, Isolation how, Then then);
  struct Merging;
  void merge_next(const std::shared_ptr<Merging>& merging);

  RunContext& context_;
  std::size_t running_ = 0;
};

}  // namespace pawl
