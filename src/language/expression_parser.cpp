#include <algorithm>
#include <array>
#include <limits>

#include "language/expression_lexer.hpp"
#include "language/expression_tree.hpp"
#include "language/foreign_syntax.hpp"
#include "text/suggest.hpp"
#include "text/utf8.hpp"

namespace pawl::expression_tree {
namespace {

constexpr std::size_t kTextBytesMax = 64 * 1024;
constexpr std::size_t kExpressionDepthMax = 64;
constexpr std::size_t kMany = std::numeric_limits<std::size_t>::max();

constexpr std::array kFunctions{
    FunctionRule{Function::default_value, "default", 2, 2},
    FunctionRule{Function::length, "length", 1, 1},
    FunctionRule{Function::contains, "contains", 2, 2},
    FunctionRule{Function::lower, "lower", 1, 1},
    FunctionRule{Function::upper, "upper", 1, 1},
    FunctionRule{Function::starts_with, "starts_with", 2, 2},
    FunctionRule{Function::ends_with, "ends_with", 2, 2},
    FunctionRule{Function::number, "number", 1, 1},
    FunctionRule{Function::text, "text", 1, 1},
    FunctionRule{Function::json, "json", 1, 1},
    FunctionRule{Function::keys, "keys", 1, 1},
    FunctionRule{Function::min, "min", 1, kMany},
    FunctionRule{Function::max, "max", 1, kMany},
    FunctionRule{Function::round, "round", 1, 1},
    FunctionRule{Function::range, "range", 1, 2},
    FunctionRule{Function::join, "join", 2, 2},
    FunctionRule{Function::pluck, "pluck", 2, 2},
    FunctionRule{Function::always, "always", 0, 0},
    FunctionRule{Function::failed, "failed", 0, 0},
};

struct OperatorText {
  Operator op;
  std::string_view text;
};
constexpr std::array kOperators{
    OperatorText{Operator::add, "+"},
    OperatorText{Operator::subtract, "-"},
    OperatorText{Operator::multiply, "*"},
    OperatorText{Operator::divide, "/"},
    OperatorText{Operator::remainder, "%"},
    OperatorText{Operator::less, "<"},
    OperatorText{Operator::less_equal, "<="},
    OperatorText{Operator::greater, ">"},
    OperatorText{Operator::greater_equal, ">="},
    OperatorText{Operator::equal, "=="},
    OperatorText{Operator::not_equal, "!="},
    OperatorText{Operator::in, "in"},
    OperatorText{Operator::not_in, "not in"},
};

/// Operators of one precedence. Some can't be chained, because readers would not agree on the meaning.
struct Strength {
  std::span<const Operator> operators;
  bool chained;
};
constexpr std::array kContainment{Operator::in};
constexpr std::array kEquality{Operator::equal, Operator::not_equal};
constexpr std::array kOrder{Operator::less, Operator::less_equal, Operator::greater, Operator::greater_equal};
constexpr std::array kSums{Operator::add, Operator::subtract};
constexpr std::array kProducts{Operator::multiply, Operator::divide, Operator::remainder};
constexpr std::array kStrengths{Strength{kContainment, false}, Strength{kEquality, false}, Strength{kOrder, false},
                                Strength{kSums, true}, Strength{kProducts, true}};

class Parser {
 public:
  Parser(Lexer lexer, const Inputs* inputs) : lexer_(lexer), inputs_(inputs) {}

  Result<Tree> parse() {
    PAWL_TRY(advance());
    if (token_.kind == Token::Kind::end) return fail(lexer_.fault(token_.offset, "the expression is empty"));
    PAWL_TRY_ASSIGN(tree_.root, expression());
    if (token_.kind != Token::Kind::end) return fail(unexpected("an operator"));
    return std::move(tree_);
  }

 private:
  Result<void> advance() {
    PAWL_TRY_ASSIGN(token_, lexer_.next());
    return {};
  }

