// range, join, pluck; and the inputs of templates.
#include <gtest/gtest.h>

#include "language/text_template.hpp"

namespace pawl {
namespace {

class ListNames final : public Names {
 public:
  [[nodiscard]] Result<Json> find(std::span<const PathPart> path) const override {
    static const Json kAll =
        Json::parse(R"({"vars": {"n": 3, "list": [{"a": 1}, {"a": "x"}, null], "name": "tides"}})");
    return follow(kAll, path);
  }
};

/// Returns the value as JSON, or the error.
std::string list_result(std::string_view text, const Inputs* inputs = nullptr) {
  const auto expression = Expression::parse(text, 1, inputs);
  if (!expression) return describe(expression.error());
  const auto value = expression->evaluate(ListNames());
  return value ? compact(*value) : value.error().message;
}

TEST(ListFunctions, RangeCountsUpToItsEnd) {
  EXPECT_EQ(list_result("range(4)"), "[0,1,2,3]");
  EXPECT_EQ(list_result("range(vars.n)"), "[0,1,2]");
  EXPECT_EQ(list_result("range(2, 5)"), "[2,3,4]");
  EXPECT_EQ(list_result("range(-1, 1)"), "[-1,0]");
  EXPECT_EQ(list_result("range(0)"), "[]");
  EXPECT_EQ(list_result("range(3, 1)"), "[]");
  EXPECT_EQ(list_result("length(range(100000))"), "100000");
  EXPECT_EQ(list_result("range(100001)"), "range() returns at most 100000 numbers, not 100001");
  EXPECT_EQ(list_result("range(-9000000000000000000, 9000000000000000000)"),
            "-9000000000000000000 is too large for range()");
  EXPECT_EQ(list_result("range(1.5)"), "range() takes whole numbers, not a number");
  EXPECT_EQ(list_result("range('3')"), "range() takes whole numbers, not a string");
  EXPECT_TRUE(list_result("range()").find("range() takes 1 or 2 arguments, not 0") != std::string::npos);
}

TEST(ListFunctions, JoinMakesAText) {
  EXPECT_EQ(list_result("join([1, 'b', [2]], ', ')"), R"("1, b, [2]")");
  EXPECT_EQ(list_result("join([], '-')"), R"("")");
  EXPECT_EQ(list_result("join(null, '-')"), R"("")");
  EXPECT_EQ(list_result("join('abc', '-')"), "join() takes an array, not a string");
  EXPECT_EQ(list_result("join([1], 2)"), "join() takes a string between the elements, not a number");
  EXPECT_EQ(list_result("length(join(range(100000), '" + std::string(78, '-') + "'))"), "8288812");
  EXPECT_EQ(list_result("join(range(100000), '" + std::string(100, '-') + "')"),
            "the result of join() is larger than 8 MiB");
}

TEST(ListFunctions, PluckTakesAFieldOfEachElement) {
  EXPECT_EQ(list_result("pluck(vars.list, 'a')"), R"([1,"x",null])");
  EXPECT_EQ(list_result("pluck([], 'a')"), "[]");
  EXPECT_EQ(list_result("pluck(vars.list, 'b')"), "element 0: no member 'b' (known: a)");
  EXPECT_EQ(list_result("default(pluck(vars.list, 'b'), [])"), "[]");
  EXPECT_EQ(list_result("pluck(vars.list, 0)"), "pluck() takes the name of a field, not a number");
  EXPECT_EQ(list_result("pluck(vars.name, 'a')"), "pluck() takes an array, not a string");
}

Result<ValueTemplate> matrix(const Json& lists) {
  return ValueTemplate::parse(lists, reserved_names(), nullptr, ValueTemplate::Form::product);
}

TEST(Matrix, IsTheProductOfItsListsTheLastKeyFastest) {
  const auto parsed = matrix({{"model", {"a", "b"}}, {"case", "${range(vars.n)}"}});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(compact(*parsed->evaluate(ListNames())),
            R"([{"model":"a","case":0},{"model":"a","case":1},{"model":"a","case":2},)"
            R"({"model":"b","case":0},{"model":"b","case":1},{"model":"b","case":2}])");
  EXPECT_EQ(compact(*matrix({{"a", {1, 2}}, {"b", Json::array()}})->evaluate(ListNames())), "[]");
}

TEST(Matrix, IsBounded) {
  const auto told = [](const Json& lists) { return matrix(lists)->evaluate(ListNames()).error().message; };
  EXPECT_EQ(matrix({{"a", "${range(1000)}"}, {"b", "${range(100)}"}})->evaluate(ListNames())->size(), 100'000U);
  EXPECT_EQ(told({{"a", "${range(1000)}"}, {"b", "${range(101)}"}}), "the matrix has more than 100000 combinations");
  EXPECT_EQ(told({{"a", "${range(50000)}"}, {"b", {std::string(5'000, 'x')}}}),
            "the combinations of the matrix are larger than 64 MiB");
  EXPECT_EQ(told({{"a", "${vars.name}"}}), "'a' of the matrix must be a list, not a string");
}

Inputs inputs_of(const Json& values) {
  Inputs inputs;
  for (const auto& [name, value] : values.items())
    inputs.emplace(name, *ValueTemplate::parse(value, reserved_names())->as_expression());
  return inputs;
}

TEST(TemplateInputs, StandForTheirValues) {
  const Inputs inputs = inputs_of({{"n", 2},
                                   {"deep", {{"a", {7, 8}}}},
                                   {"list", "${vars.list}"},
                                   {"text", "on ${vars.name}, ${vars.n} times"},
                                   {"both", {"${vars.n}", "x"}},
                                   {"sum", "${vars.n + 1}"}});
  EXPECT_EQ(list_result("inputs.n * 2", &inputs), "4");
  EXPECT_EQ(list_result("inputs.deep.a[1]", &inputs), "8");
  EXPECT_EQ(list_result("inputs.list[0].a", &inputs), "1");
  EXPECT_EQ(list_result("inputs['list'][inputs.n - 2].a", &inputs), "1");
  EXPECT_EQ(list_result("inputs.text", &inputs), R"("on tides, 3 times")");
  EXPECT_EQ(list_result("inputs.both", &inputs), R"([3,"x"])");
  EXPECT_EQ(list_result("inputs.sum * 2", &inputs), "8") << "a value, not a text";
  EXPECT_EQ(list_result("default(inputs.list[0].b, 'none')", &inputs), R"("none")");
  const auto text = TextTemplate::parse("${inputs.text}!", {"inputs"}, TextTemplate::Unknown::keep, &inputs);
  EXPECT_EQ(*text->render(ListNames()), "on tides, 3 times!");
}

TEST(TemplateInputs, AreReferencesToWhatTheyContain) {
  const Inputs inputs = inputs_of({{"list", "${vars.list}"}, {"both", {"${vars.n}", "${index}"}}, {"n", 2}});
  const auto expression = Expression::parse("inputs.list[0].a + inputs.both[0] + inputs.n + vars.n", 1, &inputs);
  ASSERT_TRUE(expression);
  std::vector<std::string> found;
  for (const auto& reference : expression->references())
    found.push_back(to_text(reference.path) + "@" + std::to_string(reference.column) + " " + reference.of_input);
  std::ranges::sort(found);
  EXPECT_EQ(found,
            (std::vector<std::string>{"index@20 both", "vars.list[0].a@1 list", "vars.n@20 both", "vars.n@48 "}));
}

TEST(TemplateInputs, AnUnknownOneIsAnError) {
  const Inputs inputs = inputs_of({{"path", "x"}});
  EXPECT_EQ(Expression::parse("inputs.pth", 1, &inputs).error().message, "unknown input 'pth'");
  EXPECT_EQ(Expression::parse("inputs.pth", 1, &inputs).error().hint, "did you mean inputs.path?");
  EXPECT_EQ(Expression::parse("inputs", 1, &inputs).error().message, "'inputs' requires a name");
  const Inputs none;
  EXPECT_EQ(Expression::parse("inputs.x", 1, &none).error().hint,
            "the template has no inputs: declare it under 'inputs:' of the template");
  EXPECT_TRUE(Expression::parse("inputs.x")) << "a name like any other outside templates";
}

TEST(TemplateInputs, AMapCantContainAnExpression) {
  const auto refused = ValueTemplate::parse({{"a", "${vars.n}"}}, reserved_names())->as_expression();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "an input that is a map can't contain an expression");
}

}  // namespace
}  // namespace pawl
