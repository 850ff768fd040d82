#include "testing/cli_fixture.hpp"

namespace pawl::testing {
namespace {

class EraseCommand : public CliTest {
 protected:
  void save(const std::string& run) { ASSERT_EQ(pawl({"save", run}, fmt::format("{{\"n\":{}}}", saved_++)).status, 0); }
  int saved_ = 0;
};

TEST_F(EraseCommand, SaysWhatIsLeft) {
  save("r");
  save("r");
  const CliResult result = pawl({"erase", "r", "--reason", "request 17"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "r: 2 checkpoints erased; audit trail kept\n");
}

TEST_F(EraseCommand, TellsEverythingInJson) {
  save("r");
  const auto document = pawl({"erase", "r", "--reason", "request 17", "--json"}).json();
  EXPECT_EQ(document.at("run"), "r");
  EXPECT_EQ(document.at("status"), "erased");
  EXPECT_EQ(document.at("reason"), "request 17");
  EXPECT_EQ(document.at("checkpoints"), 1);
  EXPECT_TRUE(document.at("forks").empty() && document.at("waiting_for").empty());
  EXPECT_EQ(pawl({"erase", "r", "--reason", "again", "--json"}).json().at("status"), "already_erased");
}

TEST_F(EraseCommand, LaterCommandsSayWhenAndWhy) {
  save("r");
  ASSERT_EQ(pawl({"erase", "r", "--reason", "request 17"}).status, 0);
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"restore", "r"}, {"show", "r"}, {"save", "r"}, {"diff", "r@1", "r@1"}}) {
    const CliResult result = pawl(args, "{}");
    EXPECT_EQ(result.status, 2) << args.front();
    EXPECT_NE(result.err.find("PAWL-0109"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("erased on 20"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("because request 17"), std::string::npos) << result.err;
  }
  EXPECT_NE(pawl({"list"}).out.find("erased"), std::string::npos);
}

TEST_F(EraseCommand, NeedsAReason) {
  save("r");
  EXPECT_EQ(pawl({"erase", "r"}).status, 2);
  EXPECT_EQ(pawl({"erase", "r", "--reason", "  "}).status, 2);
  EXPECT_EQ(pawl({"erase", "r", "--reason", "two\nlines"}).status, 2);
  EXPECT_EQ(pawl({"erase", "r", "--reason", std::string(1001, 'x')}).status, 2);
  EXPECT_EQ(pawl({"restore", "r"}).status, 0);
}

TEST_F(EraseCommand, AnotherAnswerThanTheRunIdIsNotAnError) {
  ASSERT_EQ(pawl({"save", "r"}, "{}").status, 0);
  terminal_ = true;
  const CliResult result = pawl({"erase", "r", "--reason", "request 17"}, "s\n");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err,
            "erase run 'r' and its 1 checkpoint permanently? Type the run id to confirm: nothing was erased\n");
  EXPECT_EQ(pawl({"restore", "r"}).status, 0);
}

TEST_F(EraseCommand, AMissingRunIsNamed) {
  save("r");
  const CliResult result = pawl({"erase", "missing", "--reason", "x"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("PAWL-0101"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace pawl::testing