  Error unexpected(std::string_view wanted) const {
    if (token_.kind == Token::Kind::end)
      return lexer_.fault(token_.offset, fmt::format("the expression is incomplete: expected {}", wanted));
    std::string hint;
    if (token_.is("{") || token_.is("}")) hint = "put the whole expression in ${ }: ${a == b}";
    if (token_.is(":")) hint = "for a default value use default(x, y)";
    return lexer_.fault(token_.offset, fmt::format("expected {1}, found '{0}'", token_.text, wanted), std::move(hint));
  }

  Result<void> expect(std::string_view symbol) {
    if (!token_.is(symbol)) return fail(unexpected(fmt::format("'{}'", symbol)));
    return advance();
  }

  Node node(Node::Kind kind) const {
    Node made;
    made.kind = kind;
    made.column = lexer_.column(token_.offset);
    return made;
  }

  Result<void> enter() {
    if (++depth_ > kExpressionDepthMax)
      return fail(
          lexer_.fault(token_.offset, fmt::format("the expression has more than {} levels", kExpressionDepthMax)));
    return {};
  }

  /// Parses c ? a : b, and everything of higher precedence.
  Result<Node> expression() {
    PAWL_TRY(enter());
    PAWL_TRY_ASSIGN(Node first, either());
    if (token_.is("?")) {
      Node made = node(Node::Kind::conditional);
      PAWL_TRY(advance());
      PAWL_TRY_ASSIGN(Node then, expression());
      PAWL_TRY(expect(":"));
      PAWL_TRY_ASSIGN(Node otherwise, expression());
      made.children.push_back(std::move(first));
      made.children.push_back(std::move(then));
      made.children.push_back(std::move(otherwise));
      first = std::move(made);
    }
    --depth_;
    return first;
  }

  Result<Node> either() {
    PAWL_TRY_ASSIGN(Node first, both());
    if (!token_.is("||") && !token_.is_name("or")) return first;
    Node made = node(Node::Kind::any);
    made.children.push_back(std::move(first));
    while (token_.is("||") || token_.is_name("or")) {
      PAWL_TRY(advance());
      PAWL_TRY_ASSIGN(Node next, both());
      made.children.push_back(std::move(next));
    }
    return made;
  }

  Result<Node> both() {
    PAWL_TRY_ASSIGN(Node first, not_word());
    if (!token_.is("&&") && !token_.is_name("and")) return first;
    Node made = node(Node::Kind::all);
    made.children.push_back(std::move(first));
    while (token_.is("&&") || token_.is_name("and")) {
      PAWL_TRY(advance());
      PAWL_TRY_ASSIGN(Node next, not_word());
      made.children.push_back(std::move(next));
    }
    return made;
  }

  Result<Node> not_word() {
    if (!token_.is_name("not")) return chain(0);
    PAWL_TRY(enter());
    Node made = node(Node::Kind::not_true);
    PAWL_TRY(advance());
    PAWL_TRY_ASSIGN(Node child, not_word());
    made.children.push_back(std::move(child));
    --depth_;
    return made;
  }

  /// Returns the operator of this precedence at the current position. `not in` is read up to its `in`.
  Result<std::optional<Operator>> operator_here(const Strength& strength) {
    if (strength.operators.data() == kContainment.data() && token_.is_name("not")) {
      PAWL_TRY(advance());
      if (!token_.is_name("in")) return fail(unexpected("'in' after 'not'"));
      return std::optional(Operator::not_in);
    }
    if (token_.kind == Token::Kind::symbol || token_.is_name("in")) {
      for (const Operator op : strength.operators)
        if (to_text(op) == token_.text) return std::optional(op);
    }
    return std::optional<Operator>();
  }

