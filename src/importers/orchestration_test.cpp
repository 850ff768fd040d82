#include "testing/import_fixture.hpp"

namespace pawl {
namespace {

std::string orchestration_checkpoint(std::string_view id, std::string_view more = {}) {
  return fmt::format(
      R"({{"schema_version":"1.0.0","id":{},"checkpoint_type":"agent_complete","status":"completed","created_at":"2026-01-11T14:00:00",)"
      R"("workflow_state":{{"n":1.50}},"stage_state":{{}},"agent_state":{{"output_payload":[1]}}{}}})",
      id, more);
}

std::string id_of(std::string_view workflow, std::string_view stage, std::string_view agent,
                  std::string_view sequence) {
  return fmt::format(R"({{"workflow_id":"{}","stage_id":{},"agent_id":{},"sequence":{}}})", workflow, stage, agent,
                     sequence);
}

TEST(Orchestration, IsTakenInTheOrderOfItsSequencesWhateverFolderItStandsIn) {
  testing::TextFiles files(
      {{"checkpoints/w/seq-00002.json", orchestration_checkpoint(id_of("w", "null", "null", "2"))},
       {"checkpoints/w/s/a/seq-00001.json", orchestration_checkpoint(id_of("w", R"("s")", R"("a")", "1"))}});
  const Parsed parsed = parse_files(files, "orchestration");
  ASSERT_EQ(parsed.runs.size(), 1U);
  EXPECT_TRUE(parsed.problems.empty());
  const ImportedRun& run = parsed.runs[0];
  ASSERT_EQ(run.checkpoints.size(), 2U);
  EXPECT_EQ(run.checkpoints[0].id, "w/s/a/seq-00001");
  EXPECT_EQ(run.checkpoints[0].state, R"({"workflow":{"n":1.50},"stage":{},"agent":{"output_payload":[1]}})");
  EXPECT_EQ(run.checkpoints[0].kind, Kind::step_complete);
  ASSERT_EQ(run.steps.size(), 1U);
  EXPECT_EQ(run.steps[0].id, "a");
  EXPECT_EQ(run.steps[0].output, Json::parse("[1]"));
}

TEST(Orchestration, RefusesWhatStandsElsewhereThanItsIdSays) {
  testing::TextFiles files(
      {{"checkpoints/w/seq-00001.json", orchestration_checkpoint(id_of("w", "null", "null", "2"))},
       {"checkpoints/v/seq-00001.json", orchestration_checkpoint(id_of("w", "null", "null", "1"))},
       {"checkpoints/w/x/seq-00003.json", orchestration_checkpoint(id_of("w", "null", "null", "3"))}});
  const Parsed parsed = parse_files(files, "orchestration");
  EXPECT_TRUE(parsed.runs.empty());
  EXPECT_EQ(parsed.codes(), (std::vector<Code>{Code::import_invalid, Code::import_invalid, Code::import_invalid}));
}

TEST(Orchestration, NeverUsesAnIdThatWouldLeadOutOfAFolder) {
  for (const char* hostile : {"..", "../../etc", "/etc", "a/b", "", ".hidden"}) {
    testing::TextFiles files(
        {{"checkpoints/w/seq-00001.json", orchestration_checkpoint(id_of(hostile, "null", "null", "1"))}});
    const Parsed parsed = parse_files(files, "orchestration");
    EXPECT_TRUE(parsed.runs.empty()) << hostile;
    EXPECT_EQ(parsed.codes(), std::vector<Code>{Code::invalid_run_id}) << hostile;
  }
}

TEST(Orchestration, NamesWhatItsIndexHasAndNobodyFinds) {
  testing::TextFiles files({{"checkpoints/w/seq-00001.json", orchestration_checkpoint(id_of("w", "null", "null", "1"))},
                            {"checkpoints/index.json",
                             R"({"checkpoints":[{"checkpoint_id":"w/seq-00001"},{"checkpoint_id":"w/seq-00009"}]})"}});
  const Parsed parsed = parse_files(files, "orchestration");
  ASSERT_EQ(parsed.problems.size(), 1U);
  EXPECT_EQ(parsed.problems[0].code, Code::checkpoint_not_found);
  EXPECT_EQ(parsed.problems[0].item, "w/seq-00009");
}

TEST(Orchestration, DoesNotFollowLinks) {
  testing::TextFiles files({{"checkpoints/w/seq-00001.json", orchestration_checkpoint(id_of("w", "null", "null", "1"))},
                            {"checkpoints/w/seq-00002.json", "{}"}});
  files.make_link("checkpoints/w/seq-00002.json");
  const auto tree = SourceTree::open(files, {}, {});
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->files().size(), 1U);
  ASSERT_EQ(tree->refused().size(), 1U);
  EXPECT_EQ(tree->refused()[0].error.code, Code::import_link);
}

}  // namespace
}  // namespace pawl
