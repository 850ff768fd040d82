#include <cmath>

#include "language/expression_tree.hpp"

namespace pawl::expression_tree {
namespace {

std::string place(std::size_t column) { return fmt::format("column {}", column); }

template <class T>
Result<T> placed(Result<T> result, std::size_t column) {
  if (!result) return fail(at(std::move(result).error(), place(column)));
  return result;
}

Result<Json> finite(double value) {
  if (!std::isfinite(value)) return fail(Code::invalid_expression, "the result is too large for a number");
  return Json(value);
}

/// Returns the integer value of a number, if it fits.
std::optional<std::int64_t> integer(const Json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) return std::nullopt;
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

/// Returns nothing if the result is not an integer of 64 bits.
std::optional<std::int64_t> exact(Operator op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case Operator::add: return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Operator::subtract: return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Operator::multiply: return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Operator::divide:
      if ((a == INT64_MIN && b == -1) || a % b != 0) return std::nullopt;
      return a / b;
    default: return b == -1 ? 0 : a % b;
  }
}

Result<Json> arithmetic(Operator op, const Json& a, const Json& b) {
  if (op == Operator::add && a.is_string() && b.is_string())
    return Json(a.get_ref<const std::string&>() + b.get_ref<const std::string&>());
  if (!a.is_number() || !b.is_number()) {
    Error error{Code::invalid_expression,
                fmt::format("'{}' does not work with {} and {}", to_text(op), type_text(a), type_text(b)),
                {},
                {},
                0};
    if (op == Operator::add && (a.is_string() || b.is_string())) error.hint = "use text(x) or number(x)";
    return fail(std::move(error));
  }
  const auto right = b.get<double>();
  if (right == 0 && (op == Operator::divide || op == Operator::remainder))
    return fail(Code::invalid_expression, "division by zero");
  const auto a_integer = integer(a);
  const auto b_integer = integer(b);
  if (a_integer && b_integer) {
    if (const auto result = exact(op, *a_integer, *b_integer)) return Json(*result);
  }
  const auto left = a.get<double>();
  switch (op) {
    case Operator::add: return finite(left + right);
    case Operator::subtract: return finite(left - right);
    case Operator::multiply: return finite(left * right);
    case Operator::divide: return finite(left / right);
    default: return finite(std::fmod(left, right));
  }
}

Result<Json> joined(Operator op, const Json& a, const Json& b) {
  switch (op) {
    case Operator::equal: return Json(equal(a, b));
    case Operator::not_equal: return Json(!equal(a, b));
    case Operator::in:
    case Operator::not_in: {
      PAWL_TRY_ASSIGN(const bool found, is_in(a, b));
      return Json(found == (op == Operator::in));
    }
    case Operator::less:
    case Operator::less_equal:
    case Operator::greater:
    case Operator::greater_equal: {
      PAWL_TRY_ASSIGN(const int order, compare(a, b, to_text(op)));
      return Json(op == Operator::less         ? order < 0
                  : op == Operator::less_equal ? order <= 0
                  : op == Operator::greater    ? order > 0
                                               : order >= 0);
    }
    default: return arithmetic(op, a, b);
  }
}

Result<Json> chain(const Node& node, const Names& names) {
  PAWL_TRY_ASSIGN(Json value, evaluate(node.children[0], names));
  for (std::size_t i = 0; i < node.operators.size(); ++i) {
    PAWL_TRY_ASSIGN(const Json next, evaluate(node.children[i + 1], names));
    PAWL_TRY_ASSIGN(value, placed(joined(node.operators[i], value, next), node.operator_columns[i]));
  }
  return value;
}

Result<PathPart> path_part(const Json& value) {
  if (value.is_string()) return PathPart(value.get<std::string>());
  if (const auto index = integer(value)) return PathPart(*index);
  if (value.is_number_float()) {
    const auto real = value.get<double>();
    if (std::trunc(real) == real && std::abs(real) < 9e15) return PathPart(static_cast<std::int64_t>(real));
  }
  return fail(Code::invalid_expression, "{} can't be used as a key or an index", type_text(value));
}

Result<Json> index(const Node& node, const Names& names) {
  PAWL_TRY_ASSIGN(const Json base, evaluate(node.children[0], names));
  Path path;
  for (std::size_t i = 1; i < node.children.size(); ++i) {
    PAWL_TRY_ASSIGN(const Json value, evaluate(node.children[i], names));
    PAWL_TRY_ASSIGN(PathPart part, placed(path_part(value), node.children[i].column));
    path.push_back(std::move(part));
  }
  return placed(follow(base, path), node.column);
}

/// Evaluates && and ||: `deciding` is the truth value of an operand that ends the evaluation.
Result<Json> until(const Node& node, const Names& names) {
  const bool deciding = node.kind == Node::Kind::any;
  for (const Node& child : node.children) {
    PAWL_TRY_ASSIGN(const Json value, evaluate(child, names));
    if (is_true(value) == deciding) return Json(deciding);
  }
  return Json(!deciding);
}

Result<Json> called(const Node& node, const Names& names) {
  if (node.function == Function::always) return Json(true);
  if (node.function == Function::failed) return Json(names.failed());
  if (node.function == Function::default_value) {
    auto value = evaluate(node.children[0], names);
    if (value ? !value->is_null() : value.error().code != Code::unknown_name) return value;
    return evaluate(node.children[1], names);
  }
  std::vector<Json> arguments;
  for (const Node& child : node.children) {
    PAWL_TRY_ASSIGN(Json value, evaluate(child, names));
    arguments.push_back(std::move(value));
  }
  return placed(call(node.function, arguments), node.column);
}

Result<Json> negated(const Node& node, const Names& names) {
  PAWL_TRY_ASSIGN(const Json value, evaluate(node.children[0], names));
  if (!value.is_number())
    return fail(at(Error{Code::invalid_expression, fmt::format("'-' can't negate {}", type_text(value)), {}, {}, 0},
                   place(node.column)));
  if (value.is_number_float()) return Json(-value.get<double>());
  return placed(arithmetic(Operator::subtract, Json(0), value), node.column);
}

}  // namespace

Result<Json> evaluate(const Node& node, const Names& names) {
  switch (node.kind) {
    case Node::Kind::literal: return node.value;
    case Node::Kind::path: return placed(names.find(node.path), node.column);
    case Node::Kind::index: return index(node, names);
    case Node::Kind::negation: return negated(node, names);
    case Node::Kind::chain: return chain(node, names);
    case Node::Kind::all:
    case Node::Kind::any: return until(node, names);
    case Node::Kind::call: return called(node, names);
    case Node::Kind::not_true: {
      PAWL_TRY_ASSIGN(const Json value, evaluate(node.children[0], names));
      return Json(!is_true(value));
    }
    case Node::Kind::conditional: {
      PAWL_TRY_ASSIGN(const Json condition, evaluate(node.children[0], names));
      return evaluate(node.children[is_true(condition) ? 1 : 2], names);
    }
    case Node::Kind::array: {
      Json values = Json::array();
      for (const Node& child : node.children) {
        PAWL_TRY_ASSIGN(Json value, evaluate(child, names));
        values.push_back(std::move(value));
      }
      return values;
    }
  }
  return Json();
}

}  // namespace pawl::expression_tree
