// The context of an imported checkpoint: its own state merged into that of its parents, oldest first.
#pragma once

#include <span>
#include <string>

#include "importers/imported.hpp"

namespace pawl {

/// Remembers the last context, so that checkpoints that follow each other are merged once.
class ContextChain {
 public:
  /// `checkpoints` must outlive it. Each `parent` must be less than the index of the checkpoint that has it.
  explicit ContextChain(std::span<const ImportedCheckpoint> checkpoints) : checkpoints_(checkpoints) {}

  /// Returns the state of checkpoint `index` as it has to be saved. Without a parent that is its own state, unchanged.
  [[nodiscard]] std::string state_at(std::size_t index);

 private:
  std::span<const ImportedCheckpoint> checkpoints_;
  std::optional<std::size_t> last_;
  std::string last_state_;
};

}  // namespace pawl
