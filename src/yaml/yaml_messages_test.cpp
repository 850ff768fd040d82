#include "yaml/yaml_messages.hpp"

#include <gtest/gtest.h>
#include <yaml-cpp/exceptions.h>

#include <string>

#include "yaml/yaml_tree.hpp"

namespace pawl {
namespace {

// All messages of yaml-cpp/exceptions.h. Newer versions may have more, which become "invalid YAML".
const char* const kRawMessages[] = {
    YAML::ErrorMsg::YAML_DIRECTIVE_ARGS,
    YAML::ErrorMsg::YAML_VERSION,
    YAML::ErrorMsg::YAML_MAJOR_VERSION,
    YAML::ErrorMsg::REPEATED_YAML_DIRECTIVE,
    YAML::ErrorMsg::TAG_DIRECTIVE_ARGS,
    YAML::ErrorMsg::REPEATED_TAG_DIRECTIVE,
    YAML::ErrorMsg::CHAR_IN_TAG_HANDLE,
    YAML::ErrorMsg::TAG_WITH_NO_SUFFIX,
    YAML::ErrorMsg::END_OF_VERBATIM_TAG,
    YAML::ErrorMsg::END_OF_MAP,
    YAML::ErrorMsg::END_OF_MAP_FLOW,
    YAML::ErrorMsg::END_OF_SEQ,
    YAML::ErrorMsg::END_OF_SEQ_FLOW,
    YAML::ErrorMsg::MULTIPLE_TAGS,
    YAML::ErrorMsg::MULTIPLE_ANCHORS,
    YAML::ErrorMsg::MULTIPLE_ALIASES,
    YAML::ErrorMsg::ALIAS_CONTENT,
    YAML::ErrorMsg::INVALID_HEX,
    YAML::ErrorMsg::INVALID_UNICODE,
    YAML::ErrorMsg::INVALID_ESCAPE,
    YAML::ErrorMsg::UNKNOWN_TOKEN,
    YAML::ErrorMsg::DOC_IN_SCALAR,
    YAML::ErrorMsg::EOF_IN_SCALAR,
    YAML::ErrorMsg::CHAR_IN_SCALAR,
    YAML::ErrorMsg::TAB_IN_INDENTATION,
    YAML::ErrorMsg::FLOW_END,
    YAML::ErrorMsg::BLOCK_ENTRY,
    YAML::ErrorMsg::MAP_KEY,
    YAML::ErrorMsg::MAP_VALUE,
    YAML::ErrorMsg::ALIAS_NOT_FOUND,
    YAML::ErrorMsg::ANCHOR_NOT_FOUND,
    YAML::ErrorMsg::CHAR_IN_ALIAS,
    YAML::ErrorMsg::CHAR_IN_ANCHOR,
    YAML::ErrorMsg::ZERO_INDENT_IN_BLOCK,
    YAML::ErrorMsg::CHAR_IN_BLOCK,
    YAML::ErrorMsg::AMBIGUOUS_ANCHOR,
    YAML::ErrorMsg::UNKNOWN_ANCHOR,
    YAML::ErrorMsg::INVALID_NODE,
    YAML::ErrorMsg::INVALID_SCALAR,
    YAML::ErrorMsg::KEY_NOT_FOUND,
    YAML::ErrorMsg::BAD_CONVERSION,
    YAML::ErrorMsg::BAD_DEREFERENCE,
    YAML::ErrorMsg::BAD_SUBSCRIPT,
    YAML::ErrorMsg::BAD_PUSHBACK,
    YAML::ErrorMsg::BAD_INSERT,
    YAML::ErrorMsg::UNMATCHED_GROUP_TAG,
    YAML::ErrorMsg::UNEXPECTED_END_SEQ,
    YAML::ErrorMsg::UNEXPECTED_END_MAP,
    YAML::ErrorMsg::SINGLE_QUOTED_CHAR,
    YAML::ErrorMsg::INVALID_ANCHOR,
    YAML::ErrorMsg::INVALID_ALIAS,
    YAML::ErrorMsg::INVALID_TAG,
    YAML::ErrorMsg::BAD_FILE,
};

TEST(YamlMessages, EachMessageOfTheParserIsTranslated) {
  for (const std::string raw : kRawMessages) {
    const YamlProblem problem = explain_yaml_error(raw);
    EXPECT_NE(problem.message, "invalid YAML") << raw;
    EXPECT_NE(problem.message, raw);
    EXPECT_FALSE(problem.hint.empty()) << raw;
  }
}

TEST(YamlMessages, AMessageWithAValueBehindItIsRecognised) {
  EXPECT_EQ(explain_yaml_error("unknown escape character: q").message, "unknown escape in double quotes");
  EXPECT_EQ(explain_yaml_error("end of map flow not found").message, "'{' is not closed with '}'");
}

TEST(YamlMessages, AnUnknownMessageIsGeneral) {
  EXPECT_EQ(explain_yaml_error("something that a later version says").message, "invalid YAML");
}

/// Returns "line:column message" of the only error.
std::string fault_of(const std::string& text) {
  Faults faults("");
  static_cast<void>(read_yaml_or_nothing(text, faults));
  const auto found = faults.take();
  if (found.size() != 1) return std::to_string(found.size()) + " faults";
  return fmt::format("{}:{} {}", found[0].place.line, found[0].place.column, found[0].error.message);
}

TEST(YamlMessages, FilesWithTypicalMistakes) {
  EXPECT_EQ(fault_of("a: [1, 2\n"), "2:1 '[' is not closed with ']'");
  EXPECT_EQ(fault_of("a: {b: 1\n"), "2:1 '{' is not closed with '}'");
  EXPECT_EQ(fault_of("a: [1}\n"), "1:6 brackets do not match");
  EXPECT_EQ(fault_of("a: b: c\n"), "1:5 ':' is not allowed here");
  EXPECT_EQ(fault_of("a: @b\n"), "1:4 text can't begin with this character");
  EXPECT_EQ(fault_of("a: *b\n"), "1:4 '*' refers to an anchor that is not defined above");
  EXPECT_EQ(fault_of("a: \"\\q\"\n"), "1:7 unknown escape in double quotes");
  EXPECT_EQ(fault_of("a: | text\n"), "1:6 text after '|' or '>'");
  EXPECT_EQ(fault_of("a: \"b\nc: d\n"), "1:4 a quote is not closed");
  EXPECT_EQ(fault_of("a: 'b\nc: d\n"), "1:4 a quote is not closed");
  EXPECT_EQ(fault_of("a: 'it''s'\nb: \"say \\\"x\\\"\"\n"), "0 faults");
}

}  // namespace
}  // namespace pawl
