// Automatic pruning of the filesystem store, when runs grow and when the disk is full, and the files it leaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

const RetentionSettings kThree{.keep = 3, .keep_days = {}, .keep_per_stage = {}};

RunId pruned_run(std::string_view name) { return *RunId::parse(name); }

FilesystemOptions keeping_three(Background background) {
  FilesystemOptions options = small_options();
  options.background = background;
  options.retention = kThree;
  return options;
}

void fill_pruned(Store& store, std::string_view run, int count) {
  const auto writer = store.open_run(pruned_run(run), {});
  ASSERT_TRUE(writer) << describe(writer.error());
  for (int i = 0; i < count; ++i) {
    const std::string body = fmt::format("[{},\"{}\"]", i, std::string(100, 'x'));
    const auto saved = (*writer)->save({.body = body, .duplicates = Duplicates::write});
    ASSERT_TRUE(saved) << describe(saved.error());
  }
}

std::vector<std::uint64_t> listed(Store& store, std::string_view run) {
  std::vector<std::uint64_t> all;
  const auto found = store.checkpoints(pruned_run(run), {}, SIZE_MAX);
  if (!found) return all;
  for (const CheckpointInfo& info : *found) all.push_back(info.sequence.value);
  return all;
}

TEST(PruningByItself, HappensAtTheCloseOfAStoreWithoutAThread) {
  FilesystemUnderTest place(keeping_three(Background::none));
  fill_pruned(*place.open(), "r", 40);
  EXPECT_EQ(listed(*place.open(), "r"), std::vector<std::uint64_t>({38, 39, 40}));
}

TEST(PruningByItself, IsNotOnTheWayOfAStoreThatDidNotGrow) {
  FilesystemUnderTest place(keeping_three(Background::none));
  fill_pruned(*place.open(), "r", 5);
  EXPECT_EQ(listed(*place.open(), "r").size(), 5U) << "one group: there is nothing to give back";
}

