// `pawl save` and `pawl restore` return exactly what was saved.
#include "tests/e2e/fixture.hpp"

namespace pawl::e2e {
namespace {

using SaveRestore = E2e;

/// Returns a JSON array of numbered strings, of about this many bytes.
std::string large_state(std::size_t bytes) {
  std::string text = "[\n";
  for (std::size_t i = 0; text.size() < bytes; ++i) text += "  \"row " + std::to_string(i * 7919) + "\",\r\n";
  return text + "  null]\n";
}

TEST_F(SaveRestore, StatesComeBackByteForByte) {
  const std::vector<std::string> states = {
      R"({})",
      " \t\n{ \"a\" :\t1 ,\r\n\"b\":[ ] }\r\n\n",
      "{\"crlf\":1,\r\n \"two\":2}\r\n",
      "{\"n\":[1.0e5,-0,-0.0,1E+2,0.10,1e-7,18446744073709551615,-9223372036854775808]}",
      "{\"unicode\":\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\",\"escaped\":\"\\u00e4\\ud83d\\ude00\\/\"}",
      "\"a top-level string\"",
      "42",
      "-0",
      "true",
      "null",
      "[]",
      "  [1,\n2]",
      "{\"z\":1,\"a\":2,\"\":3}",
  };
  for (std::size_t i = 0; i < states.size(); ++i) {
    EXPECT_EQ(ok({"save", "r"}, states[i]), "r@" + std::to_string(i + 1) + "\n");
    EXPECT_EQ(ok({"restore", "r"}), states[i]);
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    EXPECT_EQ(ok({"restore", "r@" + std::to_string(i + 1)}), states[i]) << "later, " << i + 1;
  }
}

TEST_F(SaveRestore, LargeStatesComeBackByteForByte) {
  const std::string one = large_state(1'200'000);
  const std::string three = large_state(3'000'000);
  std::string changed = three;
  changed.replace(changed.size() / 2, 0, " ");
  ASSERT_EQ(ok({"save", "r"}, one), "r@1\n");
  ASSERT_EQ(ok({"save", "r"}, three), "r@2\n");
  ASSERT_EQ(ok({"save", "r"}, changed), "r@3\n");
  ASSERT_EQ(ok({"save", "r"}, one), "r@4\n");
  EXPECT_TRUE(ok({"restore", "r@1"}) == one);
  EXPECT_TRUE(ok({"restore", "r@2"}) == three);
  EXPECT_TRUE(ok({"restore", "r@3"}) == changed);
  EXPECT_TRUE(ok({"restore", "r@4"}) == one);
  EXPECT_TRUE(contains(ok({"fsck"}), "ok: 1 run, 4 checkpoints"));
}

TEST_F(SaveRestore, AFileAndStandardInputAreTheSame) {
  const std::string state = "{\"from\": \"file\"}\n";
  write_bytes(path("state.json"), state);
  EXPECT_EQ(ok({"save", "a", "--state", path("state.json").string()}), "a@1\n");
  EXPECT_EQ(ok({"save", "b"}, state), "b@1\n");
  EXPECT_EQ(ok({"save", "c", "--state", "-"}, state), "c@1\n");
  Command piped = command({"-c", std::string("cat state.json | '") + PAWL_PROGRAM + "' save d"});
  piped.program = "/bin/sh";
  EXPECT_EQ(run(piped).out, "d@1\n");
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_EQ(ok({"restore", name}), state);
  expect_error(pawl({"save", "e", "--state", path("missing.json").string()}), 2, "PAWL-0011");
  expect_error(pawl({"save", "e", "--state", folder_.string()}), 2, "PAWL-0011");
}

TEST_F(SaveRestore, TheStateCanGoToAFile) {
  ASSERT_EQ(save("r", "{\"a\": 1}\r\n").status, 0);
  EXPECT_EQ(ok({"restore", "r", "-o", path("out.json").string()}), "");
  EXPECT_EQ(read_bytes(path("out.json")), "{\"a\": 1}\r\n");
}

TEST_F(SaveRestore, JsonDocumentsSayWhatHappened) {
  const nlohmann::json saved = json({"save", "r"}, "{\"a\":1}");
  EXPECT_EQ(saved.at("run"), "r");
  EXPECT_EQ(saved.at("sequence"), 1);
  EXPECT_EQ(saved.at("id").get<std::string>().size(), 36U);
  EXPECT_TRUE(saved.at("checksum").get<std::string>().starts_with("sha256:"));
  EXPECT_EQ(saved.at("outcome"), "written");
  const nlohmann::json restored = json({"restore", "r"});
  EXPECT_EQ(restored.at("state"), nlohmann::json::parse("{\"a\":1}"));
  EXPECT_EQ(restored.at("id"), saved.at("id"));
  EXPECT_EQ(restored.at("checksum"), saved.at("checksum"));
  const Finished failed = pawl({"restore", "nobody", "--json"});
  EXPECT_EQ(failed.status, 2);
  const std::string document = failed.err.substr(failed.err.find("{\"error\""));
  EXPECT_EQ(nlohmann::json::parse(document).at("error").at("code"), "PAWL-0101");
}

TEST_F(SaveRestore, EveryAddressFindsItsCheckpoint) {
  ASSERT_EQ(save("r", "1").status, 0);
  ASSERT_EQ(ok({"save", "r", "--name", "good one", "--stage", "build", "--step", "compile"}, "2"), "r@2\n");
  const std::string uuid = json({"show", "r@2"}).at("id");
  ASSERT_EQ(save("r", "3").status, 0);
  EXPECT_EQ(ok({"restore", "r"}), "3");
  EXPECT_EQ(ok({"restore", "r@latest"}), "3");
  EXPECT_EQ(ok({"restore", "r@1"}), "1");
  for (const std::string& which :
       {std::string("name:good one"), std::string("stage:build"), std::string("step:compile"), uuid}) {
    EXPECT_EQ(ok({"restore", "r@" + which}), "2") << which;
  }
  ASSERT_EQ(ok({"save", "r", "--name", "good one"}, "4"), "r@4\n");
  EXPECT_EQ(ok({"restore", "r@name:good one"}), "4") << "the newest of a name counts";
  for (const char* missing :
       {"r@9", "r@name:none", "r@stage:none", "r@step:none", "r@00000000-0000-4000-8000-000000000000"}) {
    expect_error(pawl({"restore", missing}), 2, "PAWL-0102");
  }
  for (const char* wrong : {"r@0", "r@-1", "r@x", "r@", "r@1@2", "r@99999999999999999999", "r@+1"}) {
    expect_error(pawl({"restore", wrong}), 2, "PAWL-0003");
  }
  expect_error(pawl({"restore", "missing"}), 2, "PAWL-0101");
}

TEST_F(SaveRestore, KindsAndLabelsAreKept) {
  ASSERT_EQ(ok({"save", "r", "--kind", "step_complete", "--status", "active", "--reason", "after_step", "--metadata",
                "{\"tokens\": 12}", "--session", "s1"},
               "{}"),
            "r@1\n");
  const nlohmann::json shown = json({"show", "r@1"});
  EXPECT_EQ(shown.at("kind"), "step_complete");
  EXPECT_EQ(shown.at("reason"), "after_step");
  EXPECT_EQ(shown.at("metadata").at("tokens"), 12);
  EXPECT_EQ(json({"show", "r"}).at("session"), "s1");
  const Finished wrong = pawl({"save", "r", "--kind", "step_complet"}, "{}");
  expect_error(wrong, 2, "PAWL-0001");
  EXPECT_TRUE(contains(wrong.err, "did you mean 'step_complete'?"));
  expect_error(pawl({"save", "r", "--metadata", "[]"}, "1"), 2, "PAWL-0004");
  expect_error(pawl({"save", "r", "--name", "two\nlines"}, "1"), 2, "PAWL-0012");
  EXPECT_EQ(ok({"restore", "r"}), "{}") << "refused saves change nothing";
}

TEST_F(SaveRestore, PatchesMergeAndAppend) {
  ASSERT_EQ(ok({"save", "r"}, R"({ "a": 1.0e5, "log": ["x"], "b": {"c": 1} })"), "r@1\n");
  ASSERT_EQ(ok({"save", "r", "--patch"}, R"({"log": {"$append": ["y", 2]}, "b": {"c": null, "d": 3}})"), "r@2\n");
  const std::string state = ok({"restore", "r"});
  EXPECT_EQ(nlohmann::json::parse(state),
            nlohmann::json::parse(R"({"a": 1.0e5, "log": ["x", "y", 2], "b": {"d": 3}})"));
  EXPECT_TRUE(contains(state, "1.0e5")) << "what a patch does not touch keeps its spelling";
  expect_error(pawl({"save", "r", "--patch"}, R"({"a": {"$append": [1]}})"), 2, "PAWL-0010");
  EXPECT_EQ(ok({"restore", "r"}), state);
  ASSERT_EQ(ok({"save", "new", "--patch"}, R"({"a": {"$append": [1]}})"), "new@1\n");
  EXPECT_EQ(json({"restore", "new"}).at("state"), nlohmann::json::parse(R"({"a": [1]})"));
}

TEST_F(SaveRestore, AnUnexpectedParentIsRefused) {
  ASSERT_EQ(ok({"save", "r", "--expect-parent", "0"}, "1"), "r@1\n");
  ASSERT_EQ(ok({"save", "r", "--expect-parent", "1"}, "2"), "r@2\n");
  expect_error(pawl({"save", "r", "--expect-parent", "1"}, "3"), 4, "PAWL-0202");
  expect_error(pawl({"save", "r", "--expect-parent", "0"}, "3"), 4, "PAWL-0202");
  expect_error(pawl({"save", "r", "--expect-parent", "-1"}, "3"), 2, "PAWL-0001");
  EXPECT_EQ(ok({"restore", "r"}), "2");
  EXPECT_EQ(ok({"save", "r", "--expect-parent", "2"}, "3"), "r@3\n") << "a refused save uses up no sequence";
}

TEST_F(SaveRestore, ARepeatedIdIsAnswered) {
  ASSERT_EQ(ok({"save", "r", "--id", "job-1"}, "1"), "r@1\n");
  ASSERT_EQ(ok({"save", "r", "--id", "job-2"}, "2"), "r@2\n");
  const Finished again = pawl({"save", "r", "--id", "job-1"}, "1");
  EXPECT_EQ(again.status, 0);
  EXPECT_EQ(again.out, "r@1\n");
  EXPECT_TRUE(contains(again.err, "nothing written"));
  EXPECT_EQ(json({"save", "r", "--id", "job-2"}, "2").at("outcome"), "repeated");
  expect_error(pawl({"save", "r", "--id", "job-1"}, "other"), 2, "PAWL-0004");
  expect_error(pawl({"save", "r", "--id", "job-1"}, "\"other\""), 4, "PAWL-0203");
  EXPECT_EQ(ok({"restore", "r"}), "2");
}

TEST_F(SaveRestore, AnEqualStateIsAnsweredUnlessForced) {
  ASSERT_EQ(ok({"save", "r"}, "{\"a\": 1}"), "r@1\n");
  const Finished again = pawl({"save", "r"}, "{\"a\": 1}");
  EXPECT_EQ(again.out, "r@1\n");
  EXPECT_TRUE(contains(again.err, "--force"));
  EXPECT_EQ(json({"save", "r"}, "{\"a\": 1}").at("outcome"), "unchanged");
  EXPECT_EQ(ok({"save", "r", "--force"}, "{\"a\": 1}"), "r@2\n");
  EXPECT_EQ(ok({"save", "r"}, "{\"a\":1}"), "r@3\n") << "other bytes are another state";
  EXPECT_EQ(ok({"restore", "r@2"}), "{\"a\": 1}");
}

TEST_F(SaveRestore, EveryDurabilityLevelIsDurableOnceItIsPrinted) {
  for (const std::string level : {"sync", "async", "exit"}) {
    EXPECT_EQ(ok({"save", level, "--durability", level}, "1"), level + "@1\n");
    EXPECT_EQ(ok({"save", level}, "2"), level + "@2\n");
    EXPECT_EQ(json({"show", level}).at("durability"), level);
    EXPECT_EQ(ok({"restore", level}), "2");
  }
  expect_error(pawl({"save", "sync", "--durability", "async"}, "3"), 4, "PAWL-0206");
}

}  // namespace
}  // namespace pawl::e2e
