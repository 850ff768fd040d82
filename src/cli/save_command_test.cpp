#include "testing/cli_fixture.hpp"

namespace pawl::testing {
namespace {

class SaveCommand : public CliTest {};

TEST_F(SaveCommand, PrintsTheAddressAndNothingElse) {
  const CliResult first = pawl({"save", "nightly"}, R"({"done": 3})");
  EXPECT_EQ(first.status, 0);
  EXPECT_EQ(first.out, "nightly@1\n");
  EXPECT_EQ(first.err, "");
  EXPECT_EQ(pawl({"save", "nightly"}, R"({"done": 4})").out, "nightly@2\n");
}

TEST_F(SaveCommand, JsonPrintsOneDocument) {
  const nlohmann::json saved = pawl({"save", "nightly", "--json"}, "{}").json();
  EXPECT_EQ(saved.at("run"), "nightly");
  EXPECT_EQ(saved.at("sequence"), 1);
  EXPECT_EQ(saved.at("outcome"), "written");
  EXPECT_EQ(saved.at("id").get<std::string>().size(), 36U);
  EXPECT_TRUE(saved.at("checksum").get<std::string>().starts_with("sha256:"));
  EXPECT_EQ(saved.size(), 5U);
}

TEST_F(SaveCommand, ReadsAFileAndStandardInput) {
  files_["state.json"] = "{\"from\": \"file\"}\n";
  EXPECT_EQ(pawl({"save", "r", "--state", "state.json"}).out, "r@1\n");
  EXPECT_EQ(pawl({"restore", "r"}).out, "{\"from\": \"file\"}\n");
  EXPECT_EQ(pawl({"save", "r", "--state", "-"}, "[1]").out, "r@2\n");
  EXPECT_EQ(pawl({"restore", "r"}).out, "[1]");
}

TEST_F(SaveCommand, ANamedFileThatIsMissingIsInputTrouble) {
  const CliResult result = pawl({"save", "r", "--state", "missing.json"});
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(result.err.starts_with("pawl: PAWL-0011: ")) << result.err;
  EXPECT_FALSE(store_exists_);
}

TEST_F(SaveCommand, UnchangedAndRepeatedAreAnsweredWithANote) {
  pawl({"save", "r", "--id", "a"}, "1");
  const CliResult unchanged = pawl({"save", "r"}, "1");
  EXPECT_EQ(unchanged.status, 0);
  EXPECT_EQ(unchanged.out, "r@1\n");
  EXPECT_NE(unchanged.err.find("--force"), std::string::npos);
  EXPECT_EQ(pawl({"save", "r", "--json"}, "1").json().at("outcome"), "unchanged");
  EXPECT_EQ(pawl({"save", "r", "--force"}, "1").out, "r@2\n");
  pawl({"save", "r"}, "3");
  const CliResult repeated = pawl({"save", "r", "--id", "a"}, "1");
  EXPECT_EQ(repeated.status, 0);
  EXPECT_EQ(repeated.out, "r@1\n");
  EXPECT_NE(repeated.err.find("was already saved"), std::string::npos);
  EXPECT_EQ(pawl({"save", "r", "--id", "a", "--json"}, "1").json().at("outcome"), "repeated");
}

TEST_F(SaveCommand, PatchIsAppliedToTheLastState) {
  pawl({"save", "r"}, R"({"log": [1]})");
  EXPECT_EQ(pawl({"save", "r", "--patch"}, R"({"log": {"$append": [2]}})").out, "r@2\n");
  EXPECT_EQ(nlohmann::json::parse(pawl({"restore", "r"}).out), nlohmann::json::parse(R"({"log": [1, 2]})"));
  const CliResult bad = pawl({"save", "r", "--patch"}, R"({"log": {"$append": 2}})");
  EXPECT_EQ(bad.status, 2);
  EXPECT_NE(bad.err.find("PAWL-0010"), std::string::npos) << bad.err;
}

TEST_F(SaveCommand, ExpectParentConflictIsRefusedWithStatusFour) {
  EXPECT_EQ(pawl({"save", "r", "--expect-parent", "0"}, "1").status, 0);
  const CliResult conflict = pawl({"save", "r", "--expect-parent", "0", "--json"}, "2");
  EXPECT_EQ(conflict.status, 4);
  EXPECT_EQ(conflict.out, "");
  EXPECT_EQ(conflict.error_json().at("code"), "PAWL-0202");
  EXPECT_EQ(pawl({"save", "r", "--expect-parent", "1"}, "2").out, "r@2\n");
}

TEST_F(SaveCommand, LabelsAreKept) {
  pawl({"save",      "r",         "--kind",       "step_complete",
        "--status",  "completed", "--reason",     "after_step",
        "--name",    "N",         "--stage",      "S",
        "--step",    "T",         "--metadata",   R"({"k":[1]})",
        "--session", "chat-7",    "--durability", "async"},
       "{}");
  const nlohmann::json shown = pawl({"show", "r", "--json"}).json();
  EXPECT_EQ(shown.at("session"), "chat-7");
  EXPECT_EQ(shown.at("durability"), "async");
  const nlohmann::json& latest = shown.at("latest");
  EXPECT_EQ(latest.at("kind"), "step_complete");
  EXPECT_EQ(latest.at("status"), "completed");
  EXPECT_EQ(latest.at("reason"), "after_step");
  EXPECT_EQ(latest.at("name"), "N");
  EXPECT_EQ(latest.at("stage"), "S");
  EXPECT_EQ(latest.at("step"), "T");
  EXPECT_EQ(latest.at("metadata"), nlohmann::json::parse(R"({"k":[1]})"));
}

TEST_F(SaveCommand, ACompletedRunStaysCompleted) {
  pawl({"save", "r", "--status", "completed", "--id", "done"}, "1");
  for (const char* status : {"active", "failed", "recovering"}) {
    const CliResult refused = pawl({"save", "r", "--status", status}, "2");
    EXPECT_EQ(refused.status, 4) << status;
    EXPECT_NE(refused.err.find("PAWL-0204"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("run 'r' is completed"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("pawl fork r"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(pawl({"save", "r", "--status", "completed"}, "2").out, "r@2\n");
  EXPECT_EQ(pawl({"save", "r"}, "3").out, "r@3\n");  // has no --status, so the status is kept
  EXPECT_EQ(pawl({"show", "r@3", "--json"}).json().at("status"), "completed");
  EXPECT_EQ(pawl({"save", "r", "--id", "done", "--status", "active"}, "1").out, "r@1\n");  // a repeated save returns
                                                                                           // the earlier result
}

TEST_F(SaveCommand, AFailedRunIsRecoveredBeforeItIsCompleted) {
  EXPECT_EQ(pawl({"save", "r"}, "1").status, 0);
  EXPECT_EQ(pawl({"save", "r", "--status", "failed"}, "2").status, 0);
  EXPECT_EQ(pawl({"save", "r"}, "3").status, 0);
  EXPECT_EQ(pawl({"show", "r@3", "--json"}).json().at("status"), "failed");
  EXPECT_EQ(pawl({"save", "r", "--status", "active"}, "4").status, 4);
  EXPECT_EQ(pawl({"save", "r", "--status", "completed"}, "4").status, 4);
  EXPECT_EQ(pawl({"save", "r", "--status", "recovering"}, "4").status, 0);
  EXPECT_EQ(pawl({"save", "r", "--status", "failed"}, "5").status, 0);
  EXPECT_EQ(pawl({"save", "r", "--status", "recovering"}, "6").status, 0);
  EXPECT_EQ(pawl({"save", "r", "--status", "completed"}, "7").status, 0);
}

TEST_F(SaveCommand, HostileRunIdsAreRefused) {
  for (const std::string& id : {std::string("../etc"), std::string("a/b"), std::string(200, 'a'), std::string("-"),
                                std::string("a@1"), std::string("a\x1b[31m"), std::string(".."), std::string("")}) {
    const CliResult result = pawl({"save", "--", id}, "{}");
    EXPECT_EQ(result.status, 2) << id;
    EXPECT_NE(result.err.find("PAWL-0002"), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find('\x1b'), std::string::npos) << "a terminal could be steered";
  }
  EXPECT_FALSE(store_exists_);
}

TEST_F(SaveCommand, BadInputHasItsOwnErrorAndMakesNoStore) {
  const std::pair<std::string, std::string> cases[] = {
      {"{\"a\": NaN}", "PAWL-0004"},
      {"", "PAWL-0004"},
      {std::string(900, '['), "PAWL-0005"},
      {"{\"a\": \"\xff\"}", "PAWL-0006"},
      {R"({"a":1,"a":2})", "PAWL-0007"},
      {"1" + std::string(400, '0'), "PAWL-0008"},
      {"\"" + std::string(1000, 'x') + "\"", "PAWL-0009"},
  };
  for (const auto& [input, code] : cases) {
    const CliResult result = pawl({"save", "r"}, input);
    EXPECT_EQ(result.status, 2) << code;
    EXPECT_TRUE(result.err.starts_with("pawl: " + code + ": ")) << result.err;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_FALSE(store_exists_);
}

TEST_F(SaveCommand, BadLabelsAndMetadataAreRefused) {
  const std::vector<std::vector<std::string>> labels = {{"--name", std::string(257, 'x')},
                                                        {"--id", "a\nb"},
                                                        {"--stage", "\xff"},
                                                        {"--step", "\x1b[0m"},
                                                        {"--session", "\x7f"}};
  for (const std::vector<std::string>& label : labels) {
    const CliResult result = pawl({"save", "r", label[0], label[1]}, "{}");
    EXPECT_EQ(result.status, 2);
    EXPECT_NE(result.err.find("PAWL-0012"), std::string::npos) << label[0] << result.err;
  }
  EXPECT_NE(pawl({"save", "r", "--metadata", "[1]"}, "{}").err.find("not a JSON object"), std::string::npos);
  EXPECT_NE(pawl({"save", "r", "--metadata", "{"}, "{}").err.find("PAWL-0004"), std::string::npos);
  EXPECT_FALSE(store_exists_);
}

TEST_F(SaveCommand, ASecondWriterIsRefusedAndNamesTheFirst) {
  pawl({"save", "r"}, "1");
  const auto store = other_handle();
  const auto held = store->open_run(*RunId::parse("r"), {});
  ASSERT_TRUE(held);
  const CliResult busy = pawl({"save", "r"}, "2");
  EXPECT_EQ(busy.status, 4);
  EXPECT_NE(busy.err.find("PAWL-0201"), std::string::npos);
  EXPECT_NE(busy.err.find("4711"), std::string::npos) << busy.err;
}

TEST_F(SaveCommand, AFailingStandardOutputIsStatusFiveAndSaysWhatIsDurable) {
  out_error_ = EPIPE;
  const CliResult result = pawl({"save", "r"}, "1");
  EXPECT_EQ(result.status, 5);
  EXPECT_NE(result.err.find("PAWL-0504"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("durable: r@1"), std::string::npos) << result.err;
  out_error_ = ENOSPC;
  EXPECT_NE(pawl({"list"}).err.find("PAWL-0501"), std::string::npos);
}

TEST_F(SaveCommand, OnATerminalItSaysWhatIsExpected) {
  terminal_ = true;
  EXPECT_NE(pawl({"save", "r"}, "{}").err.find("Ctrl-D"), std::string::npos);
}

TEST_F(SaveCommand, UnknownWordsAreSuggested) {
  const CliResult result = pawl({"save", "r", "--kind", "barier"}, "{}");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("did you mean 'barrier'?"), std::string::npos) << result.err;
  EXPECT_EQ(pawl({"save", "r", "--expect-parent", "-1"}, "{}").status, 2);
  EXPECT_EQ(pawl({"save", "r", "--expect-parent", "1x"}, "{}").status, 2);
}

TEST_F(SaveCommand, ARunMayBeNamedLikeACommand) {
  EXPECT_EQ(pawl({"save", "list"}, "{}").out, "list@1\n");
  EXPECT_EQ(pawl({"restore", "list"}).out, "{}");
}

}  // namespace
}  // namespace pawl::testing
