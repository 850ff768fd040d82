#include "testing/import_fixture.hpp"

namespace pawl {
namespace {

std::string phase_checkpoint(std::uint64_t phase, std::string_view uuid, std::string_view time,
                             std::string_view more = {}) {
  return fmt::format(
      R"({{"version":"1.0","checkpoint_id":"{}","workflow_id":"t","timestamp":"{}","phase":{},"status":"in_progress",)"
      R"("agents":{{"atlas":{{"status":"active"}},"m":{{"status":"completed","output_ref":"x"}}}},"decisions":[{{"d":1}}]{}}})",
      uuid, time, phase, more);
}

constexpr const char* kFirst = "450e8400-e29b-41d4-a716-446655440000";
constexpr const char* kSecond = "550e8400-e29b-41d4-a716-446655440000";

TEST(Phases, AreOrderedByTimeAndADecisionIsOneEvent) {
  testing::TextFiles files({{"checkpoint_phase1_b.json", phase_checkpoint(1, kFirst, "2024-01-02T14:35:22Z")},
                            {"checkpoint_phase2_a.json", phase_checkpoint(2, kSecond, "2024-01-02T15:35:22+00:00")}});
  const Parsed parsed = parse_files(files, "phases");
  EXPECT_TRUE(parsed.problems.empty());
  ASSERT_EQ(parsed.runs.size(), 1U);
  const ImportedRun& run = parsed.runs[0];
  EXPECT_EQ(run.checkpoints[0].stage, "phase1");
  EXPECT_EQ(run.checkpoints[0].events.size(), 1U);
  EXPECT_TRUE(run.checkpoints[1].events.empty());
  ASSERT_EQ(run.steps.size(), 3U);
  EXPECT_EQ(run.steps[0].status, StepStatus::interrupted);
  EXPECT_EQ(run.steps[1].output, Json::parse(R"({"output_ref":"x"})"));
  EXPECT_EQ(run.steps[2].stage, "phase1");
}

TEST(Phases, RefuseWhatIsWrongOneByOne) {
  testing::TextFiles files(
      {{"checkpoint_phase1_a.json", phase_checkpoint(1, "no uuid", "2024-01-02T14:35:22Z")},
       {"checkpoint_phase1_b.json", phase_checkpoint(2, kFirst, "2024-01-02T14:35:22Z")},
       {"checkpoint_phase1_c.json", phase_checkpoint(1, kFirst, "2024-13-02T14:35:22Z")},
       {"checkpoint_phase1_d.json", phase_checkpoint(1, kFirst, "2024-01-02T14:35:22Z")},
       {"checkpoint_phase1_e.json", phase_checkpoint(1, kFirst, "2024-01-02T14:35:23Z")},
       {"checkpoint_phase99999999999999999999_f.json", phase_checkpoint(1, kSecond, "2024-01-02T14:35:22Z")},
       {"checkpoint_phase1_g.json", "{\"version\":\"9.0\"}"}});
  const Parsed parsed = parse_files(files, "phases");
  EXPECT_EQ(parsed.codes(),
            (std::vector<Code>{Code::import_invalid, Code::import_invalid, Code::import_invalid, Code::import_duplicate,
                               Code::unsupported_version, Code::import_invalid}));
  ASSERT_EQ(parsed.runs.size(), 1U);
  EXPECT_EQ(parsed.runs[0].checkpoints.size(), 1U);
}

}  // namespace
}  // namespace pawl
