#include "workflow/names.hpp"

#include <algorithm>
#include <span>

#include "language/text_template.hpp"
#include "text/suggest.hpp"

namespace pawl {
namespace {

constexpr std::size_t kIdBytesMax = 64;

using Words = std::vector<std::string>;

const Words& step_fields() {
  static const Words kFields = {"output", "status", "attempts", "error", "exit_code", "confidence", "duration_ms"};
  return kFields;
}

class NameCheck {
 public:
  NameCheck(const Path& path, const View& view, const Words& vars, Place place, Faults& faults)
      : path_(path), view_(view), vars_(vars), place_(place), faults_(faults) {}

  void run() {
    const std::string* root = word(0);
    if (root == nullptr) return;
    if (*root == "vars") return variable();
    if (*root == "steps") return step();
    if (*root == "item" || *root == "index") return view_.map_frame ? void() : outside(*root, "a map");
    if (*root == "loop") return view_.loop_frame ? loop() : outside("loop", "a loop");
    if (*root == "map") {
      return view_.reduce_frame ? field("map", {"total", "succeeded", "failed"})
                                : outside("map", "the 'reduce' of a map");
    }
    if (view_.in_retry && (*root == "error" || *root == "exit_code" || *root == "attempt")) return;
    if (*root == "run") return field("run", {"id", "uuid", "workflow", "attempt"});
    if (*root == "env") {
      if (word(1) == nullptr) add("'env' requires a variable name", "for example env.HOME");
      return;
    }
    alias(*root);
  }

 private:
  /// Returns the part as a word, or null if it is missing or a number.
  [[nodiscard]] const std::string* word(std::size_t part) const {
    return part < path_.size() ? std::get_if<std::string>(&path_[part]) : nullptr;
  }

  void add(std::string message, std::string hint) {
    faults_.add(Code::unknown_name, place_, std::move(message), std::move(hint));
  }

  void outside(std::string_view name, std::string_view home) {
    add(fmt::format("'{}' exists only inside {}", name, home), "use it there, or return the value in an output");
  }

  void field(std::string_view object, const Words& fields) {
    const std::string* name = word(1);
    if (name == nullptr) return add(fmt::format("'{}' requires a field", object), "fields: " + one_of(fields));
    if (std::find(fields.begin(), fields.end(), *name) != fields.end()) return;
    add(fmt::format("'{}' has no field '{}'", object, *name), did_you_mean(*name, fields, "fields: " + one_of(fields)));
  }

  void variable() {
    const std::string* name = word(1);
    if (path_.size() == 1) return;
    if (name != nullptr && std::find(vars_.begin(), vars_.end(), *name) != vars_.end()) return;
    const std::string shown = name == nullptr ? to_text(path_) : *name;
    add(fmt::format("unknown variable '{}'", shown),
        did_you_mean(
            shown, vars_,
            vars_.empty() ? fmt::format("declare it: vars: {{ {}: ... }}", shown) : "variables: " + one_of(vars_)));
  }

  void step() {
    const std::string* id = word(1);
    if (id == nullptr) return add("'steps' requires a step", "write steps.ID.output");
    for (auto frame = view_.frames.rbegin(); frame != view_.frames.rend(); ++frame) {
      const auto found = frame->scope->index.find(*id);
      if (found == frame->scope->index.end()) continue;
      if (!done_before(*frame, found->second, *id)) return;
      step_field(*id);
      const std::string* field = word(2);
      if (field != nullptr && *field == "output" && frame->scope->silent.contains(*id))
        remark_silent(fmt::format("steps.{}", *id), *id);
      return;
    }
    unknown_step(*id);
  }

  void loop() {
    const std::string* name = word(1);
    if (name == nullptr || *name != "previous") return field("loop", {"iteration", "index", "max", "previous"});
    if (path_.size() == 2) return;
    const Scope& scope = *view_.frames.at(*view_.loop_frame).scope;
    const std::string* id = word(2);
    if (id == nullptr || !scope.index.contains(*id)) {
      const std::string shown = id == nullptr ? to_text(std::span(path_).subspan(2)) : *id;
      return add(fmt::format("unknown step '{}': 'loop.previous' contains the steps of the loop", shown),
                 did_you_mean(shown, scope.ids, "steps of this loop: " + one_of(scope.ids)));
    }
    const std::string* field = word(3);
    if (field != nullptr && (*field == "output" || *field == "status")) {
      if (*field == "output" && scope.silent.contains(*id)) remark_silent(fmt::format("loop.previous.{}", *id), *id);
      return;
    }
    add(field == nullptr ? fmt::format("'loop.previous.{}' requires a field", *id)
                         : fmt::format("'loop.previous.{}' has no field '{}'", *id, *field),
        fmt::format("write loop.previous.{}.output", *id));
  }

