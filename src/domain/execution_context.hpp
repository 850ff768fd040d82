// The three levels of a checkpoint: the workflow, one of its stages, and one agent (step) of that stage.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/types.hpp>
#include <string>
#include <string_view>

namespace pawl {

enum class Level : std::uint8_t { workflow, stage, agent };
[[nodiscard]] std::string_view to_text(Level level);
/// Also accepts `step` for agent.
[[nodiscard]] std::optional<Level> parse_level(std::string_view text);

/// Returns the level that the checkpoint was saved for: agent if it names a step, stage if it names only a stage.
[[nodiscard]] Level level_of(const CheckpointInfo& checkpoint);

/// The state of each level: a JSON object as text.
struct StateLevels {
  std::string workflow = "{}";
  std::string stage = "{}";
  std::string agent = "{}";
  bool operator==(const StateLevels&) const = default;

  [[nodiscard]] const std::string& at(Level level) const;
  /// Returns {"workflow": ..., "stage": ..., "agent": ...}.
  [[nodiscard]] std::string to_json() const;
};

/// Returns the levels of a state that has them as its members "workflow", "stage" and "agent" (or "step"). A level that
/// is missing or not an object is empty.
[[nodiscard]] StateLevels levels_of(std::string_view state);

/// Returns `base` with the members of `update` set, one level deep. Members keep their place; new ones come last.
/// Unlike in a merge patch, null is a value. Both are valid JSON objects.
[[nodiscard]] std::string merge_members(std::string_view base, std::string_view update);

/// Merges each level with merge_members.
[[nodiscard]] StateLevels merge_levels(const StateLevels& base, const StateLevels& update);

}  // namespace pawl
