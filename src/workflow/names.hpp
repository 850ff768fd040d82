// Which names an expression may use at a place in the file, and where those are wrong.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "language/expression.hpp"
#include "workflow/order.hpp"

namespace pawl {

/// The steps of one list, as names.
struct Scope {
  std::vector<std::string> ids;
  std::map<std::string, std::size_t, std::less<>> index;
  std::map<std::string, std::size_t, std::less<>> aliases;
  std::map<std::string, std::string, std::less<>> inner;  // ids deeper inside, and the step around them
  std::optional<Precedence> precedence;                   // not known where the order has a fault
};

/// A scope seen from one of its steps, or from behind all of them.
struct Frame {
  std::shared_ptr<const Scope> scope;
  std::optional<std::size_t> at;                                        // not set: from behind
  enum class Own : std::uint8_t { hidden, visible } own = Own::hidden;  // whether the step itself is done
};

/// Everything that can be seen from a place.
struct View {
  std::vector<Frame> frames;  // the innermost last
  bool in_map = false;
  bool in_loop = false;
  bool in_reduce = false;
  std::shared_ptr<const std::set<std::string, std::less<>>> names;  // Pawl's and the aliases: for templates

  [[nodiscard]] static View of_workflow();
  /// The same with one more frame.
  [[nodiscard]] View inside(Frame frame) const;
  /// The same from another step of the innermost scope.
  [[nodiscard]] View at(std::size_t step) const;
  [[nodiscard]] View with_own() const;
};

/// Adds a fault (unknown_name) where `path` names nothing that is sure to be there.
void check_name(const Path& path, const View& view, const std::vector<std::string>& vars, Place place, Faults& faults);

/// `[A-Za-z_][A-Za-z0-9_]*` of at most 64 characters; `id`s may have dashes as well.
[[nodiscard]] bool is_identifier(std::string_view text);
[[nodiscard]] bool is_step_id(std::string_view text);

}  // namespace pawl
