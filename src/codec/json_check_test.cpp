#include "codec/json_check.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "codec/json_fault.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kLimit = std::uint64_t{64} << 20U;

Error error_of(std::string_view text) {
  const Result<void> result = check_json(text, kLimit);
  EXPECT_FALSE(result) << text;
  return result ? Error{} : result.error();
}

std::string nested(std::size_t depth, char open, char close) {
  return std::string(depth, open) + std::string(depth, close);
}

TEST(JsonCheck, TakesJson) {
  for (const char* text : {"{}", "[]", "0", "-0", "null", "\"\"", " {\"a\": [1, 2.5e-3, true, null, \"\\u00e9é😀\"]}\n",
                           "18446744073709551615", "-9223372036854775808", "1.7976931348623157e308", "1e-999",
                           "{\"\":{\"\":1}}", "\"\\ud83d\\ude00\"", "[123456789012345678901234567890.0]"}) {
    const Result<void> result = check_json(text, kLimit);
    EXPECT_TRUE(result) << text << ": " << describe(result.error());
  }
}

TEST(JsonCheck, RefusesWhatIsTooLarge) {
  EXPECT_TRUE(check_json("[1]", 3));
  const Result<void> result = check_json("[1] ", 3);
  EXPECT_EQ(result.error().code, Code::state_too_large);
  EXPECT_EQ(result.error().message, "the JSON has 4 bytes; the maximum is 3");
}

struct Fault {
  const char* text;
  const char* message;
  const char* where;
};

TEST(JsonCheck, SaysWhatIsNotJsonAndWhere) {
  const Fault faults[] = {
      {"", "the input is empty", ""},
      {" \n ", "the input contains only white space", "line 2, column 2"},
      {"\xEF\xBB\xBF{}", "the input begins with a byte order mark (EF BB BF), which is not JSON", "line 1, column 1"},
      {"{\"a\": NaN}", "NaN is not JSON", "line 1, column 7"},
      {"[-Infinity]", "Infinity is not JSON", "line 1, column 3"},
      {"{\"é\":\n  None}", "None is not JSON", "line 2, column 3"},
      {"{\"é\" 1}", "expected a colon, found '1'", "line 1, column 6"},
      {"{\"a\":1,}", "expected a member after the comma, found '}'", "line 1, column 8"},
      {"[1,]", "expected an element after the comma, found ']'", "line 1, column 4"},
      {"[1 2]", "expected a comma or ']', found '2'", "line 1, column 4"},
      {"{'a':1}", "expected a double-quoted key, found '''", "line 1, column 2"},
      {"{a:1}", "expected a double-quoted key, found 'a'", "line 1, column 2"},
      {"{\"a\":1", "expected a comma or '}', found the end of the input", "line 1, column 7"},
      {"{\"a\":", "expected a value, found the end of the input", "line 1, column 6"},
      {"{} x", "expected the end of the JSON, found 'x'", "line 1, column 4"},
      {"[01]", "a number must not begin with 0", "line 1, column 2"},
      {"[1.]", "expected a digit after the decimal point, found ']'", "line 1, column 4"},
      {"[+1]", "expected a value, found '+'", "line 1, column 2"},
      {"\"abc", "unterminated string", "line 1, column 1"},
      {"\"a\nb\"", "a string contains the control character \\x0a", "line 1, column 3"},
      {"\"\\x\"", "unknown escape in a string", "line 1, column 2"},
      {"\"\\u12\"", "\\u requires four hexadecimal digits", "line 1, column 2"},
      {"\"\\ud800\"", "unpaired surrogate \\ud800", "line 1, column 2"},
      {"\"\\ude00x\"", "unpaired surrogate \\ude00", "line 1, column 2"},
      {"// x\n{}", "expected a value, found '/'", "line 1, column 1"},
      {"[maybe]", "'maybe' is not JSON", "line 1, column 2"},
      {"]", "expected a value, found ']'", "line 1, column 1"},
  };
  for (const Fault& fault : faults) {
    const Error error = error_of(fault.text);
    EXPECT_EQ(error.code, Code::invalid_json) << fault.text;
    EXPECT_EQ(error.message, fault.message) << fault.text;
    EXPECT_EQ(error.where, fault.where) << fault.text;
  }
}

