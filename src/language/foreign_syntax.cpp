#include "language/foreign_syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace pawl {
namespace {

constexpr auto kFunctionHabits = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"len", "length"},
    {"size", "length"},
    {"count", "length"},
    {"str", "text"},
    {"string", "text"},
    {"int", "number"},
    {"float", "number"},
    {"toJSON", "json"},
    {"toJson", "json"},
    {"to_json", "json"},
    {"tojson", "json"},
    {"fromJSON", "json"},
    {"toLower", "lower"},
    {"to_lower", "lower"},
    {"toUpper", "upper"},
    {"to_upper", "upper"},
    {"startsWith", "starts_with"},
    {"startswith", "starts_with"},
    {"endsWith", "ends_with"},
    {"endswith", "ends_with"},
    {"includes", "contains"},
    {"coalesce", "default"},
    {"failure", "failed"},
    {"concat", "join"},
    {"seq", "range"},
});

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool is_bare_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// Returns the rest of `text` after `prefix` if it is a plain name.
std::string_view name_behind(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return {};
  text.remove_prefix(prefix.size());
  return is_bare_name(text) ? text : std::string_view();
}

/// `steps.a.outputs.b` and `needs.a.outputs.b`.
std::string step_output(std::string_view text) {
  for (const std::string_view prefix : {"steps.", "needs."}) {
    if (!text.starts_with(prefix)) continue;
    const std::string_view rest = text.substr(prefix.size());
    const std::size_t dot = rest.find(".outputs.");
    if (dot == std::string_view::npos) continue;
    return fmt::format("write ${{steps.{}.output.{}}}", rest.substr(0, dot), rest.substr(dot + 9));
  }
  return {};
}

std::string form_of(std::string_view inside) {
  if (const std::string_view name = name_behind(inside, "secrets."); !name.empty())
    return fmt::format("write ${}, and list {} under 'secrets:' so that its value is masked", name, name);
  for (const std::string_view prefix : {"inputs.", "params.", "matrix.", "github."}) {
    if (const std::string_view name = name_behind(inside, prefix); !name.empty())
      return fmt::format("write ${{vars.{}}}, and declare {} under 'vars:'", name, name);
  }
  if (std::string output = step_output(inside); !output.empty()) return output;
  if (inside.empty()) return "write ${vars.NAME}";
  return fmt::format("write ${{{}}}", inside);
}

}  // namespace

std::optional<DoubleBraces> find_double_braces(std::string_view text) {
  constexpr std::size_t kShownMax = 60;
  for (std::size_t at = text.find("${{"); at != std::string_view::npos; at = text.find("${{", at + 1)) {
    if (at > 0 && text[at - 1] == '$') continue;
    const std::string_view rest = text.substr(at + 3);
    const std::size_t end = std::min(rest.find("}}"), rest.size());
    const std::string_view inside = trimmed(rest.substr(0, end));
    return DoubleBraces{at,
                        Error{Code::invalid_expression,
                              fmt::format("'${{{{ {} }}}}' is the syntax of another tool", inside.substr(0, kShownMax)),
                              {},
                              form_of(inside.substr(0, kShownMax)) + "; to print ${{ itself, write $${{",
                              0}};
  }
  return std::nullopt;
}

std::string_view function_known_as(std::string_view name) {
  const auto found = std::ranges::find(kFunctionHabits, name, [](const auto& habit) { return habit.first; });
  return found == kFunctionHabits.end() ? std::string_view() : found->second;
}

std::string call_in_pawl(std::string_view call) {
  const std::size_t open = call.find('(');
  const std::size_t close = call.find(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  const std::string_view ours = function_known_as(trimmed(call.substr(0, open)));
  if (ours.empty()) return {};
  const std::string_view argument = trimmed(call.substr(open + 1, close - open - 1));
  return fmt::format("${{{}({}{})}}", ours, is_bare_name(argument) ? "vars." : "", argument);
}

}  // namespace pawl
