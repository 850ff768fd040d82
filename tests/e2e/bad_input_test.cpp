// Invalid input: each kind is refused with its own code, and nothing is lost or created.
#include "tests/e2e/fixture.hpp"

namespace pawl::e2e {
namespace {

class BadInput : public E2e {
 protected:
  /// Checks that the input is refused and the run is unchanged.
  void expect_refused(const std::string& state, const std::string& code) {
    ASSERT_EQ(pawl({"save", "r", "--force"}, "{\"kept\": 1}").status, 0);
    const nlohmann::json before = json({"show", "r"});
    expect_error(save("r", state), 2, code);
    expect_error(pawl({"save", "r", "--patch"}, state), 2, code);
    expect_error(save("fresh", state), 2, code);
    EXPECT_EQ(ok({"restore", "r"}), "{\"kept\": 1}");
    EXPECT_EQ(json({"show", "r"}), before);
    EXPECT_EQ(json({"list"}).size(), 1U);
    EXPECT_EQ(pawl({"fsck"}).status, 0);
  }
};

TEST_F(BadInput, RunIds) {
  const std::vector<std::string> ids = {"../x",
                                        "..",
                                        ".hidden",
                                        "a/b",
                                        "/etc/passwd",
                                        "a\\b",
                                        "a b",
                                        "\xC3\xA4",
                                        "a\nb",
                                        "-x",
                                        "a@1",
                                        std::string(200, 'a'),
                                        std::string(129, 'a'),
                                        "\x1b[31m",
                                        "a:b",
                                        "~"};
  for (const std::string& id : ids) {
    const Finished refused = pawl({"save", "--", id}, "1");
    expect_error(refused, 2, "PAWL-0002");
    EXPECT_EQ(refused.err.find('\x1b'), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(store())) << "bad input makes no store";
  }
  expect_error(pawl({"save", ""}, "1"), 2, "PAWL-0002");
  expect_error(pawl({"restore", "../x"}), 2, "PAWL-0002");
  expect_error(pawl({"show", "a/b@1"}), 2, "PAWL-0002");
  expect_error(pawl({"fsck", "../store"}), 2, "PAWL-0002");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 0);
  EXPECT_EQ(ok({"save", std::string(128, 'a')}, "1"), std::string(128, 'a') + "@1\n");
  EXPECT_EQ(ok({"save", "A.b_c-9"}, "1"), "A.b_c-9@1\n");
}

TEST_F(BadInput, DeepNesting) {
  expect_refused(std::string(100'000, '[') + std::string(100'000, ']'), "PAWL-0005");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  expect_refused(objects + "1" + std::string(100'000, '}'), "PAWL-0005");
  const std::string allowed = std::string(512, '[') + std::string(512, ']');
  EXPECT_EQ(ok({"save", "deep"}, allowed), "deep@1\n");
  EXPECT_EQ(ok({"restore", "deep"}), allowed);
}

TEST_F(BadInput, InvalidUtf8) {
  for (const char* text : {"\xFF", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
    expect_refused(std::string("{\"a\": \"") + text + "\"}", "PAWL-0006");
  }
}

TEST_F(BadInput, DuplicateKeys) {
  expect_refused(R"({"a": 1, "b": 2, "a": 3})", "PAWL-0007");
  expect_refused(R"({"x": [{"a": 1, "\u0061": 2}]})", "PAWL-0007");
}

TEST_F(BadInput, HugeNumbers) {
  for (const char* number :
       {"1e400", "-1e999", "18446744073709551616", "-9223372036854775809", "340282366920938463463374607431768211456"}) {
    expect_refused(std::string("{\"n\": ") + number + "}", "PAWL-0008");
  }
}

TEST_F(BadInput, WhatIsNoJson) {
  const std::vector<std::string> texts = {
      "",
      " \n",
      "NaN",
      "{\"a\": NaN}",
      "Infinity",
      "{\"a\": 1",
      "[1, 2",
      "\"open",
      "{a: 1}",
      "{'a': 1}",
      "[1,]",
      "{\"a\":1,}",
      "01",
      "1 2",
      "{} x",
      "// c\n1",
      "nul",
      "\"\\x\"",
      "\"line\nend\"",
      "\"\\ud800\"",
      "+1",
      ".5",
      "1.",
      "{\"a\" 1}",
      "{1: 2}",
      std::string("1\0", 2),
      "\xEF\xBB\xBF{}",
  };
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    expect_refused(text, "PAWL-0004");
  }
}

TEST_F(BadInput, AStateBeyondTheLimit) {
  const std::string state = fmt::format("\"{}\"", std::string((100U << 20) + 10, 'x'));
  expect_error(save("r", state), 2, "PAWL-0009");
  EXPECT_FALSE(std::filesystem::exists(store()));
}

}  // namespace
}  // namespace pawl::e2e
