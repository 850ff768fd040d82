#include "testing/cli_fixture.hpp"

namespace pawl::testing {
namespace {

class PruneCommand : public CliTest {
 protected:
  void save(const std::string& run, int count, const std::vector<std::string>& more = {}) {
    for (int i = 0; i < count; ++i) {
      std::vector<std::string> args = {"save", run};
      args.insert(args.end(), more.begin(), more.end());
      ASSERT_EQ(pawl(args, fmt::format("[{}, {}]", i, saved_++)).status, 0);
      clock_.advance(86'400'000'000);
    }
  }
  int saved_ = 0;
};

TEST_F(PruneCommand, WithoutALimitIsAUsageErrorThatShowsAnExample) {
  environment_["PAWL_CHECKPOINT_KEEP"] = "all";
  save("r", 1);
  const CliResult result = pawl({"prune"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("pawl prune --keep 10 --dry-run"), std::string::npos) << result.err;
}

TEST_F(PruneCommand, SaysWhatWouldGoAndLeavesIt) {
  save("r", 5);
  const CliResult result = pawl({"prune", "r", "--keep", "2", "--dry-run"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("r: would remove 3 of 5 checkpoints (1-3), would free "), std::string::npos) << result.out;
  EXPECT_EQ(pawl({"restore", "r@1"}).status, 0);
}

TEST_F(PruneCommand, RemovesInAllRunsAndSumsUp) {
  save("r", 5);
  save("named", 1, {"--name", "x"});
  save("named", 2);
  const CliResult result = pawl({"prune", "--keep", "1"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("r: removed 4 of 5 checkpoints (1-4), freed "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("named: removed 1 of 3 checkpoints (2), freed "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("2 runs: removed 5 checkpoints, kept 3, freed "), std::string::npos) << result.out;
  EXPECT_NE(pawl({"restore", "r@1"}).err.find("PAWL-0108"), std::string::npos);
  EXPECT_EQ(pawl({"restore", "named@name:x"}).status, 0);
}

TEST_F(PruneCommand, SaysWhyCheckpointsBeyondTheLimitsAreKept) {
  save("r", 2, {"--name", "x"});
  save("r", 2);
  ASSERT_EQ(pawl({"fork", "r@3", "--run-id", "f"}).status, 0);
  const CliResult result = pawl({"prune", "r", "--older-than", "0", "--json"});
  const nlohmann::json run = result.json().at("runs").at(0);
  EXPECT_EQ(run.at("kept_by_rule"), nlohmann::json::parse(R"({"newest":1,"named":2,"stage_ends":0,"fork_points":1})"))
      << result.out;
  const CliResult text = pawl({"prune", "r", "--keep", "1"});
  EXPECT_NE(text.out.find("; kept beyond the limits: 2 named, 1 fork point\n"), std::string::npos) << text.out;
}

TEST_F(PruneCommand, TakesDaysWithAndWithoutTheirUnit) {
  save("r", 10);
  EXPECT_EQ(pawl({"prune", "--older-than", "7d", "--json"}).json().at("removed"), 3);
  EXPECT_EQ(pawl({"prune", "--older-than", "5", "--json"}).json().at("removed"), 2);
  EXPECT_EQ(pawl({"prune", "--older-than", "5w"}).status, 2);
  EXPECT_EQ(pawl({"prune", "--keep", "0"}).status, 2);
}

TEST_F(PruneCommand, KeepsTheNewestOfEachStage) {
  save("r", 3, {"--stage", "a"});
  save("r", 3, {"--stage", "b"});
  const nlohmann::json document = pawl({"prune", "r", "--keep-per-stage", "1", "--json"}).json();
  EXPECT_EQ(document.at("runs").at(0).at("removed"), nlohmann::json::parse("[1,2,4,5]"));
  EXPECT_EQ(document.at("kept"), 2);
  EXPECT_EQ(document.at("dry_run"), false);
}

TEST_F(PruneCommand, LogsGoByTheirAgeAndCheckpointsAndOutputsStay) {
  save("r", 2);
  PosixLocalFiles files;
  const std::string folder = *other_handle()->local_folder(*RunId::parse("r"));
  ASSERT_TRUE(files.make_folder(folder + "/pages"));
  for (const char* name : {"/a.1.log", "/a.1.out", "/pages/[0].s.1.log"})
    ASSERT_TRUE(files.write(folder + name, "text"));
  // Files have the real time, which is after that of the test's clock, so they are in its future.
  EXPECT_EQ(pawl({"prune", "--logs", "--older-than", "1", "--json"}).json().at("removed"), 0);
  believed_ = clock_.now();
  clock_.advance(100LL * 365 * 86'400'000'000);
  EXPECT_EQ(pawl({"prune", "--logs", "--older-than", "1", "--json"}).json().at("removed"), 0);
  believed_.reset();
  EXPECT_EQ(pawl({"prune", "--logs", "--older-than", "1", "--dry-run", "--json"}).json().at("removed"), 2);
  EXPECT_TRUE(files.exists(folder + "/a.1.log"));
  const CliResult result = pawl({"prune", "r", "--logs", "--older-than", "1d"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("1 run: removed 2 logs, freed "), std::string::npos) << result.out;
  EXPECT_FALSE(files.exists(folder + "/a.1.log") || files.exists(folder + "/pages/[0].s.1.log"));
  EXPECT_TRUE(files.exists(folder + "/a.1.out"));
  EXPECT_EQ(pawl({"restore", "r@1"}).status, 0);
  EXPECT_EQ(pawl({"prune", "--logs"}).status, 2);
  EXPECT_EQ(pawl({"prune", "--logs", "--keep", "1", "--older-than", "1"}).status, 2);
  EXPECT_EQ(pawl({"prune", "missing", "--logs", "--older-than", "1"}).status, 2);
}

TEST_F(PruneCommand, OfAMissingRunOrStoreIsRefused) {
  EXPECT_NE(pawl({"prune", "--keep", "1"}).err.find("PAWL-0103"), std::string::npos);
  save("r", 1);
  EXPECT_NE(pawl({"prune", "other", "--keep", "1"}).err.find("PAWL-0101"), std::string::npos);
}

}  // namespace
}  // namespace pawl::testing
