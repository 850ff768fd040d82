// The small language of `when:`, `until:` and `${...}`: typed, total, without side effects.
//
//   literals     1  2.5  'text'  "text"  true  false  null  [1, 2]
//   paths        vars.topic   steps.score.output.value   item["a key"]   steps.x.output[0]
//   operators    ! -   * / %   + -   < <= > >=   == !=   in, not in   not   && (and)   || (or)   c ? a : b
//   functions    default(x, y)  length(x)  contains(x, y)  lower(x)  upper(x)  starts_with(x, y)  ends_with(x, y)
//                number(x)  text(x)  json(x)  keys(x)  min(x, ...)  max(x, ...)  round(x)  always()  failed()
//
// The strongest operators come first. The word `not` is weaker than comparisons, as in Python. After a dot a
// name may have '-' inside (`steps.cool-down.output`), so a subtraction needs spaces around its '-'.
// "..." knows \" \\ \n \t \uXXXX; in '...' everything stands for itself, and '' is a quote.
// Integers that don't fit 64 bits become floating point; `7 / 2` is 3.5 and `6 / 2` is 3. `lower` and `upper`
// change ASCII letters. `json` makes a value of a text; other values stay as they are.
//
// Every evaluation ends: there are no loops and no recursion beyond the text's own nesting (at most 64).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace pawl {

/// One step of a path: a member's name or an element's index.
using PathPart = std::variant<std::string, std::int64_t>;
using Path = std::vector<PathPart>;
/// `steps.outline.output.pages[0]`
[[nodiscard]] std::string to_text(std::span<const PathPart> path);

/// Where names get their values from.
class Names {
 public:
  virtual ~Names() = default;
  /// The value at this path; its first part is a name, and the path is as long as the expression is static.
  /// Fails with unknown_name where there is none: `default` catches that.
  [[nodiscard]] virtual Result<Json> find(std::span<const PathPart> path) const = 0;
  /// Whether something that this expression's step waits for has failed: the value of `failed()`.
  [[nodiscard]] virtual bool failed() const { return false; }
};

/// Follows `path` into `value`. A member of null is null (a skipped step's output is null). Fails with
/// unknown_name, naming the members there are, where a member or element does not exist.
[[nodiscard]] Result<Json> follow(const Json& value, std::span<const PathPart> path);

/// A parsed expression. Cheap to copy; thread-safe.
class Expression {
 public:
  /// Braces around the whole text (`${ ... }`) are dropped. Fails with invalid_expression; `Error::where` is
  /// "column N" within `text`, whose first character is in `first_column`. Columns count code points.
  [[nodiscard]] static Result<Expression> parse(std::string_view text, std::size_t first_column = 1);

  [[nodiscard]] const std::string& text() const;
  /// Every path it uses, as far as it is static, for checking names before anything runs. Those inside
  /// `default(x, ...)`'s first argument are marked: they may be missing.
  struct Reference {
    Path path;
    bool may_be_missing = false;
    std::size_t column = 0;  // as in errors
  };
  [[nodiscard]] const std::vector<Reference>& references() const;
  /// Whether it calls always() or failed(): such a step also runs after a failed or skipped need.
  [[nodiscard]] bool overrides_skipping() const;

  /// Fails with unknown_name, or invalid_expression where types don't fit (`'a' < 1`).
  [[nodiscard]] Result<Json> evaluate(const Names& names) const;
  /// The same as a condition: null, false, 0, "", [] and {} are false.
  [[nodiscard]] Result<bool> test(const Names& names) const;

 private:
  struct Parsed;
  explicit Expression(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace pawl