TEST(PruningByItself, HappensInTheBackgroundWhileTheStoreIsOpen) {
  FilesystemUnderTest place(keeping_three(Background::thread));
  const auto store = place.open();
  fill_pruned(*store, "r", 100);
  for (int waited_ms = 0; waited_ms < 60'000 && listed(*store, "r").size() >= 100; waited_ms += 5) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_LT(listed(*store, "r").size(), 100U);
  EXPECT_EQ(listed(*store, "r").back(), 100U);
  const auto report = store->check({}, Repair::no);
  EXPECT_TRUE(report && !report->damaged());
}

TEST(PruningByItself, IsOffUnlessTheSettingsSaySo) {
  FilesystemUnderTest place(small_options());
  fill_pruned(*place.open(), "r", 40);
  EXPECT_EQ(listed(*place.open(), "r").size(), 40U);
}

/// A store on a simulated disk with checkpoints that can be pruned.
class FullDisk : public ::testing::Test {
 protected:
  FullDisk() {
    SimFileSystem files(disk_);
    fill_pruned(*open(files, small_options()), "old", 40);
  }
  std::unique_ptr<FilesystemStore> open(SimFileSystem& files, const FilesystemOptions& options) {
    auto store = FilesystemStore::open(files, {&clock_, &random_, sim_owner(disk_.boot_id(), ++pids_)}, options);
    return store ? std::move(*store) : nullptr;
  }
  SimDisk disk_{5};
  ManualClock clock_;
  SeededRandom random_{5};
  std::uint64_t pids_ = 10;
};

TEST_F(FullDisk, IsPrunedAndTheSaveIsTriedAgain) {
  for (const std::string& state : {std::string("[1]"), "\"" + std::string(5000, 'x') + "\""}) {
    SimFileSystem files(disk_);
    const auto store = open(files, keeping_three(Background::none));
    const auto writer = store->open_run(pruned_run("new"), {});
    ASSERT_TRUE(writer);
    files.inject({Fault::enospc, files.fallible_calls() + 1, false});
    const std::int64_t before_us = clock_.monotonic_us();
    const auto saved = (*writer)->save({.body = state});
    EXPECT_TRUE(saved) << describe(saved.error());
    EXPECT_EQ(files.faults_fired(), 1U);
    EXPECT_GE(clock_.monotonic_us() - before_us, 50'000) << "it waits before it tries again";
    EXPECT_EQ(listed(*store, "old"), std::vector<std::uint64_t>({38, 39, 40}));
  }
}

TEST_F(FullDisk, IsReportedAfterThreeAttempts) {
  SimFileSystem files(disk_);
  const auto store = open(files, keeping_three(Background::none));
  const auto writer = store->open_run(pruned_run("new"), {});
  ASSERT_TRUE(writer);
  files.inject({Fault::enospc, files.fallible_calls() + 1, true});
  const std::int64_t before_us = clock_.monotonic_us();
  const auto saved = (*writer)->save({.body = "[1]"});
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, Code::disk_full);
  const std::int64_t waited_us = clock_.monotonic_us() - before_us;
  EXPECT_GE(waited_us, 150'000) << "two waits, shortened by chance at most by half";
  EXPECT_LE(waited_us, 300'000);
}

TEST_F(FullDisk, IsReportedAtOnceWhereNothingMayBePruned) {
  SimFileSystem files(disk_);
  const auto store = open(files, small_options());
  const auto writer = store->open_run(pruned_run("new"), {});
  ASSERT_TRUE(writer);
  files.inject({Fault::enospc, files.fallible_calls() + 1, false});
  const std::int64_t before_us = clock_.monotonic_us();
  const auto saved = (*writer)->save({.body = "[1]"});
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, Code::disk_full);
  EXPECT_EQ(clock_.monotonic_us(), before_us);
}

class PrunedFiles : public ::testing::Test {
 protected:
  PrunedFiles() {
    const auto store = place_.open();
    fill_pruned(*store, "r", 40);
    EXPECT_TRUE(dynamic_cast<FilesystemStore&>(*store).settle_all());
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return place_.path() + "/runs/r/checkpoints/" + name;
  }
  bool check_names(std::string_view part) {
    const auto report = place_.open()->check({}, Repair::no);
    return std::ranges::any_of(report->findings, [&](const Finding& finding) {
      return finding.severity == Finding::Severity::damage &&
             (finding.file + finding.what).find(part) != std::string::npos;
    });
  }
  FilesystemUnderTest place_{small_options()};
};

TEST_F(PrunedFiles, OfGroupsThatAreGivenUpAreGone) {
  ASSERT_TRUE(place_.open()->prune(pruned_run("r"), kThree, PruneMode::remove));
  EXPECT_FALSE(std::filesystem::exists(path("checkpoint_00001.json")));
  EXPECT_FALSE(std::filesystem::exists(path("checkpoint_00001.jsonl")));
  EXPECT_TRUE(std::filesystem::exists(path("pruned.json")));
}

/// The newest group of a run that nobody has open is pruned like the others.
TEST_F(PrunedFiles, OfTheNewestGroupAreGoneIfTheRunIsClosed) {
  const RetentionSettings one{.keep = 1, .keep_days = {}, .keep_per_stage = {}};
  const auto expected = place_.open()->prune(pruned_run("r"), one, PruneMode::dry_run);
  const auto report = place_.open()->prune(pruned_run("r"), one, PruneMode::remove);
  ASSERT_TRUE(expected && report);
  EXPECT_EQ(report->freed_bytes, expected->freed_bytes);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path(""))) names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"kept_00040.json", "pruned.json"}));
  EXPECT_EQ(place_.open()->restore(pruned_run("r"), {})->state, fmt::format("[39,\"{}\"]", std::string(100, 'x')));
}

TEST_F(PrunedFiles, ACheckpointAfterAClosedNewestGroupStartsAGroup) {
  const RetentionSettings one{.keep = 1, .keep_days = {}, .keep_per_stage = {}};
  ASSERT_TRUE(place_.open()->prune(pruned_run("r"), one, PruneMode::remove));
  fill_pruned(*place_.open(), "r", 5);
  EXPECT_EQ(listed(*place_.open(), "r"), std::vector<std::uint64_t>({40, 41, 42, 43, 44, 45}));
  EXPECT_EQ(place_.open()->restore(pruned_run("r"), {})->state, fmt::format("[4,\"{}\"]", std::string(100, 'x')));
  EXPECT_FALSE(place_.open()->check({}, Repair::no)->damaged());
}

TEST_F(PrunedFiles, OfTheNewestGroupStayWhileAWriterHasTheRunOpen) {
  const RetentionSettings one{.keep = 1, .keep_days = {}, .keep_per_stage = {}};
  const auto store = place_.open();
  const auto writer = store->open_run(pruned_run("r"), {});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(place_.open()->prune(pruned_run("r"), one, PruneMode::remove));
  EXPECT_TRUE((*writer)->save({.body = "[\"next\"]"}));
  EXPECT_EQ(listed(*place_.open(), "r"), std::vector<std::uint64_t>({40, 41}));
  EXPECT_FALSE(place_.open()->check({}, Repair::no)->damaged());
}

