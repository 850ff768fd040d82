#include "base/hash.hpp"
#include "testing/import_fixture.hpp"

namespace pawl {
namespace {

std::string session_checkpoint(std::string_view time, std::string_view state, std::string_view hash = "") {
  return fmt::format(
      R"({{"version":1,"session_id":"s","workflow_path":"w.yml","worktree_path":"/x","state":{},"completed_steps":[{{"step_index":0,"output":"o"}}],)"
      R"("variables":{{"v":1}},"workflow_type":"Standard","mapreduce_state":null,"created_at":"{}","reason":"StepFailed","integrity_hash":"{}"}})",
      state, time, hash);
}

constexpr const char* kFailed = R"({"Failed":{"step_index":1,"error":"500","retryable":false}})";

TEST(Sessions, TakeHistoryBeforeTheCurrentCheckpoint) {
  testing::TextFiles files(
      {{"sessions/s/checkpoint.json", session_checkpoint("2025-11-26T10:01:00Z", kFailed)},
       {"sessions/s/history/checkpoint-20251126_100000.json",
        session_checkpoint("2025-11-26T10:00:00.123456789Z", R"({"BeforeStep":{"step_index":1}})")}});
  const Parsed parsed = parse_files(files, "sessions");
  EXPECT_TRUE(parsed.problems.empty());
  ASSERT_EQ(parsed.runs.size(), 1U);
  const ImportedRun& run = parsed.runs[0];
  ASSERT_EQ(run.checkpoints.size(), 2U);
  EXPECT_EQ(run.checkpoints[0].kind, Kind::step_start);
  EXPECT_EQ(run.checkpoints[1].status, Status::failed);
  ASSERT_EQ(run.steps.size(), 2U);
  EXPECT_EQ(run.steps[0].index, 0U);
  EXPECT_EQ(run.steps[1].error, "500");
  EXPECT_FALSE(run.steps[1].retryable);
  EXPECT_EQ(run.workflow, "w.yml");
}

TEST(Sessions, CheckTheHashOverTheDocumentWithAnEmptyOne) {
  const std::string good = to_hex(sha256(session_checkpoint("2025-11-26T10:01:00Z", kFailed)));
  testing::TextFiles files({{"sessions/s/checkpoint.json", session_checkpoint("2025-11-26T10:01:00Z", kFailed, good)}});
  EXPECT_TRUE(parse_files(files, "sessions").problems.empty());
  files.files()["sessions/s/checkpoint.json"] = session_checkpoint("2025-11-26T10:01:01Z", kFailed, good);
  EXPECT_EQ(parse_files(files, "sessions").codes(), std::vector<Code>{Code::checksum_mismatch});
}

TEST(Sessions, TakeACheckpointOnceThatStandsInTheHistoryToo) {
  const std::string text = session_checkpoint("2025-11-26T10:01:00Z", kFailed);
  testing::TextFiles files(
      {{"sessions/s/checkpoint.json", text}, {"sessions/s/history/checkpoint-20251126_100100.json", text}});
  const Parsed parsed = parse_files(files, "sessions");
  EXPECT_TRUE(parsed.problems.empty());
  EXPECT_EQ(parsed.runs[0].checkpoints.size(), 1U);
  EXPECT_EQ(parsed.notes.size(), 1U);
}

TEST(Sessions, ReadTheFormatsBeforeThem) {
  testing::TextFiles files(
      {{"sessions/a.json", R"({"workflow_state":{"current_step":1,"completed_steps":[0]}})"},
       {"b/checkpoints/x.checkpoint.json",
        R"({"execution_state":{"current_step_index":1,"status":"Completed"},"completed_steps":[{"step_index":0}]})"},
       {"mapreduce/jobs/j/checkpoint.json", R"({"job_id":"j","items":[]})"},
       {"sessions/c.json", R"({"nothing":1})"}});
  const Parsed parsed = parse_files(files, "sessions");
  EXPECT_EQ(parsed.codes(), std::vector<Code>{Code::import_invalid});
  ASSERT_EQ(parsed.runs.size(), 3U);
  EXPECT_EQ(parsed.runs[0].steps.size(), 1U);
  EXPECT_TRUE(parsed.runs[1].completed);
  EXPECT_EQ(parsed.runs[2].id, "j");
}

}  // namespace
}  // namespace pawl
