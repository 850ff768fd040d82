// The values of names in expressions: vars, steps, item, index, loop, map, run, env and aliases.
#pragma once

#include "machine/state.hpp"

namespace pawl::machine {

/// `node` may be null, for expressions of the scope itself. Outputs that are not in memory must be loaded first, see
/// missing_outputs().
class StateNames final : public Names {
 public:
  StateNames(const State& state, const Scope& scope, const Node* node) : s_(state), scope_(scope), node_(node) {}
  [[nodiscard]] Result<Json> find(std::span<const PathPart> path) const override;
  [[nodiscard]] bool failed() const override;

 private:
  [[nodiscard]] Result<Json> special(std::string_view name) const;
  const State& s_;
  const Scope& scope_;
  const Node* node_;
};

/// The names of a retry's condition: those of the step, and `error`, `exit_code` and `attempt` of the failed attempt.
class AttemptNames final : public Names {
 public:
  AttemptNames(const Names& names, std::string error, int exit_code, std::uint32_t attempt)
      : names_(names), values_{{"error", std::move(error)}, {"exit_code", exit_code}, {"attempt", attempt}} {}
  [[nodiscard]] Result<Json> find(std::span<const PathPart> path) const override;
  [[nodiscard]] bool failed() const override { return names_.failed(); }

 private:
  const Names& names_;
  const Json values_;
};

/// Returns the expressions' references of a step: its condition, arguments, prompt, items and so on.
[[nodiscard]] std::vector<Expression::Reference> references_of(const Step& step);
/// Returns the nodes whose outputs these references need and that are not in memory.
[[nodiscard]] std::vector<NodeId> missing_outputs(const State& s, const Scope& scope,
                                                  std::span<const Expression::Reference> references);
/// Returns the output if it is in memory.
[[nodiscard]] Result<Json> output_of(const Node& node);
[[nodiscard]] bool needs_loading(const Node& node);
/// Returns what identifies a result in the cache of a store: the key, and the definition of the step, so that a changed
/// step does not use an old result.
[[nodiscard]] std::string cache_key(const Step& step, const std::string& key);
/// Returns its hash, as engine/cached_results.hpp makes it.
[[nodiscard]] std::string cache_hash(const Step& step, const std::string& key);

}  // namespace pawl::machine
