// In which order the steps of one scope can run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "domain/workflow.hpp"
#include "yaml/faults.hpp"

namespace pawl {

/// A step as far as its order goes.
struct OrderEntry {
  std::string id;
  Place place;
  std::size_t stage = 0;
  std::optional<std::vector<std::pair<std::string, Place>>> needs;  // not set: none were written
  std::optional<std::vector<std::size_t>> fixed_after;              // set: ordered already
};

/// Who comes before whom, through any number of others.
class Precedence {
 public:
  Precedence() = default;
  explicit Precedence(const std::vector<std::vector<std::size_t>>& after, const std::vector<std::size_t>& sorted);
  [[nodiscard]] bool comes_before(std::size_t first, std::size_t second) const;

 private:
  std::vector<std::vector<std::uint64_t>> before_;  // a bit per step
};

struct Order {
  std::vector<std::vector<std::size_t>> after;
  std::vector<std::vector<std::size_t>> needed;
  std::vector<std::size_t> layer;
  Precedence precedence;
  bool acyclic = true;  // false: layers and precedence are not known
};

/// Explains an id that is not among the siblings: "it is inside of 'pages'"; empty where it is nowhere.
using Whereabouts = std::function<std::string(const std::string& id)>;

/// Without `needs`, a step comes after the one above it (in a stage of type parallel or barrier: after none);
/// the first ones of a stage come after the last ones of the stage before.
[[nodiscard]] Order order_steps(const std::vector<OrderEntry>& entries, const std::vector<Stage::Type>& stages,
                                const Whereabouts& elsewhere, Faults& faults);

}  // namespace pawl
