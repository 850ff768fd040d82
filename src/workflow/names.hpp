// Which names an expression may use at a place in the file.
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

/// The names of the steps of one list.
struct Scope {
  std::vector<std::string> ids;
  std::map<std::string, std::size_t, std::less<>> index;
  std::map<std::string, std::size_t, std::less<>> aliases;
  std::set<std::string, std::less<>> silent;              // ids of commands without an output
  std::map<std::string, std::string, std::less<>> inner;  // ids of nested steps, and the step that contains them
  std::optional<Precedence> precedence;                   // not set if the order has an error
};

/// A scope as seen from one of its steps, or from after all of them.
struct Frame {
  std::shared_ptr<const Scope> scope;
  std::optional<std::size_t> at;                                        // not set: from after all steps
  enum class Own : std::uint8_t { hidden, visible } own = Own::hidden;  // whether the step itself has finished
};

/// All names that are visible at a place.
struct View {
  std::vector<Frame> frames;  // innermost last
  // Indices of the frames of the innermost map, loop and reduce step around the place.
  std::optional<std::size_t> map_frame = {};
  std::optional<std::size_t> loop_frame = {};
  std::optional<std::size_t> reduce_frame = {};
  bool is_item = false;   // in the list of a map itself, not in a loop inside it
  bool in_retry = false;  // in the condition of a retry, which knows the attempt
  std::shared_ptr<const std::set<std::string, std::less<>>> names;  // reserved names and aliases, for templates
  std::vector<std::string> uses = {};                               // limits of everything around the place
  // Inside a template:
  std::shared_ptr<const Inputs> inputs = {};
  std::shared_ptr<const View> use = {};  // from the step that uses it
  std::string inputs_text = {};          // canonical

  [[nodiscard]] static View of_workflow();
  /// Returns the same view with one more frame.
  [[nodiscard]] View inside(Frame frame) const;
  /// Returns the same view from another step of the innermost scope.
  [[nodiscard]] View at(std::size_t step) const;
  [[nodiscard]] View with_own() const;
  // The same view for the list of steps of a map, a loop or a reduce step, whose frame comes next.
  [[nodiscard]] View in_map() const;
  [[nodiscard]] View in_loop() const;
  [[nodiscard]] View in_reduce() const;
  /// The same view for any other list.
  [[nodiscard]] View in_list() const;
  [[nodiscard]] View at_retry() const;
  [[nodiscard]] View in_template(Inputs values, std::string text) const;
};

/// Adds an error (unknown_name) if the reference does not name a value that is certain to exist. One that comes from an
/// input of a template was checked at the step that uses the template; it must mean the same here.
void check_name(const Expression::Reference& reference, const View& view, const std::vector<std::string>& vars,
                Place place, Faults& faults);

/// Returns whether the text is `[A-Za-z_][A-Za-z0-9_]*` of at most 64 characters. Ids of steps may also contain dashes.
[[nodiscard]] bool is_identifier(std::string_view text);
[[nodiscard]] bool is_step_id(std::string_view text);

}  // namespace pawl
