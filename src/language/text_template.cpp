#include "language/text_template.hpp"

#include <algorithm>

#include "language/expression_lexer.hpp"
#include "language/expression_tree.hpp"
#include "language/foreign_syntax.hpp"
#include "text/suggest.hpp"
#include "text/utf8.hpp"

namespace pawl {
namespace {

using NameSet = std::set<std::string, std::less<>>;

/// Columns count code points, from 1. Must be called with ascending offsets.
class Columns {
 public:
  explicit Columns(std::string_view source) : source_(source) {}
  std::size_t of(std::size_t offset) {
    for (; at_ < offset; ++at_) column_ += is_utf8_continuation(source_[at_]) ? 0U : 1U;
    return column_;
  }
  std::string text(std::size_t offset) { return fmt::format("column {}", of(offset)); }

 private:
  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t column_ = 1;
};

Error fault(Code code, std::string message, std::string hint) {
  return Error{code, std::move(message), {}, std::move(hint), 0};
}

/// The name at the start of the braces, and what follows it.
struct Opening {
  std::string_view name;
  std::string_view rest;
};

Opening opening(std::string_view inside) {
  inside.remove_prefix(std::min(inside.find_first_not_of(" \t\r\n"), inside.size()));
  std::size_t size = 0;
  if (!inside.empty() && expression_tree::is_name_start(inside[0]))
    while (size < inside.size() && expression_tree::is_name_part(inside[size])) ++size;
  return {inside.substr(0, size), inside.substr(size)};
}

bool is_call(const Opening& opening) {
  const auto functions = expression_tree::functions();
  return opening.rest.starts_with('(') &&
         std::any_of(functions.begin(), functions.end(), [&](const auto& rule) { return rule.name == opening.name; });
}

bool is_word(std::string_view name) { return name == "true" || name == "false" || name == "null" || name == "not"; }

/// Returns the position of the `}` that ends the expression at the start of `inside`.
std::optional<std::size_t> closing_brace(std::string_view inside) {
  char quote = 0;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    const char c = inside[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == '}' && depth == 0) {
      return i;
    } else if ((c == ')' || c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}

Error unknown(std::string_view name, const NameSet& names) {
  if (name == "matrix") return fault(Code::unknown_name, "unknown name 'matrix'", "write ${item.KEY}");
  const std::string nearest = suggest(name, {names.begin(), names.end()});
  return fault(Code::unknown_name, fmt::format("unknown name '{}'", name),
               nearest.empty() ? fmt::format("known names: {}; write a literal ${{ as $${{", fmt::join(names, ", "))
                               : fmt::format("did you mean '{}'? Write a literal ${{ as $${{", nearest));
}

Error unknown_call(std::string_view inside, std::string_view name) {
  std::vector<std::string> known;
  for (const auto& rule : expression_tree::functions()) known.emplace_back(rule.name);
  std::string form = call_in_pawl(inside);
  if (form.empty()) {
    const std::string nearest = suggest(name, known);
    return fault(Code::invalid_expression, fmt::format("unknown function '{}'", name),
                 nearest.empty() ? fmt::format("the functions are {}", fmt::join(known, ", "))
                                 : fmt::format("did you mean {}()?", nearest));
  }
  return fault(Code::invalid_expression, fmt::format("unknown function '{}'", name), fmt::format("write {}", form));
}

/// Returns whether the braces contain an expression. Fails if they contain neither an expression nor something else
/// that is valid.
Result<bool> is_ours(std::string_view inside, const NameSet& names, TextTemplate::Unknown unknown_names) {
  const Opening begin = opening(inside);
  if (names.contains(begin.name)) {
    if (begin.rest.starts_with(':'))
      return fail(fault(Code::invalid_expression, fmt::format("'${{{}:' is not an expression", begin.name),
                        fmt::format("use ${{default({}.x, 'value')}}", begin.name)));
    return true;
  }
  if (is_call(begin)) return true;
  if (inside.starts_with('{')) {
    if (auto braces = find_double_braces(fmt::format("${{{}", inside))) return fail(std::move(braces->error));
  }
  // No shell has this syntax, so it can only be a call.
  if (!begin.name.empty() && begin.rest.starts_with('(') && unknown_names == TextTemplate::Unknown::keep)
    return fail(unknown_call(inside, begin.name));
  if (unknown_names == TextTemplate::Unknown::refuse) {
    // Without a leading name it can only be an expression: `${!vars.a}`.
    if (begin.name.empty() || begin.rest.starts_with('(') || is_word(begin.name)) return true;
    return fail(unknown(begin.name, names));
  }
  if (begin.rest.starts_with('.') && !suggest(begin.name, {names.begin(), names.end()}).empty())
    return fail(unknown(begin.name, names));
  return false;
}

/// Returns the expression at the start of `inside`, and its length without the brace.
Result<std::pair<Expression, std::size_t>> embedded(std::string_view inside, std::size_t column, const Inputs* inputs) {
  const auto end = closing_brace(inside);
  if (!end)
    return fail(
        fault(Code::invalid_expression, "'${' is not closed", "close it with }, or write $${ for a literal ${"));
  const std::string_view text = inside.substr(0, *end);
  auto expression = Expression::parse(text, column, inputs);
  if (!expression) {
    Error error = std::move(expression).error();
    if (text.find(":-") != std::string_view::npos || text.find(":=") != std::string_view::npos)
      error.hint = "for a default value use default(vars.x, 'value')";
    return fail(std::move(error));
  }
  return std::pair(std::move(*expression), *end);
}

}  // namespace

const std::set<std::string, std::less<>>& reserved_names() {
  static const NameSet names{"vars", "steps", "item", "index", "loop", "map", "run", "env"};
  return names;
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : compact(value); }

Result<TextTemplate> TextTemplate::parse(std::string_view source, const std::set<std::string, std::less<>>& names,
                                         Unknown unknown, const Inputs* inputs) {
  TextTemplate made;
  made.source_ = source;
  Columns columns(source);
  Part text;
  const auto flush = [&](std::size_t next) {
    if (!text.text.empty()) made.parts_.push_back(std::move(text));
    text = Part{{}, std::nullopt, next};
  };
  for (std::size_t i = 0; i < source.size();) {
    const std::string_view rest = source.substr(i);
    if (rest.starts_with("$${")) {
      flush(i + 1);  // the characters of a part must be adjacent in the source
      text.text += "${";
      i += 3;
      continue;
    }
    if (!rest.starts_with("${")) {
      text.text += source[i++];
      continue;
    }
    const std::string_view inside = rest.substr(2);
    const auto ours = is_ours(inside, names, unknown);
    if (!ours) return fail(at(ours.error(), columns.text(i)));
    if (!*ours) {
      text.text += "${";
      i += 2;
      continue;
    }
    const std::string place = columns.text(i);
    auto expression = embedded(inside, columns.of(i + 2), inputs);
    if (!expression) return fail(at(std::move(expression).error(), place));
    flush(i);
    made.parts_.push_back({{}, std::move(expression->first), i});
    i += 2 + expression->second + 1;
    text.offset = i;
  }
  flush(source.size());
  return made;
}

bool TextTemplate::is_constant() const {
  return std::ranges::none_of(parts_, [](const Part& part) { return part.expression.has_value(); });
}

std::vector<Expression::Reference> TextTemplate::references() const {
  std::vector<Expression::Reference> all;
  for (const Part& part : parts_)
    if (part.expression)
      all.insert(all.end(), part.expression->references().begin(), part.expression->references().end());
  return all;
}

Result<Json> TextTemplate::evaluate(const Names& names) const {
  if (parts_.size() == 1 && parts_[0].expression) return parts_[0].expression->evaluate(names);
  PAWL_TRY_ASSIGN(std::string text, render(names));
  return Json(std::move(text));
}

Result<std::string> TextTemplate::render(const Names& names) const {
  std::string text;
  for (const Part& part : parts_) {
    if (!part.expression) {
      text += part.text;
      continue;
    }
    PAWL_TRY_ASSIGN(const Json value, part.expression->evaluate(names));
    text += text_of(value);
  }
  return text;
}

namespace {

using Texts = std::vector<std::pair<Json::json_pointer, TextTemplate>>;

/// Collects the templates among the strings of `value`, which is at `pointer`.
Result<void> collect(const Json& value, const Json::json_pointer& pointer, const NameSet& names, const Inputs* inputs,
                     Texts& texts) {
  if (value.is_string()) {
    const auto& source = value.get_ref<const std::string&>();
    if (source.find("${") == std::string::npos) return {};
    auto text = TextTemplate::parse(source, names, TextTemplate::Unknown::refuse, inputs);
    if (!text) {
      Error error = std::move(text).error();
      if (!pointer.empty()) error.where = fmt::format("{}, {}", pointer.to_string(), error.where);
      return fail(std::move(error));
    }
    texts.emplace_back(pointer, std::move(*text));
    return {};
  }
  if (value.is_object()) {
    for (const auto& member : value.items())
      PAWL_TRY(collect(member.value(), pointer / member.key(), names, inputs, texts));
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) PAWL_TRY(collect(value[i], pointer / i, names, inputs, texts));
  }
  return {};
}

}  // namespace

Result<ValueTemplate> ValueTemplate::parse(const Json& value, const std::set<std::string, std::less<>>& names,
                                           const Inputs* inputs, Form form) {
  ValueTemplate made;
  PAWL_TRY(collect(value, Json::json_pointer(), names, inputs, made.texts_));
  made.source_ = value;
  made.form_ = form;
  return made;
}

std::vector<Expression::Reference> ValueTemplate::references() const {
  std::vector<Expression::Reference> all;
  for (const auto& [pointer, text] : texts_) {
    auto each = text.references();
    std::move(each.begin(), each.end(), std::back_inserter(all));
  }
  return all;
}

namespace {

constexpr std::size_t kCombinationsMax = 100'000;
constexpr std::size_t kCombinationsBytesMax = std::size_t{64} << 20U;

/// Returns the number of combinations, and fails if there are too many.
Result<std::size_t> combinations(const Json& lists) {
  std::size_t count = 1;
  std::size_t bytes_each = 0;
  for (const auto& [key, list] : lists.items()) {
    if (!list.is_array())
      return fail(Code::invalid_expression, "'{}' of the matrix must be a list, not {}", key,
                  expression_tree::type_text(list));
    if (list.empty()) return std::size_t{0};
    if (count > kCombinationsMax / list.size())
      return fail(Code::invalid_expression, "the matrix has more than {} combinations", kCombinationsMax);
    count *= list.size();
    bytes_each += compact(list).size() / list.size() + key.size() + 4;
  }
  if (bytes_each > kCombinationsBytesMax / count)
    return fail(Code::invalid_expression, "the combinations of the matrix are larger than {} MiB",
                kCombinationsBytesMax >> 20U);
  return count;
}

Result<Json> product(const Json& lists) {
  PAWL_TRY_ASSIGN(const std::size_t count, combinations(lists));
  Json all = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    Json one = Json::object();
    std::size_t below = count;
    for (const auto& [key, list] : lists.items()) {
      below /= list.size();
      one[key] = list[i / below % list.size()];
    }
    all.push_back(std::move(one));
  }
  return all;
}

/// `a ${x}` as the expression `'a ' + text(x)`.
expression_tree::Node text_node(const TextTemplate& text) {
  using expression_tree::Node;
  if (text.parts().size() == 1 && text.parts()[0].expression) return text.parts()[0].expression->tree().root;
  Node sum;
  sum.kind = Node::Kind::chain;
  for (const TextTemplate::Part& part : text.parts()) {
    Node one;
    if (part.expression) {
      one.kind = Node::Kind::call;
      one.function = expression_tree::Function::text;
      one.children.push_back(part.expression->tree().root);
    } else {
      one.value = part.text;
    }
    if (!sum.children.empty()) {
      sum.operators.push_back(expression_tree::Operator::add);
      sum.operator_columns.push_back(0);
    }
    sum.children.push_back(std::move(one));
  }
  return sum;
}

Result<expression_tree::Node> value_node(const Json& value, const Json::json_pointer& pointer, const Texts& texts) {
  const std::string here = pointer.to_string();
  const auto inside = [&](const auto& text) { return text.first.to_string().starts_with(here + "/"); };
  const auto itself = std::ranges::find_if(texts, [&](const auto& text) { return text.first == pointer; });
  if (itself != texts.end()) return text_node(itself->second);
  expression_tree::Node node;
  if (std::ranges::none_of(texts, inside)) {
    node.value = value;
    return node;
  }
  if (!value.is_array())
    return fail(fault(Code::invalid_expression, "an input that is a map can't contain an expression",
                      "pass each value as an input of its own"));
  node.kind = expression_tree::Node::Kind::array;
  for (std::size_t i = 0; i < value.size(); ++i) {
    PAWL_TRY_ASSIGN(expression_tree::Node child, value_node(value[i], pointer / i, texts));
    node.children.push_back(std::move(child));
  }
  return node;
}

}  // namespace

Result<Json> ValueTemplate::evaluate(const Names& names) const {
  Json value = source_;
  for (const auto& [pointer, text] : texts_) {
    PAWL_TRY_ASSIGN(value.at(pointer), text.evaluate(names));
  }
  return form_ == Form::product ? product(value) : Result<Json>(std::move(value));
}

Result<Expression> ValueTemplate::as_expression() const {
  expression_tree::Tree tree;
  PAWL_TRY_ASSIGN(tree.root, value_node(source_, Json::json_pointer(), texts_));
  tree.references = references();
  for (const auto& [pointer, text] : texts_) {
    for (const TextTemplate::Part& part : text.parts())
      tree.overrides_skipping = tree.overrides_skipping || (part.expression && part.expression->overrides_skipping());
  }
  return Expression::of(std::move(tree), text_of(source_));
}

}  // namespace pawl
