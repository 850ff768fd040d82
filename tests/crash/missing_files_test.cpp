// A missing file is reported as damage, and the next reader sees what a killed writer left.
#include <gtest/gtest.h>

#include <set>

#include <filesystem>

#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

RunId missing_run(std::string_view name) { return *RunId::parse(name); }

/// A store with ten settled checkpoints of one run. No journal contains any of them.
class MissingFiles : public ::testing::Test {
 protected:
  MissingFiles() {
    const auto store = place_.open();
    {
      const auto writer = store->open_run(missing_run("r"), {});
      for (int i = 1; i <= 10; ++i) EXPECT_TRUE((*writer)->save({.body = fmt::format("[{}]", i)}));
    }
    EXPECT_TRUE(dynamic_cast<FilesystemStore&>(*store).settle_all());
  }
  void remove(std::string_view path) const { std::filesystem::remove_all(place_.path() + "/" + std::string(path)); }
  Code code_of_restore() { return place_.open()->restore(missing_run("r"), {}).error().code; }
  Code code_of_open() { return place_.open()->open_run(missing_run("r"), {}).error().code; }
  bool check_names(std::string_view part) {
    const auto report = place_.open()->check({}, Repair::no);
    return std::ranges::any_of(report->findings, [&](const Finding& finding) {
      return finding.severity == Finding::Severity::damage &&
             (finding.file + finding.what).find(part) != std::string::npos;
    });
  }
  FilesystemOptions roomy() {
    FilesystemOptions options = small_options();
    options.differences_floor_bytes = 1U << 20;
    options.differences_max = 100;
    return options;
  }
  FilesystemUnderTest place_{roomy()};
};

TEST_F(MissingFiles, RunJsonIsDamageAndTheRunIsNotBegunAgain) {
  remove("runs/r/run.json");
  EXPECT_EQ(code_of_restore(), Code::store_damaged);
  EXPECT_EQ(code_of_open(), Code::store_damaged);
  EXPECT_TRUE(check_names("run.json"));
}

TEST_F(MissingFiles, DifferencesAreDamageAndTheRunDoesNotSlipBack) {
  remove("runs/r/checkpoints/checkpoint_00001.jsonl");
  EXPECT_EQ(code_of_restore(), Code::chain_broken);
  EXPECT_EQ(code_of_open(), Code::chain_broken);
  EXPECT_TRUE(check_names("missing"));
}

TEST_F(MissingFiles, TheAuditTrailIsDamageForWritersAndNotForReaders) {
  remove("runs/r/audit/audit_trail.jsonl");
  EXPECT_EQ(place_.open()->restore(missing_run("r"), {})->state, "[10]");
  EXPECT_EQ(code_of_open(), Code::chain_broken);
}

TEST_F(MissingFiles, ARunThatTheCatalogueKnowsIsMissed) {
  remove("runs/r");
  EXPECT_TRUE(check_names("runs/r"));
}

TEST_F(MissingFiles, TheJournalsAreMissed) {
  remove("journal");
  EXPECT_TRUE(check_names("journal"));
}

TEST_F(MissingFiles, AMistypedAddressIsNoDamage) {
  EXPECT_EQ(place_.open()->check({.run = missing_run("nope")}, Repair::no).error().code, Code::run_not_found);
  EXPECT_EQ(place_.open()->check({.run = missing_run("r"), .sequence = {99}}, Repair::no).error().code,
            Code::checkpoint_not_found);
}

TEST(KilledSave, IsSeenByReadersAsTheNextSaveWillSeeIt) {
  for (std::uint64_t op = 1; op < 60; ++op) {
    SimDisk disk(op);
    ManualClock clock;
    SeededRandom random(op);
    const auto open = [&](SimFileSystem& files, std::uint64_t pid) {
      return std::move(
          *FilesystemStore::open(files, {&clock, &random, sim_owner(disk.boot_id(), pid)}, small_options()));
    };
    {
      SimFileSystem files(disk);
      const auto store = open(files, 1);
      const auto writer = store->open_run(missing_run("r"), {});
      ASSERT_TRUE((*writer)->save({.body = "[1]"}));
      files.kill_at(files.ops() + op);
      static_cast<void>((*writer)->save({.body = "[2]"}));
    }
    SimFileSystem reading(disk);
    const auto seen = open(reading, 2)->restore(missing_run("r"), {});
    ASSERT_TRUE(seen);
    SimFileSystem writing(disk);
    const auto store = open(writing, 3);
    const auto writer = store->open_run(missing_run("r"), {});
    ASSERT_TRUE(writer);
    EXPECT_EQ((*writer)->info().latest, seen->info.sequence) << "killed at op " << op;
  }
}

/// A process that opens many runs does not read the journals of others again for each of them.
TEST(KilledSave, IsSeenByAWriterThatHasReadTheJournalBefore) {
  std::set<std::uint64_t> found;
  for (std::uint64_t op = 1; op < 60; ++op) {
    SimDisk disk(op);
    ManualClock clock;
    SeededRandom random(op);
    const auto open = [&](SimFileSystem& files, std::uint64_t pid) {
      return std::move(
          *FilesystemStore::open(files, {&clock, &random, sim_owner(disk.boot_id(), pid)}, small_options()));
    };
    SimFileSystem own(disk);
    const auto store = open(own, 1);
    ASSERT_TRUE((*store->open_run(missing_run("own"), {}))->save({.body = "[0]"}));
    {
      SimFileSystem files(disk);
      const auto other = open(files, 2);
      ASSERT_TRUE((*other->open_run(missing_run("r"), {}))->save({.body = "[1]"}));
      for (const char* run : {"own-2", "own-3"}) ASSERT_TRUE(store->open_run(missing_run(run), {}));
      const auto writer = other->open_run(missing_run("r"), {});
      ASSERT_TRUE(writer);
      files.kill_at(files.ops() + op);
      static_cast<void>((*writer)->save({.body = "[2]"}));
    }
    {
      const auto writer = store->open_run(missing_run("r"), {});
      ASSERT_TRUE(writer) << "killed at op " << op;
      const std::uint64_t latest = (*writer)->info().latest.value;
      found.insert(latest);
      const auto saved = (*writer)->save({.body = "[3]"});
      ASSERT_TRUE(saved);
      EXPECT_EQ(saved->sequence.value, latest + 1);
    }
    SimFileSystem reading(disk);
    const auto reader = open(reading, 3);
    EXPECT_EQ(reader->restore(missing_run("r"), {})->state, "[3]") << "killed at op " << op;
    EXPECT_FALSE(reader->check({}, Repair::no)->damaged()) << "killed at op " << op;
  }
  EXPECT_EQ(found, (std::set<std::uint64_t>{1, 2})) << "the save was always there, or never";
}

}  // namespace
}  // namespace pawl::testing
