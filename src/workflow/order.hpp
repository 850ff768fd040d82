// The order in which the steps of one scope can run.
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

/// The part of a step that determines its order.
struct OrderEntry {
  std::string id;
  Place place;
  std::size_t stage = 0;
  std::optional<std::vector<std::pair<std::string, Place>>> needs;  // not set if the file has no `needs`
  std::optional<std::vector<std::size_t>> fixed_after;              // set if the order is already known
};

/// Which step precedes which, directly or indirectly.
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
  bool acyclic = true;  // if false, layers and precedence are unknown
};

/// Explains an id that is not among the siblings, for example "it is inside 'pages'". Returns an empty text if it does
/// not exist.
using Whereabouts = std::function<std::string(const std::string& id)>;

/// Without `needs`, a step runs after the one above it; in a stage of type parallel or barrier it waits for none. The
/// first steps of a stage run after the last steps of the previous stage.
[[nodiscard]] Order order_steps(const std::vector<OrderEntry>& entries, const std::vector<Stage::Type>& stages,
                                const Whereabouts& elsewhere, Faults& faults);

}  // namespace pawl
