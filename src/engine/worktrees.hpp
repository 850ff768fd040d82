// `isolate: worktree`: each item, or each attempt at a step, works in a git worktree of its own.
//
// A worktree starts at the commit of the working directory when the item starts. Everything inside the item shares it.
// Its changes are committed and merged into the working directory once, at the end of the item, in index order. The
// worktree of a failed item is kept for the dead-letter queue and leaves nothing on the branch.
//
// With `merge: manual`, the changes are not merged. They are kept as the branch `pawl/RUN/ITEM`, which an event names.
//
// All git commands are processes of the run: they are killed with it. What a killed one leaves behind (locks, half a
// checkout) is cleaned up by the next one, which knows from a marker in the repository that it was Pawl's.
#pragma once

#include <map>
#include <optional>

#include "engine/run_recorder.hpp"

namespace pawl {

class Worktrees {
 public:
  /// Why a git command failed. `machine`: it was killed, or the disk is full.
  struct Trouble {
    std::string error;
    bool machine = false;
  };
  using Then = std::function<void(std::optional<Trouble> trouble)>;
  Worktrees(RunContext& context, RunRecorder& recorder) : context_(context), recorder_(recorder) {}

  /// Returns the folder that attempts of this step work in; empty: the working directory.
  [[nodiscard]] std::string tree_of(const machine::Node& node) const;
  /// Returns whether the step works in the worktree of an item.
  [[nodiscard]] bool shares_tree(const machine::Node& node) const;
  /// Creates the worktree, or resets it to what the completed steps of the item have left. A worktree in which another
  /// step runs is left as it is.
  void prepare(const machine::Node& node, Then then);
  /// Remembers what a completed step has left in the worktree of its item.
  void keep_changes(const machine::Node& node, Then then);
  /// Commits the changes of a plain step, and merges them or keeps them as a branch.
  void merge_step(const machine::Node& node, Then then);
  /// Does the same for the worktrees of completed items that are left, one after the other, and reports ItemsMerged.
  void merge_items(const machine::command::MergeItems& command);
  /// Returns whether a git command is running.
  [[nodiscard]] bool busy() const { return running_ > 0; }

 private:
  void run_git(const std::string& about, const std::string& script, const std::string& tree, Then then);
  [[nodiscard]] std::string folder_of(const std::string& item) const;
  [[nodiscard]] std::string branch_of(const std::string& item) const;
  void merge(const machine::Node& node, const std::string& item, Then then);
  void tell_branches(const machine::Node& node, const std::vector<std::string>& items);
  [[nodiscard]] bool is_trouble_of_machine(const ProcessEnd& end) const;
  struct Merging;
  void merge_next(const std::shared_ptr<Merging>& merging);

  RunContext& context_;
  RunRecorder& recorder_;
  std::map<std::string, std::vector<Then>> preparing_;  // who waits for a worktree, by folder
  std::size_t running_ = 0;
};

}  // namespace pawl