  void remark_silent(const std::string& written, const std::string& id) {
    faults_.remark(place_, fmt::format("{}.output is null: step '{}' has no 'capture' (add capture: {{ format: text }} "
                                       "to it)",
                                       written, id));
  }

  void step_field(const std::string& id) {
    const Words& fields = step_fields();
    const std::string* name = word(2);
    if (name == nullptr) return add(fmt::format("'steps.{}' requires a field", id), "fields: " + one_of(fields));
    if (std::find(fields.begin(), fields.end(), *name) != fields.end()) return;
    std::string otherwise = fmt::format("did you mean steps.{0}.output.{1}? A step has {2}", id, *name, one_of(fields));
    add(fmt::format("step '{}' has no field '{}'", id, *name), did_you_mean(*name, fields, std::move(otherwise)));
  }

  bool done_before(const Frame& frame, std::size_t step, const std::string& shown) {
    if (!frame.at || !frame.scope->precedence) return true;
    const std::size_t at = *frame.at;
    const std::string& here = frame.scope->ids[at];
    if (step == at) {
      if (frame.own == Frame::Own::visible) return true;
      add(&frame == &view_.frames.back() ? fmt::format("step '{}' can't use its own result", here)
                                         : fmt::format("step '{}' contains this step and is not finished yet", here),
          view_.in_retry ? "write error, exit_code or attempt, which belong to the attempt that failed"
                         : "use a step that finishes earlier");
      return false;
    }
    if (frame.scope->precedence->comes_before(step, at)) return true;
    const std::string& id = frame.scope->ids[step];
    if (step > at || frame.scope->precedence->comes_before(at, step)) {
      add(fmt::format("'{}' is not available: step '{}' runs after '{}'", shown, id, here),
          "move the step, or use another step");
    } else {
      add(fmt::format("'{}' may not be available: step '{}' does not always finish before '{}'", shown, id, here),
          fmt::format("add '{}' to the needs of '{}'", id, here));
    }
    return false;
  }

  void unknown_step(const std::string& id) {
    Words ids;
    for (const Frame& frame : view_.frames) {
      if (const auto inner = frame.scope->inner.find(id); inner != frame.scope->inner.end()) {
        return add(fmt::format("step '{}' is inside '{}' and not visible here", id, inner->second),
                   fmt::format("use steps.{}.output", inner->second));
      }
      ids.insert(ids.end(), frame.scope->ids.begin(), frame.scope->ids.end());
    }
    add(fmt::format("unknown step '{}'", id),
        did_you_mean(id, ids, ids.empty() ? "no step is visible here" : "steps visible here: " + one_of(ids)));
  }

  void alias(const std::string& name) {
    Words known(reserved_names().begin(), reserved_names().end());
    if (view_.in_retry) known.insert(known.end(), {"error", "exit_code", "attempt"});
    for (auto frame = view_.frames.rbegin(); frame != view_.frames.rend(); ++frame) {
      const auto found = frame->scope->aliases.find(name);
      if (found != frame->scope->aliases.end()) {
        static_cast<void>(done_before(*frame, found->second, name));
        return;
      }
      for (const auto& [other, step] : frame->scope->aliases) known.push_back(other);
    }
    if (!view_.in_retry && (name == "exit_code" || name == "error")) {
      return add(fmt::format("'{}' exists only in 'when' of 'retry'", name), fmt::format("write steps.ID.{}", name));
    }
    add(fmt::format("unknown name '{}'", name), did_you_mean(name, known, way_out(name, known)));
  }

