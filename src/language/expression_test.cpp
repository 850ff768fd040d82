#include "language/expression.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

class ExpressionNames : public Names {
 public:
  Json all = Json::parse(R"({
    "vars": {"topic": "tides", "n": 3, "empty": "", "none": null, "list": [1, 2, "x"], "a key": 1, "big": 9223372036854775807,
             "object": {"a": 1, "b": [2]}, "same": {"b": [2.0], "a": 1.0}},
    "steps": {"score": {"output": {"value": 91.5, "value-1": 7}}, "cool-down": {"output": "cold"}, "skipped": {"output": null}},
    "item": {"title": "T"}, "index": 1})");
  bool has_failed = false;

  [[nodiscard]] Result<Json> find(std::span<const PathPart> path) const override { return follow(all, path); }
  [[nodiscard]] bool failed() const override { return has_failed; }
};

Result<Json> value(std::string_view text) {
  PAWL_TRY_ASSIGN(const auto expression, Expression::parse(text));
  return expression.evaluate(ExpressionNames());
}

/// Returns the value as JSON, or the error.
std::string result(std::string_view text) {
  const auto found = value(text);
  return found ? compact(*found) : describe(found.error());
}

Error error_of(std::string_view text) {
  const auto found = value(text);
  EXPECT_FALSE(found) << text << " is " << compact(*found);
  return found ? Error{} : found.error();
}

void expect_invalid(std::string_view text) { EXPECT_EQ(error_of(text).code, Code::invalid_expression) << text; }

TEST(Expression, HasLiterals) {
  EXPECT_EQ(result("1"), "1");
  EXPECT_EQ(result("2.5e1"), "25.0");
  EXPECT_EQ(result("'it''s'"), "\"it's\"");
  EXPECT_EQ(result("'\\n'"), R"("\\n")");
  EXPECT_EQ(result(R"("a\"\\\n\t\u00e4\ud83d\ude00")"), "\"a\\\"\\\\\\n\\tä😀\"");
  EXPECT_EQ(result("[true, false, null, [], 'x']"), "[true,false,null,[],\"x\"]");
}

TEST(Expression, FollowsPaths) {
  EXPECT_EQ(result("vars.topic"), "\"tides\"");
  EXPECT_EQ(result("vars['a key'] + vars.list[0]"), "2");
  EXPECT_EQ(result("vars.list[index]"), "2");
  EXPECT_EQ(result("vars.list[index - 1 + 2]"), "\"x\"");
  EXPECT_EQ(result("steps[vars.topic == 'tides' ? 'score' : 'x'].output.value"), "91.5");
  EXPECT_EQ(result("keys(vars.object)[1]"), "\"b\"");
  EXPECT_EQ(result("(vars.object).b[0]"), "2");
  EXPECT_EQ(result("steps.cool-down.output"), "\"cold\"");
  EXPECT_EQ(result("steps.score.output.value-1"), "7") << "a name, not a subtraction";
  EXPECT_EQ(result("steps.score.output.value - 1"), "90.5");
  EXPECT_EQ(result("steps.skipped.output.a.b[3]"), "null");
}

TEST(Expression, UnknownNamesSayWhatThereIs) {
  const Error member = error_of("vars.topci");
  EXPECT_EQ(member.code, Code::unknown_name);
  EXPECT_EQ(member.where, "column 1");
  EXPECT_NE(member.message.find("topic, n, empty"), std::string::npos) << member.message;
  EXPECT_EQ(member.hint, "did you mean 'topic'?");
  EXPECT_EQ(error_of("vars.list[3]").code, Code::unknown_name);
  EXPECT_EQ(error_of("vars.list[-1]").code, Code::unknown_name);
  EXPECT_EQ(error_of("vars.topic.x").code, Code::unknown_name);
  EXPECT_EQ(error_of("vars.list.x").code, Code::unknown_name);
  EXPECT_EQ(error_of("vars.n-2").hint, "put spaces around '-' to subtract");
  expect_invalid("vars.list[true]");
}

TEST(Expression, ComparesWithinTypesAndEquatesAcross) {
  EXPECT_EQ(result("1 == 1.0"), "true");
  EXPECT_EQ(result("1 == '1'"), "false");
  EXPECT_EQ(result("null != 0"), "true");
  EXPECT_EQ(result("vars.object == vars.same"), "true");
  EXPECT_EQ(result("9007199254740993 == 9007199254740992.0"), "false");
  EXPECT_EQ(result("9007199254740993 > 9007199254740992.0"), "true");
  EXPECT_EQ(result("'a' < 'b'"), "true");
  EXPECT_EQ(result("2 >= 2 && 2 <= 1"), "false");
  const Error mixed = error_of("  'a' < 1");
  EXPECT_EQ(mixed.code, Code::invalid_expression);
  EXPECT_EQ(mixed.message, "'<' can't compare a string with a number");
  EXPECT_EQ(mixed.where, "column 7");
}

