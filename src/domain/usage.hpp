// What a run and its steps have used, and how much it may use.
#pragma once

#include <cstdint>
#include <optional>

#include "base/json.hpp"

namespace pawl {

/// The sum of what was used.
struct Usage {
  std::uint64_t tokens = 0;
  double usd = 0.0;
  std::uint64_t api_calls = 0;
  void add(const Usage& other);
  /// Returns what `later` has in addition to this.
  [[nodiscard]] Usage until(const Usage& later) const;
  /// For people and programs: with every member, and USD rounded to 1e-9.
  [[nodiscard]] Json document() const;
  bool operator==(const Usage&) const = default;
};

/// The limits of a run with all of its children. A limit that is not set does not exist.
struct Budget {
  std::optional<double> usd;
  std::optional<std::uint64_t> tokens;

  /// Returns the limits after a resume with new ones: {"usd": n, "tokens": n}, each of them optional, or null.
  [[nodiscard]] Budget raised(const Json& limits) const;
  [[nodiscard]] bool usd_reached(const Usage& used) const { return usd && used.usd >= *usd; }
  [[nodiscard]] bool tokens_reached(const Usage& used) const { return tokens && used.tokens >= *tokens; }
  /// Returns whether no further step may start.
  [[nodiscard]] bool reached(const Usage& used) const { return usd_reached(used) || tokens_reached(used); }
  /// For people and programs: both members, null without a limit.
  [[nodiscard]] Json document() const;
  bool operator==(const Budget&) const = default;
};

}  // namespace pawl