  /// Returns what to write instead of a name that resembles no known one.
  std::string way_out(const std::string& name, const Words& known) const {
    if (std::find(vars_.begin(), vars_.end(), name) != vars_.end()) return fmt::format("write vars.{}", name);
    const bool is_step =
        std::ranges::any_of(view_.frames, [&](const Frame& frame) { return frame.scope->index.contains(name); });
    if (is_step) return fmt::format("write steps.{}", path_.size() > 1 ? to_text(path_) : name + ".output");
    const std::string names = "known names: " + one_of(known);
    return path_.size() > 1 ? names : fmt::format("{}; a text needs quotes: '{}'", names, name);
  }

  const Path& path_;
  const View& view_;
  const Words& vars_;
  Place place_;
  Faults& faults_;
};

/// Returns the frame that a step or an alias belongs to.
std::optional<std::size_t> frame_of(const Path& path, const View& view) {
  const auto* const root = path.empty() ? nullptr : std::get_if<std::string>(&path[0]);
  const auto* const id = path.size() < 2 ? nullptr : std::get_if<std::string>(&path[1]);
  if (root == nullptr || (*root == "steps" && id == nullptr)) return std::nullopt;
  for (std::size_t i = view.frames.size(); i-- > 0;) {
    const Scope& scope = *view.frames[i].scope;
    if (*root == "steps" ? scope.index.contains(*id) : scope.aliases.contains(*root)) return i;
  }
  return std::nullopt;
}

/// Whether the value of an input has another meaning inside the template than at the step that uses it.
bool is_captured(const Path& path, const View& view) {
  const auto* const root = std::get_if<std::string>(&path[0]);
  if (root == nullptr) return false;
  if (*root == "item" || *root == "index") return view.map_frame != view.use->map_frame;
  if (*root == "loop") return view.loop_frame != view.use->loop_frame;
  if (*root == "map") return view.reduce_frame != view.use->reduce_frame;
  return frame_of(path, view) != frame_of(path, *view.use);
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

View View::of_workflow() {
  View view;
  view.names = std::make_shared<const std::set<std::string, std::less<>>>(reserved_names());
  return view;
}

View View::inside(Frame frame) const {
  View view = *this;
  if (!frame.scope->aliases.empty()) {
    auto with_aliases = std::make_shared<std::set<std::string, std::less<>>>(*names);
    for (const auto& [alias, step] : frame.scope->aliases) with_aliases->insert(alias);
    view.names = std::move(with_aliases);
  }
  view.frames.push_back(std::move(frame));
  return view;
}

View View::at(std::size_t step) const {
  View view = *this;
  view.frames.back().at = step;
  return view;
}

View View::in_map() const {
  View view = in_list();
  view.map_frame = frames.size();
  view.is_item = true;
  return view;
}

View View::in_loop() const {
  View view = in_list();
  view.loop_frame = frames.size();
  return view;
}

View View::in_reduce() const {
  View view = in_list();
  view.reduce_frame = frames.size();
  return view;
}

View View::in_list() const {
  View view = *this;
  view.is_item = false;
  return view;
}

View View::at_retry() const {
  View view = *this;
  view.in_retry = true;
  return view;
}

View View::in_template(Inputs values, std::string text) const {
  View view = *this;
  view.use = std::make_shared<const View>(*this);
  view.inputs = std::make_shared<const Inputs>(std::move(values));
  view.inputs_text = std::move(text);
  auto with_inputs = std::make_shared<std::set<std::string, std::less<>>>(*names);
  with_inputs->insert("inputs");
  view.names = std::move(with_inputs);
  return view;
}

View View::with_own() const {
  View view = *this;
  if (!view.frames.empty()) view.frames.back().own = Frame::Own::visible;
  return view;
}

void check_name(const Expression::Reference& reference, const View& view, const std::vector<std::string>& vars,
                Place place, Faults& faults) {
  if (reference.of_input.empty()) return NameCheck(reference.path, view, vars, place, faults).run();
  if (view.use == nullptr || !is_captured(reference.path, view)) return;
  faults.add(
      Code::unknown_name, place,
      fmt::format("'{}' of the input '{}' means something else here", to_text(reference.path), reference.of_input),
      "the template has its own step, item or loop of this name: rename its step, or use the input outside the "
      "inner list");
}

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= kIdBytesMax && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_step_id(std::string_view text) {
  return !text.empty() && text.size() <= kIdBytesMax && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '-'; });
}

}  // namespace pawl
