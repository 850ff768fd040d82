#include "importers/write_import.hpp"

#include <gtest/gtest.h>

#include "importers/document.hpp"
#include "testing/memory_under_test.hpp"

namespace pawl::testing {
namespace {

class WriteImport : public ::testing::Test {
 protected:
  ImportedRun run_of(std::string id, int checkpoints) {
    ImportedRun run;
    run.id = std::move(id);
    for (int i = 1; i <= checkpoints; ++i) {
      ImportedCheckpoint checkpoint;
      checkpoint.id = fmt::format("c{}", i);
      checkpoint.state = fmt::format("{{\"n\":{}}}", i);
      checkpoint.checksum = sum_text(checkpoint.state);
      checkpoint.time = "2020-01-01T00:00:00Z";
      checkpoint.events.push_back({"happened", "{}"});
      run.checkpoints.push_back(std::move(checkpoint));
    }
    return run;
  }
  ImportReport import(std::vector<ImportedRun> runs) {
    ImportReport report;
    ImportWriter writer(store_.get(), options_, report);
    const ImportSink sink = writer.sink();
    for (ImportedRun& run : runs) sink.run(std::move(run));
    EXPECT_TRUE(writer.finish());
    return report;
  }
  static RunId id(std::string_view text) { return *RunId::parse(text); }

  MemoryUnderTest memory_;
  std::unique_ptr<Store> store_ = memory_.open();
  ImportOptions options_{.format = "test"};
};

TEST_F(WriteImport, KeepsWhereEverythingCameFromInTheMetadata) {
  const ImportReport report = import({run_of("r", 2)});
  EXPECT_TRUE(report.refused.empty());
  ASSERT_EQ(report.runs.size(), 1U);
  EXPECT_EQ(report.runs[0].written, 2U);
  EXPECT_EQ(report.runs[0].events, 2U);
  const auto restored = store_->restore(id("r"), {.by = Which::By::sequence, .sequence = {2}});
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->state, "{\"n\":2}");
  const Json imported = Json::parse(restored->info.metadata)["imported"];
  EXPECT_EQ(imported["id"], "c2");
  EXPECT_EQ(imported["time"], "2020-01-01T00:00:00Z");
  EXPECT_EQ(imported["checksum"], sum_text("{\"n\":2}"));
}

TEST_F(WriteImport, AnswersWhatIsThereAndTakesWhatIsNew) {
  import({run_of("r", 2)});
  const ImportReport again = import({run_of("r", 3)});
  EXPECT_EQ(again.runs[0].repeated, 2U);
  EXPECT_EQ(again.runs[0].written, 1U);
  EXPECT_EQ(store_->run(id("r"))->latest.value, 3U);
}

TEST_F(WriteImport, RefusesWhatWasChangedSince) {
  import({run_of("r", 2)});
  ImportedRun changed = run_of("r", 2);
  changed.checkpoints[1].checksum = sum_text("else");
  const ImportReport report = import({changed});
  ASSERT_EQ(report.refused.size(), 1U);
  EXPECT_EQ(report.refused[0].code, Code::caller_id_reused);
}

TEST_F(WriteImport, PutsAnIdBeforeThoseOfSeveralRunsAndInPlaceOfThatOfOne) {
  options_.run_id = "new";
  EXPECT_EQ(import({run_of("a", 1)}).runs[0].run, "new");
  const ImportReport several = import({run_of("b", 1), run_of("c", 1)});
  EXPECT_EQ(several.runs[0].run, "new-b");
  EXPECT_EQ(several.runs[1].run, "new-c");
}

TEST_F(WriteImport, DoesNotWriteInADryRun) {
  options_.mode = ImportMode::dry_run;
  EXPECT_EQ(import({run_of("r", 2)}).runs[0].written, 2U);
  EXPECT_FALSE(store_->run(id("r")));
}

TEST_F(WriteImport, RefusesABadCheckpointAndTakesTheOthers) {
  ImportedRun run = run_of("r", 3);
  run.checkpoints[1].state = "{";
  run.checkpoints[2].stage = std::string(300, 'x');
  const ImportReport report = import({run});
  ASSERT_EQ(report.refused.size(), 2U);
  EXPECT_EQ(report.refused[0].code, Code::invalid_json);
  EXPECT_EQ(report.refused[1].code, Code::invalid_label);
  EXPECT_EQ(report.runs[0].written, 1U);
}

TEST_F(WriteImport, TakesARunIdOnceOutOfOneImport) {
  const ImportReport report = import({run_of("r", 1), run_of("r", 2), run_of("../r", 1)});
  ASSERT_EQ(report.refused.size(), 2U);
  EXPECT_EQ(report.refused[0].code, Code::import_duplicate);
  EXPECT_EQ(report.refused[1].code, Code::invalid_run_id);
}

TEST(ForeignTime, IsReadAsProgramsWriteIt) {
  const auto utc = Timestamp::parse("2025-11-14T10:00:00.500000Z");
  for (const char* text : {"2025-11-14T10:00:00.5", "2025-11-14 10:00:00.5+00", "2025-11-14T12:00:00.5+02:00",
                           "2025-11-14T07:30:00.5-0230"}) {
    EXPECT_EQ(parse_foreign_time(text), utc) << text;
  }
  for (const char* text : {"", "yesterday", "2025-11-14", "2025-11-14T10:00:00+1", "2025-11-14T10:00:00+aa:bb"})
    EXPECT_FALSE(parse_foreign_time(text)) << text;
}

}  // namespace
}  // namespace pawl::testing