  Result<Node> chain(std::size_t level) {
    if (level == kStrengths.size()) return unary();
    const Strength& strength = kStrengths[level];
    PAWL_TRY_ASSIGN(Node first, chain(level + 1));
    Node made = node(Node::Kind::chain);
    for (;;) {
      const std::size_t offset = token_.offset;
      PAWL_TRY_ASSIGN(const auto op, operator_here(strength));
      if (!op) break;
      if (!strength.chained && !made.operators.empty())
        return fail(lexer_.fault(offset, fmt::format("comparisons with '{}' can't be chained", to_text(*op)),
                                 "use && between two comparisons, or parentheses"));
      made.operators.push_back(*op);
      made.operator_columns.push_back(lexer_.column(offset));
      PAWL_TRY(advance());
      PAWL_TRY_ASSIGN(Node next, chain(level + 1));
      if (made.children.empty()) made.children.push_back(std::move(first));
      made.children.push_back(std::move(next));
    }
    if (made.operators.empty()) return first;
    return made;
  }

  Result<Node> unary() {
    if (!token_.is("!") && !token_.is("-")) return postfix();
    PAWL_TRY(enter());
    Node made = node(token_.is("!") ? Node::Kind::not_true : Node::Kind::negation);
    PAWL_TRY(advance());
    PAWL_TRY_ASSIGN(Node child, unary());
    made.children.push_back(std::move(child));
    --depth_;
    return made;
  }

  Result<Node> postfix() {
    const bool is_name = token_.kind == Token::Kind::name;  // otherwise parentheses end a path
    const std::size_t begin = token_.offset;
    PAWL_TRY_ASSIGN(Node base, primary());
    std::optional<std::size_t> reference;
    if (is_name && base.kind == Node::Kind::path) {
      reference = tree_.references.size();
      tree_.references.push_back({base.path, may_be_missing_, base.column});
    }
    while (token_.is(".") || token_.is("[")) {
      const std::size_t column = lexer_.column(token_.offset);
      PAWL_TRY_ASSIGN(Node part, token_.is(".") ? member() : element());
      const bool is_static =
          part.kind == Node::Kind::literal && (part.value.is_string() || part.value.is_number_integer());
      if (reference && base.kind == Node::Kind::path && is_static) {
        base.path.push_back(part.value.is_string() ? PathPart(part.value.get<std::string>())
                                                   : PathPart(part.value.get<std::int64_t>()));
        continue;
      }
      if (base.kind != Node::Kind::index) {
        // The static path ends here, because the next part depends on a value.
        if (reference && base.kind == Node::Kind::path) tree_.references[*reference].path = base.path;
        Node made = node(Node::Kind::index);
        made.column = column;
        made.children.push_back(std::move(base));
        base = std::move(made);
      }
      base.children.push_back(std::move(part));
    }
    if (!reference) return base;
    if (base.kind == Node::Kind::path) tree_.references[*reference].path = base.path;
    if (inputs_ != nullptr && std::get<std::string>(tree_.references[*reference].path[0]) == "inputs") {
      Node& path = base.kind == Node::Kind::path ? base : base.children[0];
      PAWL_TRY_ASSIGN(path, input(path, *reference, begin));
    }
    return base;
  }

  /// Returns the value of the input that `path` names, and replaces the reference to it by those of the value.
  Result<Node> input(const Node& path, std::size_t reference, std::size_t offset) {
    const auto* const name = path.path.size() > 1 ? std::get_if<std::string>(&path.path[1]) : nullptr;
    const auto found = name == nullptr ? inputs_->end() : inputs_->find(*name);
    if (found == inputs_->end()) return fail(unknown_input(name, offset));
    const Tree& value = found->second.tree();
    const std::span<const PathPart> rest = std::span(path.path).subspan(2);
    const bool missing = tree_.references[reference].may_be_missing;
    tree_.references.erase(tree_.references.begin() + static_cast<std::ptrdiff_t>(reference));
    for (Expression::Reference inner : value.references) {
      if (value.root.kind == Node::Kind::path) inner.path.insert(inner.path.end(), rest.begin(), rest.end());
      tree_.references.push_back({std::move(inner.path), missing || inner.may_be_missing, path.column, *name});
    }
    tree_.overrides_skipping = tree_.overrides_skipping || value.overrides_skipping;
    Node made = value.root;
    made.column = path.column;
    if (made.kind == Node::Kind::path) {
      made.path.insert(made.path.end(), rest.begin(), rest.end());
    } else if (!rest.empty()) {
      Node base = node(Node::Kind::index);
      base.column = path.column;
      base.children.push_back(std::move(made));
      for (const PathPart& part : rest) {
        Node key = node(Node::Kind::literal);
        key.column = path.column;
        key.value = std::visit([](const auto& one) { return Json(one); }, part);
        base.children.push_back(std::move(key));
      }
      made = std::move(base);
    }
    return made;
  }

