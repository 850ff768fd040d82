#include "language/text_template.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using Unknown = TextTemplate::Unknown;

class TemplateNames : public Names {
 public:
  Json all = Json::parse(R"({"vars": {"a": "x", "n": 3, "o": {"k": [1, "}"]}}, "notes": "N", "index": 2})");
  [[nodiscard]] Result<Json> find(std::span<const PathPart> path) const override { return follow(all, path); }
};

std::set<std::string, std::less<>> names() {
  auto all = reserved_names();
  all.insert("notes");
  return all;
}

std::string rendered(std::string_view source, Unknown unknown = Unknown::refuse) {
  const auto text = TextTemplate::parse(source, names(), unknown);
  if (!text) return describe(text.error());
  const auto result = text->render(TemplateNames());
  return result ? *result : describe(result.error());
}

Error template_error(std::string_view source, Unknown unknown = Unknown::refuse) {
  const auto text = TextTemplate::parse(source, names(), unknown);
  EXPECT_FALSE(text) << source;
  return text ? Error{} : text.error();
}

TEST(TextTemplate, PutsValuesIntoText) {
  EXPECT_EQ(rendered("a ${vars.a} b ${ vars.n } ${vars.o}${notes}"), "a x b 3 {\"k\":[1,\"}\"]}N");
  EXPECT_EQ(rendered("${vars.o['k'][1] + '}' + \"\\\"}\"}."), "}}\"}.");
  EXPECT_EQ(rendered("${default(vars.missing, 'd')} ${length(notes)}"), "d 1");
  EXPECT_EQ(rendered("${!vars.a} ${(vars.n + 1) * 2} ${'s'} ${index+1}"), "false 8 s 3");
  EXPECT_EQ(rendered("$ $x {} } $"), "$ $x {} } $");
  EXPECT_EQ(rendered(""), "");
}

TEST(TextTemplate, KeepsTheShellsOwn) {
  for (const char* text :
       {"${HOME}", "${#vars}", "${!x}", "${X:-y}", "${1}", "${x.y}", "${arr[0]}", "${defaults}", "${X"})
    EXPECT_EQ(rendered(text, Unknown::keep), text);
  EXPECT_EQ(rendered("${X:-${vars.a}}", Unknown::keep), "${X:-x}");
}

TEST(TextTemplate, DoubledDollarIsLiteral) {
  EXPECT_EQ(rendered("$${vars.a} ${vars.a}"), "${vars.a} x");
  EXPECT_EQ(rendered("$${", Unknown::keep), "${");
  EXPECT_EQ(rendered("$$"), "$$");
}

TEST(TextTemplate, LoneExpressionKeepsItsType) {
  const auto lone = TextTemplate::parse("${vars.n}", names(), Unknown::refuse);
  EXPECT_EQ(*lone->evaluate(TemplateNames()), Json(3));
  EXPECT_EQ(*lone->render(TemplateNames()), "3");
  const auto text = TextTemplate::parse("${vars.n} ", names(), Unknown::refuse);
  EXPECT_EQ(*text->evaluate(TemplateNames()), Json("3 "));
  EXPECT_EQ(*TextTemplate::parse("", names(), Unknown::refuse)->evaluate(TemplateNames()), Json(""));
}

TEST(TextTemplate, RefusesUnknownNames) {
  const Error typo = template_error("ä ${var.a}");
  EXPECT_EQ(typo.code, Code::unknown_name);
  EXPECT_EQ(typo.where, "column 3");
  EXPECT_TRUE(typo.hint.starts_with("did you mean 'vars'?")) << typo.hint;
  EXPECT_EQ(template_error("${HOME}").code, Code::unknown_name);
  EXPECT_EQ(template_error("echo ${step.x.output}", Unknown::keep).code, Code::unknown_name) << "no variable has a dot";
  EXPECT_EQ(template_error("${lenght(vars.a)}").code, Code::invalid_expression);
}

TEST(TextTemplate, ErrorsPointIntoTheSource) {
  const Error expression = template_error("ä ${vars.a = 1}");
  EXPECT_EQ(expression.code, Code::invalid_expression);
  EXPECT_EQ(expression.where, "column 12");
  for (const Unknown unknown : {Unknown::keep, Unknown::refuse}) {
    EXPECT_EQ(template_error("x ${vars.a", unknown).where, "column 3");
    EXPECT_EQ(template_error("${vars['a}", unknown).code, Code::invalid_expression);
    EXPECT_EQ(template_error("${vars:-x}", unknown).hint, "use ${default(vars.x, 'value')}");
    EXPECT_NE(template_error("${vars.a:-x}", unknown).hint.find("default(vars.x"), std::string::npos);
  }
  EXPECT_EQ(template_error("${}").code, Code::invalid_expression);
}

TEST(TextTemplate, ListsReferencesWithColumnsOfTheSource) {
  const auto text = TextTemplate::parse("ä ${vars.a}${default(notes, 1)}", names(), Unknown::refuse);
  const auto references = text->references();
  ASSERT_EQ(references.size(), 2U);
  EXPECT_EQ(references[0].column, 5U);
  EXPECT_EQ(to_text(references[1].path), "notes");
  EXPECT_TRUE(references[1].may_be_missing);
}

TEST(ValueTemplate, FillsInItsStrings) {
  const auto value = ValueTemplate::parse(
      Json::parse(R"({"a/b": ["${vars.n}", "n=${vars.n}", 1], "k": "plain", "e": "$${"})"), names());
  ASSERT_TRUE(value);
  EXPECT_EQ(compact(*value->evaluate(TemplateNames())), R"({"a/b":[3,"n=3",1],"k":"plain","e":"${"})");
  EXPECT_EQ(value->references().size(), 2U);
  EXPECT_EQ(*ValueTemplate::parse("${vars.o}", names())->evaluate(TemplateNames()), TemplateNames().all["vars"]["o"]);
  EXPECT_EQ(*ValueTemplate().evaluate(TemplateNames()), Json());
  const auto wrong = ValueTemplate::parse(Json::parse(R"({"a": [1, "${nope}"]})"), names());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().where, "/a/1, column 1");
}

}  // namespace
}  // namespace pawl