/// Only the first of them becomes a full checkpoint.
TEST_F(PrunedFiles, KeptUpToTheEndOfAGroupStayDifferences) {
  ASSERT_TRUE(place_.open()->prune(pruned_run("r"), kThree, PruneMode::remove));
  EXPECT_TRUE(std::filesystem::exists(path("kept_00038.json")));
  EXPECT_TRUE(std::filesystem::exists(path("kept_00038.jsonl")));
  for (std::uint64_t sequence = 38; sequence <= 40; ++sequence) {
    const auto restored =
        place_.open()->restore(pruned_run("r"), {.by = Which::By::sequence, .sequence = Sequence{sequence}});
    ASSERT_TRUE(restored) << describe(restored.error());
    EXPECT_EQ(restored->state, fmt::format("[{},\"{}\"]", sequence - 1, std::string(100, 'x')));
  }
  // A later prune drops the first of them, which the others are based on.
  const RetentionSettings two{.keep = 2, .keep_days = {}, .keep_per_stage = {}};
  ASSERT_TRUE(place_.open()->prune(pruned_run("r"), two, PruneMode::remove));
  EXPECT_EQ(listed(*place_.open(), "r"), std::vector<std::uint64_t>({39, 40}));
  EXPECT_FALSE(std::filesystem::exists(path("kept_00038.json")));
  EXPECT_FALSE(std::filesystem::exists(path("kept_00038.jsonl")));
  EXPECT_FALSE(place_.open()->check({}, Repair::no)->damaged());
}

TEST_F(PrunedFiles, ThatAreMissingWithoutBeingListedAreDamage) {
  ASSERT_TRUE(place_.open()->prune(pruned_run("r"), kThree, PruneMode::remove));
  std::filesystem::remove(path("pruned.json"));
  EXPECT_TRUE(check_names("missing"));
}

TEST_F(PrunedFiles, LeftBehindByAPruneThatWasKilledDoNotCountAndGoWithTheNext) {
  const auto copy = [&](const char* name, const char* to) {
    std::filesystem::copy_file(path(name), path(to), std::filesystem::copy_options::overwrite_existing);
  };
  copy("checkpoint_00001.json", "saved");
  ASSERT_TRUE(place_.open()->prune(pruned_run("r"), kThree, PruneMode::remove));
  copy("saved", "checkpoint_00001.json");
  copy("saved", "kept_00002.json");
  copy("saved", "kept_00003.json.tmp");
  std::filesystem::remove(path("saved"));
  EXPECT_EQ(listed(*place_.open(), "r"), std::vector<std::uint64_t>({38, 39, 40}));
  EXPECT_FALSE(place_.open()->check({}, Repair::no)->damaged());
  const auto again = place_.open()->prune(pruned_run("r"), kThree, PruneMode::remove);
  ASSERT_TRUE(again);
  EXPECT_GT(again->freed_bytes, 0);
  for (const char* name : {"checkpoint_00001.json", "kept_00002.json", "kept_00003.json.tmp"}) {
    EXPECT_FALSE(std::filesystem::exists(path(name))) << name;
  }
}

TEST_F(PrunedFiles, AreNotPrunedWhereThePrunerLockIsHeld) {
  const auto files = PosixFileSystem::open(place_.path());
  const auto lock = (*files)->open("runs/r/lock", OpenMode::create);
  ASSERT_TRUE(lock && (*lock)->try_lock(3).value_or(false));
  EXPECT_EQ(place_.open()->prune(pruned_run("r"), kThree, PruneMode::remove).error().code, Code::store_busy);
  EXPECT_EQ(listed(*place_.open(), "r").size(), 40U);
  EXPECT_TRUE(place_.open()->prune(pruned_run("r"), kThree, PruneMode::dry_run)) << "a dry run needs no lock";
}

TEST_F(PrunedFiles, AnAddressThatWasPrunedIsNoDamage) {
  ASSERT_TRUE(place_.open()->prune(pruned_run("r"), kThree, PruneMode::remove));
  EXPECT_EQ(place_.open()->check({.run = pruned_run("r"), .sequence = {5}}, Repair::no).error().code,
            Code::checkpoint_pruned);
}

}  // namespace
}  // namespace pawl::testing
