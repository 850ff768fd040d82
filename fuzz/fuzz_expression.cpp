// Workflow text: expressions, templates and commands. Whatever can be parsed is also evaluated with small values.
#include <cstdint>
#include <string_view>

#include "base/assert.hpp"
#include "language/expression.hpp"
#include "language/shell_command.hpp"
#include "language/text_template.hpp"

namespace {

using namespace pawl;

class SmallNames : public Names {
 public:
  [[nodiscard]] Result<Json> find(std::span<const PathPart> path) const override {
    PAWL_ASSERT(!path.empty() && std::holds_alternative<std::string>(path[0]));
    static const Json all = Json::parse(
        R"({"vars": {"a": "x", "n": -3, "r": 2.5, "o": {"k": [1, null]}, "none": null}, "item": [true], "index": 7})");
    return follow(all, path);
  }
};

void check(const Result<Json>& value) {
  if (value) {
    PAWL_ASSERT(!compact(*value).empty());
  } else {
    PAWL_ASSERT(value.error().code == Code::invalid_expression || value.error().code == Code::unknown_name);
    PAWL_ASSERT(!value.error().message.empty());
  }
}

void expression(std::string_view text) {
  const auto parsed = Expression::parse(text);
  if (!parsed) {
    PAWL_ASSERT(parsed.error().code == Code::invalid_expression && !parsed.error().where.empty());
    return;
  }
  for (const auto& reference : parsed->references()) PAWL_ASSERT(!to_text(reference.path).empty());
  check(parsed->evaluate(SmallNames()));
}

void command(std::string_view text, Shell shell) {
  const auto parsed = TextTemplate::parse(text, reserved_names(), TextTemplate::Unknown::keep);
  if (!parsed) return;
  const auto made = to_shell_command(*parsed, shell);
  if (!made) {
    PAWL_ASSERT(made.error().code == Code::invalid_command);
    return;
  }
  std::size_t expressions = 0;
  for (const auto& part : parsed->parts()) expressions += part.expression ? 1 : 0;
  PAWL_ASSERT(made->arguments.size() <= expressions && made->arguments.empty() == (expressions == 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  expression(text);
  if (const auto strict = TextTemplate::parse(text, reserved_names(), TextTemplate::Unknown::refuse))
    check(strict->evaluate(SmallNames()));
  command(text, Shell::sh);
  command(text, Shell::bash);
  return 0;
}
