#include "base/hash.hpp"
#include "testing/import_fixture.hpp"

namespace pawl {
namespace {

std::string jerry_checkpoint(std::uint64_t sequence, std::string_view checksum, std::string_view previous = "null",
                             std::string_view state = R"({"current_step":3,"total_steps":4})") {
  return fmt::format(
      R"({{"$schema":"x","header":{{"version":"1.0.0","checkpoint_id":{{"workflow_id":"w","sequence":{},"timestamp":"2026-01-11T14:30:00Z","checksum":"{}"}},)"
      R"("created_by":{{"session_id":"s"}},"compression":"none"}},"state":{},"footer":{{"prev_checkpoint":{}}}}})",
      sequence, checksum, state, previous);
}

std::string sum_of(std::string_view text) { return "sha256:" + to_hex(sha256(text)); }

TEST(Jerry, TakesAStateAsItStandsThereAndCountsStepsBeforeTheCurrentOneAsDone) {
  testing::TextFiles files(
      {{"checkpoints/w/checkpoint_001.json", jerry_checkpoint(1, sum_of(R"({"current_step":3,"total_steps":4})"))}});
  const Parsed parsed = parse_files(files, "jerry");
  EXPECT_TRUE(parsed.problems.empty());
  ASSERT_EQ(parsed.runs.size(), 1U);
  EXPECT_EQ(parsed.runs[0].id, "w");
  EXPECT_EQ(parsed.runs[0].session, "s");
  EXPECT_EQ(parsed.runs[0].checkpoints[0].state, R"({"current_step":3,"total_steps":4})");
  EXPECT_EQ(parsed.runs[0].steps.size(), 2U);
}

TEST(Jerry, RefusesAChecksumThatFitsNothingAndTakesOneThatIsNone) {
  testing::TextFiles files({{"checkpoints/w/checkpoint_001.json", jerry_checkpoint(1, sum_of("else"))},
                            {"checkpoints/w/checkpoint_002.json", jerry_checkpoint(2, "sha256:a1b2c3d4...")},
                            {"checkpoints/w/checkpoint_003.json", jerry_checkpoint(4, "")}});
  const Parsed parsed = parse_files(files, "jerry");
  EXPECT_EQ(parsed.codes(), (std::vector<Code>{Code::checksum_mismatch, Code::import_invalid}));
  ASSERT_EQ(parsed.runs.size(), 1U);
  EXPECT_EQ(parsed.runs[0].checkpoints.size(), 1U);
}

TEST(Jerry, RefusesACheckpointThatWasMadeBehindAnother) {
  testing::TextFiles files(
      {{"checkpoints/w/checkpoint_001.json", jerry_checkpoint(1, "sha256:aa...")},
       {"checkpoints/w/checkpoint_002.json", jerry_checkpoint(2, "", R"({"sequence":1,"checksum":"sha256:bb..."})")}});
  const Parsed parsed = parse_files(files, "jerry");
  EXPECT_EQ(parsed.codes(), std::vector<Code>{Code::chain_broken});
  EXPECT_EQ(parsed.runs[0].checkpoints.size(), 1U);
}

TEST(Jerry, PutsEventsToTheCheckpointThatWasMadeNext) {
  testing::TextFiles files({{"checkpoints/w/checkpoint_001.json", jerry_checkpoint(1, "")},
                            {"checkpoints/w/checkpoint_002.json", jerry_checkpoint(2, "")},
                            {"events/w/events_2026-01-11.jsonl",
                             "{\"seq\":1,\"type\":\"A\"}\n{\"seq\":2,\"type\":\"CHECKPOINT_CREATED\",\"cp_seq\":1}\n{"
                             "\"seq\":3,\"type\":\"B\"}\n"}});
  const Parsed parsed = parse_files(files, "jerry");
  EXPECT_TRUE(parsed.problems.empty());
  const auto& checkpoints = parsed.runs[0].checkpoints;
  ASSERT_EQ(checkpoints.size(), 3U);
  EXPECT_EQ(checkpoints[0].events.size(), 2U);
  EXPECT_TRUE(checkpoints[1].events.empty());
  EXPECT_EQ(checkpoints[2].events.size(), 1U);
  EXPECT_EQ(checkpoints[2].state, checkpoints[1].state);
}

TEST(Jerry, FollowsTheHashChainOfAnAuditTrail) {
  const std::string good =
      "{\"id\":\"1\",\"session\":\"s\",\"prev_hash\":\"GENESIS\",\"hash\":\"sha256:abc123\"}\n"
      "{\"id\":\"2\",\"session\":\"s\",\"prev_hash\":\"sha256:abc123\",\"hash\":\"sha256:def456\"}\n";
  testing::TextFiles files({{"audit/s/audit_trail.jsonl", good}});
  EXPECT_TRUE(parse_files(files, "jerry").problems.empty());
  testing::TextFiles cut({{"audit/s/audit_trail.jsonl", good.substr(good.find('\n') + 1)}});
  EXPECT_EQ(parse_files(cut, "jerry").codes(), std::vector<Code>{Code::chain_broken});
}

}  // namespace
}  // namespace pawl
