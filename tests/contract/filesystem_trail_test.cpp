// The audit trail of a pruned run: older entries are archived, and everything that reads the trail still finds them.
#include <gtest/gtest.h>

#include <algorithm>

#include "adapters/filesystem/trail_archiver.hpp"
#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

const RetentionSettings kOne{.keep = 1, .keep_days = {}, .keep_per_stage = {}};
const RunId kRun = *RunId::parse("r");

class ArchivedTrail : public ::testing::Test {
 protected:
  void save(Store& store, int count) {
    const auto writer = store.open_run(kRun, {});
    ASSERT_TRUE(writer) << describe(writer.error());
    for (int i = 0; i < count; ++i) {
      const auto saved = (*writer)->save({.body = fmt::format("[{}]", ++saved_), .duplicates = Duplicates::write});
      ASSERT_TRUE(saved) << describe(saved.error());
    }
  }
  void prune(FilesystemStore& store) {
    const auto report = store.prune(kRun, kOne, PruneMode::remove);
    ASSERT_TRUE(report) << describe(report.error());
    ASSERT_TRUE(store.wipe_pruned());
  }
  std::unique_ptr<FilesystemStore> open(SimFileSystem& files) {
    auto store =
        FilesystemStore::open(files, {&clock_, &random_, sim_owner(disk_.boot_id(), ++pids_)}, small_options());
    EXPECT_TRUE(store);
    return std::move(*store);
  }
  std::vector<std::string> archives(SimFileSystem& files) {
    std::vector<std::string> names;
    const auto entries = files.list("runs/r/audit");
    for (const FolderEntry& entry : *entries) {
      if (parse_archive_name(entry.name)) names.push_back(entry.name);
    }
    std::ranges::sort(names);
    return names;
  }
  void expect_sound(FilesystemStore& store, std::uint64_t entries) {
    const auto all = store.audit(kRun, 0, SIZE_MAX);
    ASSERT_TRUE(all) << describe(all.error());
    ASSERT_EQ(all->size(), entries);
    for (std::size_t i = 0; i < all->size(); ++i) EXPECT_EQ((*all)[i].index, i + 1);
    const auto report = store.check({}, Repair::no);
    ASSERT_TRUE(report);
    for (const Finding& finding : report->findings) ADD_FAILURE() << finding.file << ": " << finding.what;
  }

  SimDisk disk_{7};
  ManualClock clock_;
  SeededRandom random_{7};
  std::uint64_t pids_ = 10;
  int saved_ = 0;
};

TEST_F(ArchivedTrail, ContainsEveryEntryAndGrowsOn) {
  SimFileSystem files(disk_);
  {
    const auto store = open(files);
    save(*store, 30);
    prune(*store);
    expect_sound(*store, 31);
    ASSERT_EQ(archives(files).size(), 1U);
    save(*store, 5);
    expect_sound(*store, 36);
  }
  const auto store = open(files);
  save(*store, 3);
  expect_sound(*store, 39);
}

TEST_F(ArchivedTrail, MergesItsArchives) {
  SimFileSystem files(disk_);
  for (int round = 0; round < 40; ++round) {
    const auto store = open(files);
    save(*store, 4);
    prune(*store);
    EXPECT_LE(archives(files).size(), 6U);
  }
  const auto store = open(files);
  expect_sound(*store, 161);
}

TEST_F(ArchivedTrail, IsMadeOfWhatNoJournalContains) {
  SimFileSystem files(disk_);
  const auto store = open(files);
  save(*store, 10);
  const auto report = store->prune(kRun, kOne, PruneMode::remove);
  ASSERT_TRUE(report);
  EXPECT_TRUE(archives(files).empty());
  ASSERT_TRUE(store->wipe_pruned());
  EXPECT_EQ(archives(files).size(), 1U);
  expect_sound(*store, 11);
}

TEST_F(ArchivedTrail, CanBeExpanded) {
  SimFileSystem files(disk_);
  std::string whole;
  {
    const auto store = open(files);
    save(*store, 20);
    ASSERT_TRUE(store->settle_all());
    whole = *files.read_file("runs/r/audit/audit_trail.jsonl");
    prune(*store);
    ASSERT_EQ(archives(files).size(), 1U);
    EXPECT_LT(files.read_file("runs/r/audit/audit_trail.jsonl")->size(), whole.size());
    const auto trail = open_trail(files, "r", OpenMode::read);
    ASSERT_TRUE(trail);
    EXPECT_EQ(*(*trail)->size(), whole.size());
    for (std::size_t at : {std::size_t{0}, whole.size() / 3, whole.size() - 10})
      EXPECT_EQ(*(*trail)->read_at(at, 700), whole.substr(at, 700)) << at;
  }
  ASSERT_TRUE(expand_trail(files, "r"));
  EXPECT_TRUE(archives(files).empty());
  EXPECT_EQ(*files.read_file("runs/r/audit/audit_trail.jsonl"), whole);
}

TEST_F(ArchivedTrail, IsDamagedIfAnArchiveIs) {
  SimFileSystem files(disk_);
  const auto store = open(files);
  save(*store, 20);
  prune(*store);
  const std::string path = "runs/r/audit/" + archives(files).front();
  const std::string content = *files.read_file(path);
  const auto damaged = [&](const std::string& bytes) {
    const auto file = files.open(path, OpenMode::create_empty);
    EXPECT_TRUE((*file)->write_at(0, bytes));
    const auto report = store->check({}, Repair::no);
    return report && report->damaged() && !store->audit(kRun, 0, SIZE_MAX);
  };
  EXPECT_FALSE(damaged(content));
  EXPECT_TRUE(damaged(content.substr(0, content.size() - 1)));
  EXPECT_TRUE(damaged(""));
  EXPECT_TRUE(damaged(std::string(content.size(), '\0')));
  EXPECT_TRUE(damaged("x" + content));
  ASSERT_TRUE(files.remove(path));
  EXPECT_TRUE(store->check({}, Repair::no)->damaged());
  EXPECT_TRUE(store->restore(kRun, {})) << "the states do not depend on it";
}

}  // namespace
}  // namespace pawl::testing
