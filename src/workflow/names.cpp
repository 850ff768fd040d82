#include "workflow/names.hpp"

#include <algorithm>

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
    if (*root == "item") return view_.in_map ? void() : outside("item", "a map");
    if (*root == "index") return view_.in_map ? void() : outside("index", "a map");
    if (*root == "loop")
      return view_.in_loop ? field("loop", {"iteration", "index", "max"}) : outside("loop", "a loop");
    if (*root == "map") {
      return view_.in_reduce ? field("map", {"total", "succeeded", "failed"}) : outside("map", "the 'reduce' of a map");
    }
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
      if (field != nullptr && *field == "output" && frame->scope->silent.contains(*id)) {
        faults_.remark(place_, fmt::format("steps.{0}.output is null: step '{0}' has no 'capture' (add capture: {{ "
                                           "format: text }} to it)",
                                           *id));
      }
      return;
    }
    unknown_step(*id);
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
          "use a step that finishes earlier");
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
    for (auto frame = view_.frames.rbegin(); frame != view_.frames.rend(); ++frame) {
      const auto found = frame->scope->aliases.find(name);
      if (found != frame->scope->aliases.end()) {
        static_cast<void>(done_before(*frame, found->second, name));
        return;
      }
      for (const auto& [other, step] : frame->scope->aliases) known.push_back(other);
    }
    add(fmt::format("unknown name '{}'", name),
        did_you_mean(name, known,
                     std::find(vars_.begin(), vars_.end(), name) != vars_.end() ? fmt::format("write vars.{}", name)
                                                                                : "known names: " + one_of(known)));
  }

  const Path& path_;
  const View& view_;
  const Words& vars_;
  Place place_;
  Faults& faults_;
};

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

View View::with_own() const {
  View view = *this;
  if (!view.frames.empty()) view.frames.back().own = Frame::Own::visible;
  return view;
}

void check_name(const Path& path, const View& view, const std::vector<std::string>& vars, Place place, Faults& faults) {
  NameCheck(path, view, vars, place, faults).run();
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
