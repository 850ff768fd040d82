// restore, list, show and diff.
#include "testing/cli_fixture.hpp"

namespace pawl::testing {
namespace {

class ReadingCommands : public CliTest {
 protected:
  void save(const std::string& run, const std::string& state, std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"save", run};
    args.insert(args.end(), more.begin(), more.end());
    ASSERT_EQ(pawl(args, state).status, 0);
    clock_.advance(1'000'000);
  }
};

TEST_F(ReadingCommands, RestorePrintsTheBytesAndNothingElse) {
  save("r", " {\"a\" : 1.0}\n\n");
  save("r", "2");
  EXPECT_EQ(pawl({"restore", "r@1"}).out, " {\"a\" : 1.0}\n\n");
  EXPECT_EQ(pawl({"restore", "r"}).out, "2");
  EXPECT_EQ(pawl({"restore", "r@latest"}).out, "2");
}

TEST_F(ReadingCommands, RestoreAsJsonEmbedsTheStateVerbatim) {
  save("r", "{\"a\" : 1.0}", {"--name", "x"});
  const CliResult result = pawl({"restore", "r", "--json"});
  EXPECT_NE(result.out.find("\"state\":{\"a\" : 1.0}"), std::string::npos) << result.out;
  EXPECT_EQ(result.json().at("sequence"), 1);
  EXPECT_EQ(result.json().at("name"), "x");
}

TEST_F(ReadingCommands, RestoreWritesToAFile) {
  save("r", "{}");
  EXPECT_EQ(pawl({"restore", "r", "-o", "out.json"}).out, "");
  EXPECT_EQ(files_.at("out.json"), "{}");
}

TEST_F(ReadingCommands, RestorePrintsOneLevelOfTheState) {
  save("r", R"({"workflow":{"n":1.50},"step":{"s":1}})");
  EXPECT_EQ(pawl({"restore", "r", "--level", "workflow"}).out, R"({"n":1.50})");
  EXPECT_EQ(pawl({"restore", "r", "--level", "stage"}).out, "{}");
  EXPECT_EQ(pawl({"restore", "r", "--level", "agent"}).out, R"({"s":1})");
  EXPECT_EQ(pawl({"restore", "r", "--level", "run"}).status, 2);
  EXPECT_EQ(pawl({"restore", "r", "--level", "stage", "--mode", "full"}).status, 2);
}

TEST_F(ReadingCommands, ShowNamesTheLevelOfACheckpointAndWhatDependsOnIt) {
  save("r", "1");
  save("r", "2", {"--stage", "review"});
  save("r", "3", {"--stage", "review", "--step", "critic"});
  ASSERT_EQ(pawl({"fork", "r@2", "--run-id", "other"}).status, 0);
  const nlohmann::json first = pawl({"show", "r@1", "--json"}).json();
  EXPECT_EQ(first.at("level"), "workflow");
  EXPECT_EQ(first.at("dependents").at("count"), 2);
  EXPECT_EQ(first.at("dependents").at("checkpoints"), nlohmann::json::array({2, 3}));
  EXPECT_EQ(first.at("dependents").at("runs").at(0).at("run"), "other");
  EXPECT_EQ(pawl({"show", "r@2", "--json"}).json().at("level"), "stage");
  const nlohmann::json last = pawl({"show", "r@3", "--json"}).json();
  EXPECT_EQ(last.at("level"), "agent");
  EXPECT_EQ(last.at("dependents").at("count"), 0);
  EXPECT_TRUE(last.at("dependents").at("runs").empty());
  EXPECT_NE(pawl({"show", "r@1"}).out.find("Dependents:  2 checkpoints (2-3); forks other\n"), std::string::npos);
  EXPECT_EQ(pawl({"show", "r@3"}).out.find("Dependents:"), std::string::npos);
}

TEST_F(ReadingCommands, WhatIsMissingIsNamedWithAHint) {
  const CliResult no_store = pawl({"restore", "r"});
  EXPECT_EQ(no_store.status, 2);
  EXPECT_NE(no_store.err.find("PAWL-0103"), std::string::npos);
  EXPECT_NE(no_store.err.find("\nhint: "), std::string::npos);
  save("r", "{}");
  EXPECT_NE(pawl({"restore", "other"}).err.find("PAWL-0101"), std::string::npos);
  EXPECT_NE(pawl({"restore", "r@9"}).err.find("PAWL-0102"), std::string::npos);
  EXPECT_NE(pawl({"restore", "r@what"}).err.find("PAWL-0003"), std::string::npos);
  EXPECT_EQ(pawl({"restore", "../x@1"}).status, 2);
}

TEST_F(ReadingCommands, ListIsATableOnStandardOutputNewestFirst) {
  save("older", "{}");
  save("newer", "{}", {"--kind", "barrier"});
  EXPECT_EQ(pawl({"list", "--utc"}).out,
            "RUN    STATUS  PROGRESS  COST  UPDATED                      LATEST  KIND     FORK OF  ERROR\n"
            "newer  active  -         -     2026-01-11T14:30:01.000000Z  @1      barrier  -        -\n"
            "older  active  -         -     2026-01-11T14:30:00.000000Z  @1      manual   -        -\n");
}

TEST_F(ReadingCommands, ListShowsAgesAndColoursOnlyOnATerminal) {
  save("r", "{}");
  clock_.advance(180'000'000);
  terminal_ = true;
  EXPECT_NE(pawl({"list"}).out.find("3 min ago"), std::string::npos);
  EXPECT_NE(pawl({"list"}).out.find("\x1b["), std::string::npos);
  EXPECT_EQ(pawl({"list", "--json"}).out.find("\x1b["), std::string::npos);
  environment_["NO_COLOR"] = "1";
  EXPECT_EQ(pawl({"list"}).out.find("\x1b["), std::string::npos);
}

TEST_F(ReadingCommands, ListAsJsonIsAnArray) {
  save("r", "{}");
  const nlohmann::json list = pawl({"list", "--json"}).json();
  ASSERT_EQ(list.size(), 1U);
  for (const char* key : {"run", "uuid", "latest", "kind", "status", "created", "updated", "durability"})
    EXPECT_TRUE(list[0].contains(key)) << key;
  EXPECT_EQ(list[0].at("latest"), 1);
}

TEST_F(ReadingCommands, ListOfAnEmptyOrMissingStore) {
  EXPECT_EQ(pawl({"list"}).status, 2);
  EXPECT_EQ(pawl({"list", "--json"}).error_json().at("code"), "PAWL-0103");
  store_exists_ = true;
  const CliResult empty = pawl({"list"});
  EXPECT_EQ(empty.status, 0);
  EXPECT_EQ(empty.out, "");
  EXPECT_NE(empty.err.find("no runs"), std::string::npos);
  EXPECT_EQ(pawl({"list", "--json"}).json(), nlohmann::json::array());
}

TEST_F(ReadingCommands, ListIsLimitedAndSaysSo) {
  for (const char* run : {"a", "b", "c"}) save(run, "{}");
  const CliResult result = pawl({"list", "--limit", "2"});
  EXPECT_EQ(std::ranges::count(result.out, '\n'), 3);
  EXPECT_NE(result.err.find("--limit"), std::string::npos);
  EXPECT_EQ(pawl({"list", "--limit", "3"}).err, "");
  EXPECT_EQ(pawl({"list", "--limit", "0"}).status, 2);
}

TEST_F(ReadingCommands, ShowRunGivesTheOverviewAndTheNewestCheckpoints) {
  for (int i = 1; i <= 12; ++i) save("r", std::to_string(i));
  const CliResult result = pawl({"show", "r"});
  EXPECT_NE(result.out.find("Latest:      r@12, manual, active\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("\n12   active"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("\n2    active"), std::string::npos) << result.out;
  const nlohmann::json shown = pawl({"show", "r", "--json"}).json();
  EXPECT_EQ(shown.at("run"), "r");
  EXPECT_EQ(shown.at("latest").at("sequence"), 12);
}

TEST_F(ReadingCommands, ShowCheckpointGivesItsDetails) {
  save("r", "{}", {"--name", "first", "--id", "job-1"});
  const CliResult result = pawl({"show", "r@name:first"});
  EXPECT_NE(result.out.find("Checkpoint:  r@1\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("Caller's id: job-1"), std::string::npos) << result.out;
  EXPECT_EQ(pawl({"show", "r@1", "--json"}).json().at("caller_id"), "job-1");
  EXPECT_EQ(pawl({"show", "r@1", "--checkpoints"}).status, 2);
}

TEST_F(ReadingCommands, ACheckpointIsShownWithAllItsLabels) {
  {
    const auto store = other_handle();
    const auto run = store->open_run(*RunId::parse("r"), {});
    SaveRequest request;
    request.body = "{}";
    request.kind = Kind::step_complete;
    request.reason = Reason::after_step;
    request.step = "a";
    request.also = {{Kind::step_complete, Reason::after_step, "load", "b"},
                    {Kind::stage_complete, Reason::stage_completed, "load", ""}};
    ASSERT_TRUE((*run)->save(request));
  }
  save("r", "2");
  const CliResult text = pawl({"show", "r@step:b"});
  EXPECT_NE(text.out.find("Checkpoint:  r@1\n"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("Also:        step_complete of step b in stage load; stage_complete of stage load\n"),
            std::string::npos)
      << text.out;
  const CliResult table = pawl({"show", "r", "--checkpoints"});
  EXPECT_NE(table.out.find("a, b"), std::string::npos) << table.out;
  const nlohmann::json labels = pawl({"show", "r@stage:load", "--json"}).json().at("labels");
  EXPECT_EQ(labels.dump(), R"([{"kind":"step_complete","reason":"after_step","stage":"","step":"a"},)"
                           R"({"kind":"step_complete","reason":"after_step","stage":"load","step":"b"},)"
                           R"({"kind":"stage_complete","reason":"stage_completed","stage":"load","step":""}])");
  EXPECT_EQ(pawl({"show", "r@2", "--json"}).json().at("labels").size(), 1U);
}

TEST_F(ReadingCommands, ShowCheckpointsArePaged) {
  for (int i = 1; i <= 5; ++i) save("r", std::to_string(i));
  const nlohmann::json page = pawl({"show", "r", "--checkpoints", "--after", "2", "--limit", "2", "--json"}).json();
  ASSERT_EQ(page.size(), 2U);
  EXPECT_EQ(page[0].at("sequence"), 3);
  EXPECT_EQ(page[1].at("sequence"), 4);
  EXPECT_NE(pawl({"show", "r", "--after", "0", "--limit", "2"}).err.find("--after 2"), std::string::npos);
  EXPECT_EQ(pawl({"show", "r", "--checkpoints", "--after", "5", "--json"}).json(), nlohmann::json::array());
}

TEST_F(ReadingCommands, ShowLimitedGivesTheNewestCheckpoints) {
  for (int i = 1; i <= 5; ++i) save("r", std::to_string(i));
  const nlohmann::json newest = pawl({"show", "r", "--limit", "2", "--json"}).json();
  ASSERT_EQ(newest.size(), 2U);
  EXPECT_EQ(newest[0].at("sequence"), 4);
  EXPECT_EQ(newest[1].at("sequence"), 5);
  EXPECT_NE(pawl({"show", "r", "--limit", "2"}).err.find("newest 2"), std::string::npos);
  EXPECT_EQ(pawl({"show", "r", "--limit", "5"}).err, "");
}

TEST_F(ReadingCommands, HelpAndVersionAreCommandsToo) {
  EXPECT_EQ(pawl({"help"}).out, pawl({"--help"}).out);
  EXPECT_EQ(pawl({"help", "run"}).out, pawl({"run", "--help"}).out);
  EXPECT_EQ(pawl({"version"}).out, "pawl 1.2.3\n");
  EXPECT_EQ(pawl({"help", "audit", "report"}).out, pawl({"audit", "report", "--help"}).out);
  EXPECT_EQ(pawl({"help", "backup", "create"}).out, pawl({"backup", "create", "--help"}).out);
  EXPECT_EQ(pawl({"help", "audit", "reprot"}).status, 2);
  EXPECT_NE(pawl({"help", "audit", "reprot"}).err.find("did you mean `pawl help audit report`?"), std::string::npos);
  const CliResult unknown = pawl({"help", "shwo"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("pawl help show"), std::string::npos) << unknown.err;
}

TEST_F(ReadingCommands, DiffIsReadableOrAJsonPatch) {
  save("r", R"({"a": 1, "b": 2})");
  save("r", R"({"a": 1, "b": 3})");
  const CliResult readable = pawl({"diff", "r@1", "r@2"});
  EXPECT_EQ(readable.status, 0);
  EXPECT_NE(readable.out.find("b"), std::string::npos);
  EXPECT_TRUE(readable.out.ends_with('\n'));
  const nlohmann::json patch = pawl({"diff", "r@1", "r@2", "--json"}).json();
  EXPECT_EQ(nlohmann::json::parse(R"({"a": 1, "b": 2})").patch(patch), nlohmann::json::parse(R"({"a": 1, "b": 3})"));
}

TEST_F(ReadingCommands, DiffOfEqualStatesSaysSo) {
  save("r", "{}");
  const CliResult same = pawl({"diff", "r@1", "r"});
  EXPECT_EQ(same.status, 0);
  EXPECT_EQ(same.out, "");
  EXPECT_NE(same.err.find("same state"), std::string::npos);
  EXPECT_EQ(pawl({"diff", "r@1", "r", "--json"}).json(), nlohmann::json::array());
  save("r", "{ }");
  EXPECT_NE(pawl({"diff", "r@1", "r@2"}).err.find("same values"), std::string::npos);
}

}  // namespace
}  // namespace pawl::testing
