#include "language/expression.hpp"

#include <algorithm>

#include "language/expression_lexer.hpp"
#include "language/expression_tree.hpp"
#include "text/json_text.hpp"
#include "text/suggest.hpp"

namespace pawl {
namespace {

constexpr std::size_t kShownNamesMax = 12;

bool is_plain_name(std::string_view name) {
  using expression_tree::is_name_part;
  if (name.empty() || !expression_tree::is_name_start(name[0]) || name.back() == '-') return false;
  for (std::size_t i = 0; i < name.size(); ++i)
    if (!is_name_part(name[i]) && (name[i] != '-' || !is_name_part(name[i + 1]))) return false;
  return true;
}

std::string missing_hint(const Json& object, std::string_view name) {
  std::vector<std::string> names;
  for (const auto& member : object.items()) names.push_back(member.key());
  const std::string nearest = suggest(name, names);
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", nearest);
  if (name.find('-') != std::string_view::npos) return "put spaces around '-' to subtract";
  return {};
}

Error missing_member(const Json& object, std::string_view name) {
  std::string known;
  std::size_t shown = 0;
  for (const auto& member : object.items()) {
    if (shown++ == kShownNamesMax) {
      known += ", ...";
      break;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", member.key());
  }
  return Error{Code::unknown_name,
               known.empty() ? fmt::format("no member '{}': the object is empty", name)
                             : fmt::format("no member '{}' (known: {})", name, known),
               {},
               missing_hint(object, name),
               0};
}

Result<const Json*> follow_one(const Json& value, const PathPart& part) {
  if (const auto* const name = std::get_if<std::string>(&part)) {
    if (!value.is_object())
      return fail(Code::unknown_name, "{} has no member '{}'", expression_tree::type_text(value), *name);
    const auto found = value.find(*name);
    if (found == value.end()) return fail(missing_member(value, *name));
    return &*found;
  }
  const std::int64_t index = std::get<std::int64_t>(part);
  if (!value.is_array())
    return fail(Code::unknown_name, "{} has no element {}", expression_tree::type_text(value), index);
  if (index < 0 || static_cast<std::uint64_t>(index) >= value.size())
    return fail(Code::unknown_name, "index {} is out of range: the array has {} elements", index, value.size());
  return &value[static_cast<std::size_t>(index)];
}

}  // namespace

std::string to_text(std::span<const PathPart> path) {
  std::string text;
  for (const PathPart& part : path) {
    const auto* const name = std::get_if<std::string>(&part);
    if (name == nullptr) {
      text += fmt::format("[{}]", std::get<std::int64_t>(part));
    } else if (text.empty()) {
      text = *name;
    } else if (is_plain_name(*name)) {
      text += fmt::format(".{}", *name);
    } else {
      text += fmt::format("[{}]", escape_json(*name));
    }
  }
  return text;
}

Result<Json> follow(const Json& value, std::span<const PathPart> path) {
  const Json* here = &value;
  for (const PathPart& part : path) {
    if (here->is_null()) return Json();
    PAWL_TRY_ASSIGN(here, follow_one(*here, part));
  }
  return *here;
}

struct Expression::Parsed {
  std::string text;
  expression_tree::Tree tree;
};

Result<Expression> Expression::parse(std::string_view text, std::size_t first_column, const Inputs* inputs) {
  PAWL_TRY_ASSIGN(auto tree, expression_tree::parse(text, first_column, inputs));
  return of(std::move(tree), std::string(text));
}

Expression Expression::of(expression_tree::Tree tree, std::string text) {
  return Expression(std::make_shared<const Parsed>(Parsed{std::move(text), std::move(tree)}));
}

const std::string& Expression::text() const { return parsed_->text; }

const std::vector<Expression::Reference>& Expression::references() const { return parsed_->tree.references; }

bool Expression::overrides_skipping() const { return parsed_->tree.overrides_skipping; }

const expression_tree::Tree& Expression::tree() const { return parsed_->tree; }

Result<Json> Expression::evaluate(const Names& names) const {
  return expression_tree::evaluate(parsed_->tree.root, names);
}

Result<bool> Expression::test(const Names& names) const {
  PAWL_TRY_ASSIGN(const Json value, evaluate(names));
  return expression_tree::is_true(value);
}

}  // namespace pawl
