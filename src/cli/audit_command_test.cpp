// `pawl audit` on the memory store; verification needs files and is tested with the real program.
#include <algorithm>

#include "audit/merkle.hpp"
#include "base/hash.hpp"
#include "testing/cli_fixture.hpp"
#include "testing/merkle_proofs.hpp"

namespace pawl {
namespace {

class AuditCommand : public testing::CliTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(pawl({"save", "r"}, R"({"a":1})").status, 0);
    clock_.advance(3'600'000'000);
    ASSERT_EQ(
        pawl({"audit", "add", "r", "--type", "reviewed", "--agent", "ann", "--data", R"({"verdict":"fine"})"}).status,
        0);
  }
};

TEST_F(AuditCommand, ListsEntriesInOrder) {
  const auto entries = pawl({"audit", "list", "r", "--json"}).json();
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0]["type"], "run_created");
  EXPECT_EQ(entries[2]["type"], "reviewed");
  EXPECT_EQ(entries[2]["data"]["verdict"], "fine");
  EXPECT_EQ(entries[3]["previous"], entries[2]["hash"]);
  const std::string text = pawl({"audit", "list", "r"}).out;
  EXPECT_NE(text.find("reviewed"), std::string::npos);
  EXPECT_NE(text.find("ENTRY"), std::string::npos);
}

TEST_F(AuditCommand, FiltersByTypeAgentTimeAndText) {
  const auto count = [&](std::vector<std::string> filter) {
    filter.insert(filter.begin(), {"audit", "list", "r", "--json"});
    return pawl(filter).json().size();
  };
  EXPECT_EQ(count({"--type", "reviewed"}), 1U);
  EXPECT_EQ(count({"--agent", "ann"}), 1U);
  EXPECT_EQ(count({"--agent", "bob"}), 0U);
  EXPECT_EQ(count({"--text", "verdict"}), 1U);
  EXPECT_EQ(count({"--since", "2026-01-11T15:00"}), 2U);
  EXPECT_EQ(count({"--until", "2026-01-11 15:00:00Z"}), 2U);
  EXPECT_EQ(count({"--since", "2026-01-11", "--until", "2026-01-12"}), 4U);
  EXPECT_EQ(pawl({"audit", "list", "r", "--since", "soon"}).status, 2);
}

TEST_F(AuditCommand, ListsAllRuns) {
  ASSERT_EQ(pawl({"save", "a"}, "{}").status, 0);
  const auto entries = pawl({"audit", "list", "--all", "--json"}).json();
  ASSERT_EQ(entries.size(), 6U);
  EXPECT_EQ(entries[0]["run"], "a");
  EXPECT_EQ(pawl({"audit", "list"}).status, 2);
  EXPECT_EQ(pawl({"audit", "list", "r", "--all"}).status, 2);
}

TEST_F(AuditCommand, WritesReports) {
  ASSERT_EQ(pawl({"audit", "report", "r", "--format", "html", "-o", "out.html"}).status, 0);
  EXPECT_NE(files_["out.html"].find("<h1>Audit of r</h1>"), std::string::npos);
  EXPECT_EQ(pawl({"audit", "report", "r"}).json()["entries"].size(), 4U);
  EXPECT_TRUE(pawl({"audit", "report", "r", "--format", "csv"}).out.starts_with("run,entry,at,type,"));
  EXPECT_EQ(pawl({"audit", "report", "missing"}).status, 2);
}

TEST_F(AuditCommand, GivesProofsOfInclusion) {
  const auto proof = pawl({"audit", "proof", "r", "3"}).json();
  EXPECT_EQ(proof["size"], 4);
  EXPECT_EQ(proof["proof"].size(), 2U);
  EXPECT_EQ(pawl({"audit", "proof", "r", "0"}).status, 2);
  EXPECT_EQ(pawl({"audit", "proof", "r", "5"}).status, 2);
}

TEST_F(AuditCommand, GivesProofsThatTheTrailOnlyGrew) {
  const auto proof = pawl({"audit", "proof", "r", "--since", "3"}).json();
  EXPECT_EQ(proof["earlier_size"], 3);
  EXPECT_EQ(proof["size"], 4);
  const auto hash_in = [](const std::string& hex) {
    Sha256 hash{};
    std::ranges::copy(from_hex(hex), hash.begin());
    return hash;
  };
  std::vector<Sha256> path;
  for (const auto& node : proof["proof"]) path.push_back(hash_in(node));
  EXPECT_TRUE(proves_consistency(3, hash_in(proof["earlier_root"]), 4, hash_in(proof["root"]), path));
  EXPECT_EQ(pawl({"audit", "proof", "r", "--since", "5"}).status, 2);
  EXPECT_EQ(pawl({"audit", "proof", "r", "1", "--since", "2"}).status, 2);
  EXPECT_EQ(pawl({"audit", "proof", "r"}).status, 2);
}

TEST_F(AuditCommand, SaysThatAMemoryStoreCannotBeVerified) {
  EXPECT_EQ(pawl({"verify", "r"}).status, 2);
  EXPECT_EQ(pawl({"audit", "anchor"}).status, 2);
}

TEST_F(AuditCommand, RecordsReadsWhereTheSettingsSaySo) {
  environment_["PAWL_AUDIT_READS"] = "true";
  EXPECT_EQ(pawl({"restore", "r@1"}).out, R"({"a":1})");
  const auto read = pawl({"audit", "list", "r", "--type", "checkpoint_read", "--json"}).json();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0]["data"]["checkpoint"], 1);
  pawl({"restore", "r", "--mode", "full"});
  pawl({"diff", "r@1", "r"});
  pawl({"replay", "r"});
  std::vector<std::string> commands;
  for (const auto& entry : pawl({"audit", "list", "r", "--type", "checkpoint_read", "--json"}).json())
    commands.push_back(entry["data"]["command"]);
  EXPECT_EQ(commands, (std::vector<std::string>{"restore", "restore", "diff", "diff", "replay"}));
}

}  // namespace
}  // namespace pawl