TEST(Expression, CalculatesWithoutOverflow) {
  EXPECT_EQ(result("2 + 3 * 4 - 6 / 3"), "12");
  EXPECT_EQ(result("7 / 2"), "3.5");
  EXPECT_EQ(result("-7 % 3"), "-1");
  EXPECT_EQ(result("5.5 % 2"), "1.5");
  EXPECT_EQ(result("vars.big + 1 == 9223372036854775808.0"), "true");
  EXPECT_EQ(result("(-vars.big - 1) / -1 > vars.big"), "true");
  EXPECT_EQ(result("(-vars.big - 1) % -1"), "0");
  EXPECT_EQ(result("vars.big * vars.big > 1e37"), "true");
  EXPECT_EQ(result("'a' + 'b'"), "\"ab\"");
  for (const char* text : {"1 / 0", "1 % 0", "1.5 / 0.0", "1e308 * 10", "'a' + 1", "-'a'", "[1] + [2]", "null + 1"})
    expect_invalid(text);
}

TEST(Expression, JoinsConditionsAsBooleansAndStopsEarly) {
  EXPECT_EQ(result("1 && 'x'"), "true");
  EXPECT_EQ(result("0 || ''"), "false");
  EXPECT_EQ(result("false && vars.missing"), "false");
  EXPECT_EQ(result("true or vars.missing"), "true");
  EXPECT_EQ(result("true || false && false"), "true");
  EXPECT_EQ(result("not 1 == 2 and !false"), "true");
  EXPECT_EQ(result("!1 == 2"), "false");
  EXPECT_EQ(result("vars.n > 5 ? 'a' : vars.n > 2 ? 'b' : vars.missing"), "\"b\"");
}

TEST(Expression, FindsElementsKeysAndParts) {
  EXPECT_EQ(result("'x' in vars.list && 1.0 in vars.list"), "true");
  EXPECT_EQ(result("3 in vars.list"), "false");
  EXPECT_EQ(result("3 not in vars.list"), "true");
  EXPECT_EQ(result("not 3 in vars.list"), "true");
  EXPECT_EQ(result("'a' in vars.object"), "true");
  EXPECT_EQ(result("'ide' in vars.topic"), "true");
  EXPECT_EQ(result("'a' in steps.skipped.output"), "false");
  expect_invalid("1 in 'a1'");
  expect_invalid("1 in 1");
}

TEST(Expression, HasFunctions) {
  EXPECT_EQ(result("default(vars.missing, 1)"), "1");
  EXPECT_EQ(result("default(vars.none, 1)"), "1");
  EXPECT_EQ(result("default(vars.empty, 1)"), "\"\"");
  EXPECT_EQ(error_of("default(1 / 0, 1)").code, Code::invalid_expression);
  EXPECT_EQ(result("[length('ä€'), length(vars.list), length(vars.object), length(null)]"), "[2,3,2,0]");
  EXPECT_EQ(result("contains(vars.list, 'x') && contains('abc', 'b')"), "true");
  EXPECT_EQ(result("lower('ABc') + upper('abÄ')"), "\"abcABÄ\"");
  EXPECT_EQ(result("starts_with('abc', 'ab') && ends_with('abc', 'bc') && !ends_with('c', 'bc')"), "true");
  EXPECT_EQ(result("[number('3'), number(' 2.5\n'), number(true)]"), "[3,2.5,1]");
  EXPECT_EQ(result("[text('a'), text(1), text([1, 'a'])]"), R"(["a","1","[1,\"a\"]"])");
  EXPECT_EQ(result("json('{\"a\": [1]}').a[0]"), "1");
  EXPECT_EQ(result("[min(3, 1, 2), max([1, 5.5, 2]), min('b', 'a')]"), "[1,5.5,\"a\"]");
  EXPECT_EQ(result("[round(2.5), round(-2.5), round(3), round(1e300) > 1]"), "[3,-3,3,true]");
  EXPECT_EQ(result("[keys(vars.object), keys(null)]"), "[[\"a\",\"b\"],[]]");
  for (const char* text :
       {"length(1)", "lower(1)", "number('x')", "number('')", "number('1 2')", "json('{')", "json('1 2')", "keys([1])",
        "min()", "min([])", "max(1, 'a')", "default(1)", "always(1)", "round('1')"})
    expect_invalid(text);
  const Error unknown = error_of("lenght(vars.list)");
  EXPECT_EQ(unknown.code, Code::invalid_expression);
  EXPECT_EQ(unknown.hint, "did you mean length()?");
}

