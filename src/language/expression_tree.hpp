// What the parser of expressions makes and the evaluation walks over: internal to both.
//
// Chains of operators of one strength are one node with many children, so that the depth of a tree depends
// on the nesting of the text and not on its length.
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
/// As it is written.
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
    index,        // children: the base, then what is followed from it
    negation,     // `-` of its child
    not_true,     // `!` of its child
    chain,        // children joined by operators, from the left
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

/// Fails with invalid_expression.
[[nodiscard]] Result<Tree> parse(std::string_view text, std::size_t first_column);
[[nodiscard]] Result<Json> evaluate(const Node& node, const Names& names);
/// A function of values only: all but default, always and failed.
[[nodiscard]] Result<Json> call(Function function, std::span<const Json> arguments);

/// null, false, 0, "", [] and {} are false.
[[nodiscard]] bool is_true(const Json& value);
/// Numbers by their value, objects without regard to the order of keys.
[[nodiscard]] bool equal(const Json& a, const Json& b);
/// Negative, 0 or positive. Fails unless both are numbers or both are strings.
[[nodiscard]] Result<int> compare(const Json& a, const Json& b, std::string_view what);
/// Whether `element` is an element, key or part of `whole`; nothing is in null.
[[nodiscard]] Result<bool> is_in(const Json& element, const Json& whole);
/// "a string", "a number", ...
[[nodiscard]] std::string_view type_text(const Json& value);

}  // namespace pawl::expression_tree
