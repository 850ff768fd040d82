// Text that contains `${...}`.
//
// `${...}` is an expression if it begins with a reserved name (vars, steps, item, index, loop, map, run, env), a
// declared alias or the call of a function. Any other `${X}` stays as it is; in a command it belongs to the shell.
// `$${` is a literal `${`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "language/expression.hpp"

namespace pawl {

/// Returns the names that are reserved everywhere. Aliases of captures are added to them.
[[nodiscard]] const std::set<std::string, std::less<>>& reserved_names();

class TextTemplate {
 public:
  struct Part {
    std::string text;                      // as written, but with `$${` replaced by `${`
    std::optional<Expression> expression;  // set if this part is a value
    std::size_t offset = 0;                // of the part in the source
  };

  TextTemplate() = default;
  /// Parses `source`. `names` are reserved_names() and the aliases. If unknown names are refused (everywhere but in
  /// commands), every `${X}` is an expression, and one that begins with another name fails with unknown_name. If they
  /// are kept, `${X.` still fails if X is a misspelt name. An expression that is not closed fails with
  /// invalid_expression. `Error::where` is "column N" within the source.
  enum class Unknown : std::uint8_t { keep, refuse };
  [[nodiscard]] static Result<TextTemplate> parse(std::string_view source,
                                                  const std::set<std::string, std::less<>>& names, Unknown unknown,
                                                  const Inputs* inputs = nullptr);

  [[nodiscard]] const std::string& source() const { return source_; }
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  [[nodiscard]] bool empty() const { return source_.empty(); }
  /// Returns whether it contains no expression.
  [[nodiscard]] bool is_constant() const;
  [[nodiscard]] std::vector<Expression::Reference> references() const;

  /// Returns the value. A text that consists of one `${x}` keeps its JSON type. Otherwise strings are inserted
  /// unchanged and other values as compact JSON.
  [[nodiscard]] Result<Json> evaluate(const Names& names) const;
  /// Returns the value as text.
  [[nodiscard]] Result<std::string> render(const Names& names) const;

 private:
  std::string source_;
  std::vector<Part> parts_;
};

/// Returns a value as it is inserted into text: strings unchanged, other values as compact JSON.
[[nodiscard]] std::string text_of(const Json& value);

/// A JSON value whose strings are templates: `with:`, and `items:` if it is a list.
class ValueTemplate {
 public:
  /// A product is an object of lists: `matrix:`. Its value is the list of all combinations, each an object with one
  /// element of every list. The last key changes fastest. Fails if there are more than 100,000 combinations, or if they
  /// are larger than 64 MiB.
  enum class Form : std::uint8_t { value, product };

  ValueTemplate() = default;
  [[nodiscard]] static Result<ValueTemplate> parse(const Json& value, const std::set<std::string, std::less<>>& names,
                                                   const Inputs* inputs = nullptr, Form form = Form::value);
  [[nodiscard]] std::vector<Expression::Reference> references() const;
  [[nodiscard]] Result<Json> evaluate(const Names& names) const;
  [[nodiscard]] const Json& source() const { return source_; }
  [[nodiscard]] Form form() const { return form_; }
  /// Returns an expression with the same value. Fails if an object contains an expression.
  [[nodiscard]] Result<Expression> as_expression() const;

 private:
  Form form_ = Form::value;
  Json source_;
  std::vector<std::pair<Json::json_pointer, TextTemplate>> texts_;
};

}  // namespace pawl