TEST(JsonCheck, RefusesBytesThatAreNotUtf8) {
  const Error error = error_of("{\"a\":\n\"\xC3\xA9\xFF\"}");
  EXPECT_EQ(error.code, Code::invalid_utf8);
  EXPECT_EQ(error.message, "byte 9 (\\xff) is not valid UTF-8");
  EXPECT_EQ(error.where, "line 2, column 3");
  EXPECT_EQ(error_of("\"\xED\xA0\x80\"").code, Code::invalid_utf8);
  EXPECT_EQ(error_of("\"\xC0\xAF\"").code, Code::invalid_utf8);
  EXPECT_EQ(error_of("\xFF\xFE{").code, Code::invalid_utf8);
}

TEST(JsonCheck, RefusesNumbersThatReadersWouldChange) {
  for (const char* text : {"18446744073709551616", "-9223372036854775809", "123456789012345678901234567890", "1e309",
                           "-1.5e999", "[0.001e400]"}) {
    const Error error = error_of(text);
    EXPECT_EQ(error.code, Code::number_out_of_range) << text << ": " << error.message;
    EXPECT_EQ(error.hint, "put it into a string");
  }
}

TEST(JsonCheck, TakesExactlyTheAllowedDepth) {
  EXPECT_TRUE(check_json(nested(kJsonDepthMax, '[', ']'), kLimit));
  EXPECT_EQ(error_of(nested(kJsonDepthMax + 1, '[', ']')).code, Code::json_too_deep);
  EXPECT_EQ(error_of(nested(1'000'000, '[', ']')).code, Code::json_too_deep);
  std::string objects = "1";
  for (std::size_t i = 0; i < kJsonDepthMax; ++i) objects = "{\"a\":" + objects + "}";
  EXPECT_TRUE(check_json(objects, kLimit));
  EXPECT_EQ(error_of("[" + objects + "]").code, Code::json_too_deep);
}

TEST(JsonCheck, RefusesAKeyThatStandsTwice) {
  const Error error = error_of(R"({"a":1,"x":[{"b":1,"c":{},"b":2}]})");
  EXPECT_EQ(error.code, Code::duplicate_key);
  EXPECT_EQ(error.message, "duplicate key \"b\"");
  EXPECT_EQ(error_of(R"({"a":1,"\u0061":2})").code, Code::duplicate_key);
  EXPECT_EQ(error_of(R"([[],[{"":1,"":2}]])").code, Code::duplicate_key);
  EXPECT_TRUE(check_json(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]})", kLimit));
}

TEST(JsonCheck, FindsADuplicateAmongManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 1'000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(check_json(text + "\"last\":0}", kLimit));
  EXPECT_EQ(error_of(text + "\"k500\":0}").message, "duplicate key \"k500\"");
}

TEST(JsonCheck, GoesOnAfterLargeTextsAndErrors) {
  const std::string large = "[\"" + std::string(std::size_t{20} << 20U, 'x') + "\"]";
  EXPECT_TRUE(check_json(large, kLimit));
  EXPECT_FALSE(check_json(large.substr(0, large.size() - 1), kLimit));
  EXPECT_TRUE(check_json("{}", kLimit));
}

TEST(JsonCheck, AgreesWithItsScannerAndWithAnotherParser) {
  const std::string good =
      R"({"a":[1,-2.5e+3,true,false,null,"x\"\\\u00e9\ud83d\ude00é"],"b":{"c":{},"d":[]},"e":[[1],[{"f":0}]]})";
  constexpr std::string_view kBytes = "{}[]\",:\\u0d8e-+. 1tnf\x01\xC3\xA9";
  std::mt19937 random(11);
  for (int i = 0; i < 60'000; ++i) {
    std::string text = good;
    for (std::size_t edits = 1 + random() % 2; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      text.replace(at, random() % 3, random() % 3 == 0 ? "" : std::string(1, kBytes[random() % kBytes.size()]));
    }
    const std::optional<Error> fault = find_json_fault(text);
    const Result<void> result = check_json(text, kLimit);
    const bool accepted = result || result.error().code == Code::duplicate_key;
    ASSERT_EQ(accepted, !fault) << text << (fault ? describe(*fault) : "");
    if (fault && fault->code == Code::number_out_of_range) continue;
    ASSERT_EQ(!fault, nlohmann::json::accept(text)) << text;
  }
}

}  // namespace
}  // namespace pawl
