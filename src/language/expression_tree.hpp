// The tree of an expression, shared by the parser and the evaluation.
//
// A chain of operators of the same precedence is one node with many children. The depth of a tree therefore depends on
// the nesting of the text and not on its length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "language/expression.hpp"

namespace pawl::expression_tree {

enum class Operator : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  remainder,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  in,
  not_in,
};
/// Returns the operator as it is written.
[[nodiscard]] std::string_view to_text(Operator op);

enum class Function : std::uint8_t {
  default_value,
  length,
  contains,
  lower,
  upper,
  starts_with,
  ends_with,
  number,
  text,
  json,
  keys,
  min,
  max,
  round,
  range,
  join,
  pluck,
  always,
  failed,
};

struct FunctionRule {
  Function function;
  std::string_view name;
  std::size_t arguments_min;
  std::size_t arguments_max;
};
[[nodiscard]] std::span<const FunctionRule> functions();

struct Node {
  enum class Kind : std::uint8_t {
    literal,      // value
    array,        // children
    path,         // path
    index,        // children: the base, then the keys and indices to follow
    negation,     // `-` of its child
    not_true,     // `!` of its child
    chain,        // children connected by operators, from the left
    all,          // && of its children
    any,          // || of its children
    conditional,  // children: condition, then, else
    call,         // function, children
  };
  Kind kind = Kind::literal;
  std::size_t column = 0;
  Json value = {};
  Path path = {};
  Function function = Function::always;
  std::vector<Operator> operators = {};
  std::vector<std::size_t> operator_columns = {};
  std::vector<Node> children = {};
};

struct Tree {
  Node root = {};
  std::vector<Expression::Reference> references = {};
  bool overrides_skipping = false;
};

/// Parses an expression. Fails with invalid_expression.
[[nodiscard]] Result<Tree> parse(std::string_view text, std::size_t first_column, const Inputs* inputs);
[[nodiscard]] Result<Json> evaluate(const Node& node, const Names& names);
/// Calls a function that depends only on its arguments: any but default, always and failed.
[[nodiscard]] Result<Json> call(Function function, std::span<const Json> arguments);

/// Returns the value as a condition: null, false, 0, "", [] and {} are false.
[[nodiscard]] bool is_true(const Json& value);
/// Compares numbers by value and objects without regard to the order of keys.
[[nodiscard]] bool equal(const Json& a, const Json& b);
/// Returns a negative number, 0 or a positive number. Fails unless both are numbers or both are strings.
[[nodiscard]] Result<int> compare(const Json& a, const Json& b, std::string_view what);
/// Returns whether `element` is an element, key or substring of `whole`. null contains nothing.
[[nodiscard]] Result<bool> is_in(const Json& element, const Json& whole);
/// Returns the type for messages: "a string", "a number" and so on.
[[nodiscard]] std::string_view type_text(const Json& value);

}  // namespace pawl::expression_tree
