// The expression language of `when:`, `until:` and `${...}`. It is typed and has no side effects.
//
//   literals     1  2.5  'text'  "text"  true  false  null  [1, 2]
//   paths        vars.topic   steps.score.output.value   item["a key"]   steps.x.output[0]
//   operators    ! -   * / %   + -   < <= > >=   == !=   in, not in   not   && (and)   || (or)   c ? a : b
//   functions    default(x, y)  length(x)  contains(x, y)  lower(x)  upper(x)  starts_with(x, y)  ends_with(x, y)
//                number(x)  text(x)  json(x)  keys(x)  min(x, ...)  max(x, ...)  round(x)  always()  failed()
//                range(n)  range(a, b)  join(x, y)  pluck(x, y)
//
// Operators are listed from the highest precedence to the lowest. The word `not` has a lower precedence than
// comparisons, as in Python. A name after a dot may contain '-' (`steps.cool-down.output`), so a subtraction requires
// spaces around '-'. Strings in double quotes have the escapes \" \\ \n \t \uXXXX. In single quotes there are no
// escapes; '' is a quote. Integers that do not fit 64 bits become floating point; `7 / 2` is 3.5 and `6 / 2` is 3.
// `lower` and `upper` change ASCII letters only. `json` parses a text and returns other values unchanged. `range`
// returns the integers from 0 or a up to, but without, n or b. `join` returns a text, `pluck` a field of each element.
//
// Every evaluation ends: there are no loops, and recursion is bounded by the nesting of the text (at most 64). A result
// of `range` has at most 100,000 elements, one of `join` at most 8 MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace pawl {

/// One step of a path: the name of a member or the index of an element.
using PathPart = std::variant<std::string, std::int64_t>;
using Path = std::vector<PathPart>;
/// For example `steps.outline.output.pages[0]`.
[[nodiscard]] std::string to_text(std::span<const PathPart> path);

/// Provides the values of names.
class Names {
 public:
  virtual ~Names() = default;
  /// Returns the value at this path, whose first part is a name. The path contains the static part of the expression.
  /// Fails with unknown_name if there is no such value; `default` catches that.
  [[nodiscard]] virtual Result<Json> find(std::span<const PathPart> path) const = 0;
  /// Returns the value of `failed()`: whether a step that this step waits for has failed.
  [[nodiscard]] virtual bool failed() const { return false; }
};

/// Follows `path` into `value`. A member of null is null, because the output of a skipped step is null. Fails with
/// unknown_name, which lists the existing members, if a member or element does not exist.
[[nodiscard]] Result<Json> follow(const Json& value, std::span<const PathPart> path);

namespace expression_tree {
struct Tree;
}

class Expression;
/// The values of a template's inputs, by name. An expression inside the template contains them where it has
/// `inputs.NAME`.
using Inputs = std::map<std::string, Expression, std::less<>>;

/// A parsed expression. Cheap to copy; thread-safe.
class Expression {
 public:
  /// Parses `text`. Ignores `${ ... }` around the whole text. Fails with invalid_expression. `Error::where` is "column
  /// N"; the first character of `text` has `first_column`. Columns count code points. Without `inputs`, the name
  /// `inputs` is one like any other.
  [[nodiscard]] static Result<Expression> parse(std::string_view text, std::size_t first_column = 1,
                                                const Inputs* inputs = nullptr);
  /// `text` is for people.
  [[nodiscard]] static Expression of(expression_tree::Tree tree, std::string text);

  [[nodiscard]] const std::string& text() const;
  /// Returns the static part of every path that it uses, for checking names before anything runs. Paths in the first
  /// argument of `default` are marked, because they may be missing.
  struct Reference {
    Path path;
    bool may_be_missing = false;
    std::size_t column = 0;     // as in errors
    std::string of_input = {};  // the input of the template that contains it; empty if it stands in the text itself
  };
  [[nodiscard]] const std::vector<Reference>& references() const;
  /// Returns whether it calls always() or failed(). Such a step also runs after a failed or skipped dependency.
  [[nodiscard]] bool overrides_skipping() const;
  [[nodiscard]] const expression_tree::Tree& tree() const;

  /// Evaluates the expression. Fails with unknown_name, or with invalid_expression if types do not match (`'a' < 1`).
  [[nodiscard]] Result<Json> evaluate(const Names& names) const;
  /// Evaluates it as a condition: null, false, 0, "", [] and {} are false.
  [[nodiscard]] Result<bool> test(const Names& names) const;

 private:
  struct Parsed;
  explicit Expression(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace pawl
