// Text with `${...}` in it.
//
// `${expression}` is Pawl's when it begins with one of Pawl's names (vars, steps, item, index, loop, map, run,
// env), a declared alias or a call of one of the functions; any other `${X}` stays as it is (in a command it is
// the shell's). `$${` is a literal `${`.
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

/// The names that are Pawl's everywhere; aliases of captures come to these.
[[nodiscard]] const std::set<std::string, std::less<>>& reserved_names();

class TextTemplate {
 public:
  struct Part {
    std::string text;                      // as it stands; `$${` is `${` here
    std::optional<Expression> expression;  // set: this part is a value
    std::size_t offset = 0;                // of the part in the source
  };

  TextTemplate() = default;
  /// `names`: reserved_names() and the aliases. Where unknown ones are refused (everything but commands), every
  /// `${X}` is an expression, and one that begins with another name fails with unknown_name. Where they are
  /// kept, `${X.` fails all the same if X is a misspelt name. `${` of Pawl's without an end fails with
  /// invalid_expression. `Error::where` is "column N" within the source.
  enum class Unknown : std::uint8_t { keep, refuse };
  [[nodiscard]] static Result<TextTemplate> parse(std::string_view source,
                                                  const std::set<std::string, std::less<>>& names, Unknown unknown);

  [[nodiscard]] const std::string& source() const { return source_; }
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  [[nodiscard]] bool empty() const { return source_.empty(); }
  [[nodiscard]] std::vector<Expression::Reference> references() const;

  /// A lone `${x}` keeps its JSON type; inside text, strings as they are and others as compact JSON.
  [[nodiscard]] Result<Json> evaluate(const Names& names) const;
  /// The same as text.
  [[nodiscard]] Result<std::string> render(const Names& names) const;

 private:
  std::string source_;
  std::vector<Part> parts_;
};

/// A value within text: strings as they are, others as compact JSON.
[[nodiscard]] std::string text_of(const Json& value);

/// A JSON value whose strings are templates: `with:`, and `items:` given as a list.
class ValueTemplate {
 public:
  ValueTemplate() = default;
  [[nodiscard]] static Result<ValueTemplate> parse(const Json& value, const std::set<std::string, std::less<>>& names);
  [[nodiscard]] std::vector<Expression::Reference> references() const;
  [[nodiscard]] Result<Json> evaluate(const Names& names) const;
  [[nodiscard]] const Json& source() const { return source_; }

 private:
  Json source_;
  std::vector<std::pair<Json::json_pointer, TextTemplate>> texts_;
};

}  // namespace pawl