TEST(Expression, KnowsWhetherItOverridesSkipping) {
  EXPECT_TRUE(Expression::parse("always()")->overrides_skipping());
  EXPECT_TRUE(Expression::parse("vars.a && failed()")->overrides_skipping());
  EXPECT_FALSE(Expression::parse("vars.failed")->overrides_skipping());
  ExpressionNames names;
  EXPECT_FALSE(*Expression::parse("failed()")->test(names));
  names.has_failed = true;
  EXPECT_TRUE(*Expression::parse("failed()")->test(names));
}

TEST(Expression, TestsTruth) {
  for (const char* text : {"null", "false", "0", "0.0", "''", "[]", "vars.none"})
    EXPECT_FALSE(*Expression::parse(text)->test(ExpressionNames())) << text;
  for (const char* text : {"true", "-1", "0.1", "'0'", "[0]", "vars.object"})
    EXPECT_TRUE(*Expression::parse(text)->test(ExpressionNames())) << text;
}

TEST(Expression, TakesBracesAroundTheWhole) {
  EXPECT_EQ(result(" ${ vars.n == 3 } "), "true");
  EXPECT_EQ(error_of("${vars.n} == ${vars.n}").code, Code::invalid_expression);
  EXPECT_NE(error_of("${vars.n} == ${vars.n}").hint.find("put the whole expression in ${ }"), std::string::npos);
  EXPECT_NE(error_of("vars.n == ${vars.n}").hint.find("write names without it"), std::string::npos);
}

TEST(Expression, ErrorsPointAtTheirPlace) {
  const Error single = error_of("vars.topic = 'x'");
  EXPECT_EQ(single.where, "column 12");
  EXPECT_EQ(single.hint, "use ==");
  EXPECT_EQ(error_of("'ä' ; 1").where, "column 5");
  EXPECT_EQ(Expression::parse("a b", 10).error().where, "column 12");
  for (const char* text :
       {"",          "  ",          "${}", "1 +",     "(1",        "[1, ",        "1 2",  "a..b", "a.",
        "a.0",       "'x",          "\"x", "\"\\q\"", "\"\\u12\"", "\"\\ud83d\"", "1a",   "a &",  "a | b",
        "1 < 2 < 3", "1 == 1 == 1", "a[",  "f(",      "and",       "a not b",     "{}",   "\xFF", "'\xC3'",
        "a ? b",     "vars:-x",     ",",   "1,2",     "é",         "[,]",         "1e999"}) {
    const auto parsed = Expression::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::invalid_expression) << text;
    EXPECT_TRUE(parsed.error().where.starts_with("column ")) << text;
  }
}

TEST(Expression, BoundsItsNestingAndLength) {
  const auto nested = [](std::size_t depth, const std::string& open, const std::string& close) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += open;
    text += "1";
    for (std::size_t i = 0; i < depth; ++i) text += close;
    return Expression::parse(text).has_value();
  };
  for (const auto& [open, close] : {std::pair("(", ")"), std::pair("[", "]"), std::pair("!", ""), std::pair("not ", ""),
                                    std::pair("1?", ":1"), std::pair("text(", ")")}) {
    EXPECT_TRUE(nested(60, open, close)) << open;
    EXPECT_FALSE(nested(70, open, close)) << open;
    EXPECT_FALSE(nested(10'000, open, close)) << open;
  }
  std::string chain = "1";
  while (chain.size() < 65'000) chain += "+1";
  EXPECT_EQ(result(chain), std::to_string(chain.size() / 2 + 1)) << "long is not deep";
  EXPECT_FALSE(Expression::parse(std::string(70'000, ' ') + "1"));
}

TEST(Expression, ListsItsStaticReferences) {
  const auto expression =
      Expression::parse("default(vars.a.b, vars.c)[0] + steps.x-y.output[index].z[1] + (vars.d).e + item['a b'][2]");
  ASSERT_TRUE(expression);
  std::vector<std::string> found;
  for (const auto& reference : expression->references())
    found.push_back(to_text(reference.path) + (reference.may_be_missing ? "?" : "") + "@" +
                    std::to_string(reference.column));
  EXPECT_EQ(found, (std::vector<std::string>{"vars.a.b?@9", "vars.c@19", "steps.x-y.output@32", "index@49", "vars.d@64",
                                             "item[\"a b\"][2]@76"}));
}

}  // namespace
}  // namespace pawl
