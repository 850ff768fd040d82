#include "engine/shell_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pawl {
namespace {

constexpr std::string_view kCommandEnds = "\n;&|()`";
constexpr std::string_view kWordBlanks = " \t";
constexpr auto kSetters =
    std::to_array<std::string_view>({"for", "select", "read", "getopts", "mapfile", "readarray", "printf", "declare",
                                     "typeset", "local", "export", "readonly", "unset", "let", "eval"});

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_char(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

std::string_view name_at(std::string_view text, std::size_t at) {
  if (at >= text.size() || !is_name_start(text[at])) return {};
  std::size_t end = at;
  while (end < text.size() && is_name_char(text[end])) ++end;
  return text.substr(at, end - at);
}

/// Returns the id of a step in `id.` at the beginning of `text`. Ids may contain dashes.
std::string_view step_before_dot(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (is_name_char(text[end]) || text[end] == '-')) ++end;
  return end < text.size() && text[end] == '.' ? text.substr(0, end) : std::string_view();
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && kWordBlanks.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  while (!text.empty() && kWordBlanks.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

class NameFinder {
 public:
  NameFinder(std::string_view script, const std::function<bool(std::string_view)>& is_variable,
             const std::function<bool(std::string_view)>& is_step)
      : script_(script), is_variable_(is_variable), is_step_(is_step) {}

  [[nodiscard]] std::vector<MistakenName> find() {
    bool in_single = false;
    bool in_double = false;
    for (std::size_t at = 0; at < script_.size(); ++at) {
      const char c = script_[at];
      if (c == '{') look_at_braces(at);  // nobody expands these, wherever they are
      if (in_single) {
        in_single = c != '\'';
      } else if (c == '\\') {
        ++at;
      } else if (c == '"') {
        in_double = !in_double;
      } else if (c == '\'') {
        in_single = !in_double;
      } else if (c == '$') {
        look_at_dollar(at);
      }
    }
    return std::move(found_);
  }

 private:
  void add(std::string_view written, std::string meant, std::string_view variable) {
    MistakenName one{std::string(written), std::move(meant), std::string(variable)};
    if (std::ranges::find(found_, one) == found_.end()) found_.push_back(std::move(one));
  }

  /// `{{ vars.topic }}`
  void look_at_braces(std::size_t at) {
    if (!script_.substr(at).starts_with("{{")) return;
    const std::size_t end = script_.find("}}", at);
    if (end == std::string_view::npos) return;
    const std::string_view inside = without_blanks(script_.substr(at + 2, end - at - 2));
    if (inside.starts_with("vars.") && is_variable_(name_at(inside, 5)))
      add(script_.substr(at, end + 2 - at), std::string(inside), {});
  }

  void look_at_dollar(std::size_t at) {
    const bool braced = at + 1 < script_.size() && script_[at + 1] == '{';
    if (braced) return look_at_reference(at);
    const std::string_view name = name_at(script_, at + 1);
    const std::size_t end = at + 1 + name.size();
    if (name == "vars" && end < script_.size() && script_[end] == '.') {
      const std::string_view member = name_at(script_, end + 1);
      if (is_variable_(member))
        add(script_.substr(at, end + 1 + member.size() - at), fmt::format("vars.{}", member), "vars");
    } else if (!name.empty() && is_variable_(name)) {
      add(script_.substr(at, end - at), fmt::format("vars.{}", name), name);
    }
  }

  /// `${topic}` and `${x.output}`
  void look_at_reference(std::size_t at) {
    const std::size_t end = script_.find('}', at);
    if (end == std::string_view::npos) return;
    const std::string_view inside = script_.substr(at + 2, end - at - 2);
    const std::string_view name = name_at(inside, 0);
    const std::string_view step = step_before_dot(inside);
    if (!name.empty() && name.size() == inside.size() && is_variable_(name)) {
      add(script_.substr(at, end + 1 - at), fmt::format("vars.{}", name), name);
    } else if (!step.empty() && is_step_(step)) {
      add(script_.substr(at, end + 1 - at), fmt::format("steps.{}", inside), {});
    }
  }

  std::string_view script_;
  const std::function<bool(std::string_view)>& is_variable_;
  const std::function<bool(std::string_view)>& is_step_;
  std::vector<MistakenName> found_;
};

bool is_setter(std::string_view word) { return std::ranges::find(kSetters, word) != kSetters.end(); }

/// Returns whether one of the words of a command sets the variable.
bool sets_in_command(std::string_view command, std::string_view name) {
  bool after_setter = false;
  bool first = true;
  while (!(command = without_blanks(command)).empty()) {
    const std::string_view word = command.substr(0, command.find_first_of(kWordBlanks));
    command.remove_prefix(word.size());
    if (first && (word == "." || word == "source")) return true;  // the file may set anything
    first = first && (word == "then" || word == "do" || word == "else" || word == "{");
    if (word.starts_with(name)) {
      const std::string_view rest = word.substr(name.size());
      if (rest.starts_with('=') || rest.starts_with("+=") || (rest.empty() && after_setter)) return true;
    }
    after_setter = after_setter || is_setter(word);
  }
  return false;
}

}  // namespace

std::vector<MistakenName> mistaken_names(std::string_view script,
                                         const std::function<bool(std::string_view)>& is_variable,
                                         const std::function<bool(std::string_view)>& is_step) {
  return NameFinder(script, is_variable, is_step).find();
}

bool may_set(std::string_view script, std::string_view name) {
  if (script.find(fmt::format("${{{}:=", name)) != std::string_view::npos ||
      script.find(fmt::format("${{{}=", name)) != std::string_view::npos)
    return true;
  while (!script.empty()) {
    const std::size_t end = std::min(script.find_first_of(kCommandEnds), script.size());
    if (sets_in_command(script.substr(0, end), name)) return true;
    script.remove_prefix(std::min(end + 1, script.size()));
  }
  return false;
}

}  // namespace pawl
