#include "testing/cli_fixture.hpp"

namespace pawl::testing {
namespace {

class RmCommand : public CliTest {
 protected:
  void save(const std::string& run) { ASSERT_EQ(pawl({"save", run}, fmt::format("{{\"n\":{}}}", saved_++)).status, 0); }
  int saved_ = 0;
};

TEST_F(RmCommand, SaysWhatWasRemoved) {
  save("r");
  save("r");
  save("s");
  const CliResult result = pawl({"rm", "r", "s"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "removed r (2 checkpoints)\nremoved s (1 checkpoint)\n2 runs removed\n");
  EXPECT_EQ(pawl({"list", "--json"}).out, "[]\n");
}

TEST_F(RmCommand, ADryRunChangesNothing) {
  save("r");
  const auto document = pawl({"rm", "r", "--dry-run", "--json"}).json();
  EXPECT_EQ(document.at("dry_run"), true);
  EXPECT_EQ(document.at("removed").at(0).at("run"), "r");
  EXPECT_EQ(pawl({"restore", "r"}).status, 0);
}

TEST_F(RmCommand, LaterCommandsSayWhenAndByWhom) {
  save("r");
  ASSERT_EQ(pawl({"rm", "r", "--reason", "old"}).status, 0);
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"restore", "r"}, {"show", "r"}, {"save", "r"}, {"rm", "r"}}) {
    const CliResult result = pawl(args, "{}");
    EXPECT_EQ(result.status, 2) << args.front();
    EXPECT_NE(result.err.find("PAWL-0110"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("removed on 20"), std::string::npos) << result.err;
  }
  const auto rows = pawl({"list", "--removed", "--json"}).json();
  EXPECT_EQ(rows.at(0).at("reason"), "old");
}

TEST_F(RmCommand, AClockThatJumpedAheadMakesNoRunOld) {
  save("r");
  believed_ = clock_.now();
  clock_.jump(3650 * 86'400'000'000LL);
  const CliResult result = pawl({"rm", "--older-than", "30d", "--status", "active", "--yes"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "0 runs removed\n");
  EXPECT_NE(result.err.find("the system clock may be ahead"), std::string::npos) << result.err;
  believed_.reset();
  EXPECT_EQ(pawl({"rm", "--older-than", "30d", "--status", "active", "--yes", "--json"}).json().at("removed").size(),
            1);
}

TEST_F(RmCommand, AnAnswerOfNoIsNotAnError) {
  save("r");
  terminal_ = true;
  for (const char* answer : {"n\n", "\n", ""}) {
    const CliResult result = pawl({"rm", "r"}, answer);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "nothing was removed\n");
    EXPECT_EQ(result.err.find("PAWL-"), std::string::npos) << result.err;
  }
  EXPECT_EQ(pawl({"restore", "r"}).status, 0);
  EXPECT_EQ(pawl({"rm", "r"}, "y\n").out, "removed r (1 checkpoint)\n1 run removed\n");
}

TEST_F(RmCommand, OnlyWhoCreatesARunIsToldToChooseAnotherId) {
  save("r");
  save("p");
  ASSERT_EQ(pawl({"rm", "r"}).status, 0);
  const std::string list = "to list removed runs, run: pawl list --removed";
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"show", "r"}, {"logs", "r"}, {"restore", "r"}, {"rm", "r"}, {"fork", "r"}}) {
    EXPECT_NE(pawl(args).err.find("hint: " + list), std::string::npos) << args.front() << pawl(args).err;
  }
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"save", "r"}, {"fork", "p@1", "--run-id", "r"}}) {
    const std::string said = pawl(args, "{}").err;
    EXPECT_NE(said.find("are not reused: choose another id; " + list), std::string::npos) << said;
  }
}

TEST_F(RmCommand, SeveralStatusesAreSeparatedByCommas) {
  save("r");
  EXPECT_EQ(pawl({"rm", "--status", "completed,active", "--json"}).json().at("removed").size(), 1);
  EXPECT_NE(pawl({"rm", "--status", "completed,done"}).err.find("unknown value 'done'"), std::string::npos);
}

TEST_F(RmCommand, OfNamedRunsAllAreRemovedOrNone) {
  save("p");
  save("x");
  ASSERT_EQ(pawl({"fork", "p@1", "--run-id", "f"}).status, 0);
  const CliResult refused = pawl({"rm", "x", "p"});
  EXPECT_EQ(refused.status, 4);
  EXPECT_NE(refused.err.find("run 'f' was forked from run 'p'"), std::string::npos) << refused.err;
  EXPECT_EQ(pawl({"restore", "x"}).status, 0);
  EXPECT_EQ(pawl({"rm", "p", "f", "x"}).status, 0);
}

TEST_F(RmCommand, WhatASelectionKeepsIsNamed) {
  save("p");
  ASSERT_EQ(pawl({"fork", "p@1", "--run-id", "f"}).status, 0);
  const auto document = pawl({"rm", "--older-than", "400d", "--json"}).json();
  EXPECT_TRUE(document.at("removed").empty());
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"rm"}, {"rm", "p", "--status", "active"}, {"rm", "--older-than", "soon"}}) {
    EXPECT_EQ(pawl(wrong).status, 2);
  }
}

}  // namespace
}  // namespace pawl::testing