  Error unknown_input(const std::string* name, std::size_t offset) const {
    std::vector<std::string> known;
    for (const auto& [each, value] : *inputs_) known.push_back(each);
    std::string hint = known.empty() ? "the template has no inputs: declare it under 'inputs:' of the template"
                                     : fmt::format("inputs of this template: {}", fmt::join(known, ", "));
    if (name == nullptr) return lexer_.fault(offset, "'inputs' requires a name", std::move(hint));
    const std::string nearest = suggest(*name, known);
    if (!nearest.empty()) hint = fmt::format("did you mean inputs.{}?", nearest);
    return lexer_.fault(offset, fmt::format("unknown input '{}'", *name), std::move(hint));
  }

  Result<Node> member() {
    PAWL_TRY(advance());
    if (token_.kind == Token::Kind::number)
      return fail(lexer_.fault(token_.offset, "expected a name after '.'", "write elements as [0]"));
    if (token_.kind != Token::Kind::name) return fail(unexpected("a name after the dot"));
    Node made = node(Node::Kind::literal);
    made.value = std::string(token_.text);
    PAWL_TRY(advance());
    return made;
  }

  Result<Node> element() {
    PAWL_TRY(advance());
    PAWL_TRY_ASSIGN(Node part, expression());
    PAWL_TRY(expect("]"));
    return part;
  }

  Result<Node> primary() {
    Node made = node(Node::Kind::literal);
    if (token_.kind == Token::Kind::number || token_.kind == Token::Kind::string) {
      made.value = std::move(token_.value);
      PAWL_TRY(advance());
      return made;
    }
    if (token_.kind == Token::Kind::name) return named();
    if (token_.is("(")) {
      PAWL_TRY(advance());
      PAWL_TRY_ASSIGN(made, expression());
      PAWL_TRY(expect(")"));
      return made;
    }
    if (!token_.is("[")) return fail(unexpected("a value"));
    made.kind = Node::Kind::array;
    PAWL_TRY(advance());
    PAWL_TRY_ASSIGN(made.children, list("]"));
    return made;
  }

  /// Parses what is between brackets, including the closing one.
  Result<std::vector<Node>> list(std::string_view closing) {
    std::vector<Node> nodes;
    while (!token_.is(closing)) {
      if (!nodes.empty()) PAWL_TRY(expect(","));
      PAWL_TRY_ASSIGN(Node next, expression());
      nodes.push_back(std::move(next));
    }
    PAWL_TRY(advance());
    return nodes;
  }

  Result<Node> named() {
    const Token name = token_;
    Node made = node(Node::Kind::literal);
    for (const std::string_view word : {"and", "or", "in", "not"})
      if (name.text == word) return fail(unexpected("a value"));
    PAWL_TRY(advance());
    if (token_.is("(")) return call(name);
    if (name.text == "true" || name.text == "false") {
      made.value = name.text == "true";
    } else if (name.text != "null") {
      made.kind = Node::Kind::path;
      made.path.emplace_back(std::string(name.text));
    }
    return made;
  }

  Result<Node> call(const Token& name) {
    const auto* const rule = std::find_if(kFunctions.begin(), kFunctions.end(),
                                          [&](const FunctionRule& each) { return each.name == name.text; });
    if (rule == kFunctions.end()) return fail(unknown_function(name));
    Node made = node(Node::Kind::call);
    made.column = lexer_.column(name.offset);
    made.function = rule->function;
    PAWL_TRY(advance());
    if (rule->function == Function::default_value) {
      PAWL_TRY_ASSIGN(made.children, default_arguments());
    } else {
      PAWL_TRY_ASSIGN(made.children, list(")"));
    }
    const std::size_t given = made.children.size();
    if (given < rule->arguments_min || given > rule->arguments_max)
      return fail(lexer_.fault(name.offset, fmt::format("{}() takes {}, not {}", rule->name, arity(*rule), given)));
    if (rule->function == Function::always || rule->function == Function::failed) tree_.overrides_skipping = true;
    return made;
  }

  static std::string arity(const FunctionRule& rule) {
    const bool one = rule.arguments_min == 1 && (rule.arguments_max == 1 || rule.arguments_max == kMany);
    const std::string_view least = rule.arguments_max == kMany ? "at least " : "";
    const bool either = rule.arguments_max == rule.arguments_min + 1;
    const std::string most = either ? fmt::format(" or {}", rule.arguments_max) : "";
    return fmt::format("{}{}{} argument{}", least, rule.arguments_min, most, one ? "" : "s");
  }

  Result<std::vector<Node>> default_arguments() {
    const bool outer = may_be_missing_;
    may_be_missing_ = true;
    std::vector<Node> nodes;
    if (!token_.is(")")) {
      PAWL_TRY_ASSIGN(Node first, expression());
      nodes.push_back(std::move(first));
    }
    may_be_missing_ = outer;
    if (token_.is(",")) {
      PAWL_TRY(advance());
      PAWL_TRY_ASSIGN(auto rest, list(")"));
      std::move(rest.begin(), rest.end(), std::back_inserter(nodes));
      return nodes;
    }
    PAWL_TRY(expect(")"));
    return nodes;
  }

  Error unknown_function(const Token& name) const {
    std::vector<std::string> known;
    for (const FunctionRule& rule : kFunctions) known.emplace_back(rule.name);
    const std::string_view habit = function_known_as(name.text);
    const std::string nearest = habit.empty() ? suggest(name.text, known) : std::string(habit);
    if (name.text == "success")
      return lexer_.fault(name.offset, "unknown function 'success'", "a step runs only if those before it succeeded");
    return lexer_.fault(name.offset, fmt::format("unknown function '{}'", name.text),
                        nearest.empty() ? fmt::format("the functions are {}", fmt::join(known, ", "))
                                        : fmt::format("did you mean {}()?", nearest));
  }

  Lexer lexer_;
  const Inputs* inputs_;
  Token token_;
  Tree tree_;
  std::size_t depth_ = 0;
  bool may_be_missing_ = false;
};

}  // namespace

std::string_view to_text(Operator op) {
  for (const OperatorText& each : kOperators)
    if (each.op == op) return each.text;
  return {};
}

std::span<const FunctionRule> functions() { return kFunctions; }

Result<Tree> parse(std::string_view text, std::size_t first_column, const Inputs* inputs) {
  const Lexer whole(text, 0, text.size(), first_column);
  if (text.size() > kTextBytesMax)
    return fail(whole.fault(0, fmt::format("the expression is longer than {} KiB", kTextBytesMax / 1024)));
  if (const std::size_t at = invalid_utf8_at(text); at != std::string_view::npos)
    return fail(whole.fault(at, "the expression is not valid UTF-8"));
  constexpr std::string_view kSpace = " \t\r\n";
  std::size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  std::size_t end = std::max(text.find_last_not_of(kSpace) + 1, begin);
  if (text.substr(begin, end - begin).starts_with("${") && text[end - 1] == '}') {
    begin += 2;
    --end;
  }
  return Parser(Lexer(text, begin, end, first_column), inputs).parse();
}

}  // namespace pawl::expression_tree
