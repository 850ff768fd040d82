// What a store does about clocks that jump, a full disk, and limits that a run brings along.
#include <gtest/gtest.h>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "testing/filesystem_under_test.hpp"
#include "testing/manual_environment.hpp"
#include "testing/sim_file_system.hpp"

namespace pawl::testing {
namespace {

constexpr std::int64_t kCareDayUs = 86'400'000'000;

RunId cared_for() { return *RunId::parse("r"); }

struct CareWorld {
  explicit CareWorld(FilesystemOptions wanted = small_options()) : options(std::move(wanted)) {}
  SimDisk disk{3};
  ManualClock clock;
  SeededRandom random{3};
  FilesystemOptions options;

  std::unique_ptr<FilesystemStore> open(SimFileSystem& files) {
    auto store = FilesystemStore::open(files, {&clock, &random, sim_owner(disk.boot_id(), 1)}, options);
    EXPECT_TRUE(store) << describe(store.error());
    return store ? std::move(*store) : nullptr;
  }
  void save(FilesystemStore& store, int count, std::uint64_t keep = 0) {
    const auto writer = store.open_run(cared_for(), {});
    ASSERT_TRUE(writer) << describe(writer.error());
    if (keep > 0) (*writer)->keep_newest(keep);
    for (int i = 0; i < count; ++i) {
      const std::string body = fmt::format("{{\"n\":{}}}", random.next());
      SaveRequest request;
      request.body = body;
      ASSERT_TRUE((*writer)->save(request));
    }
  }
  std::size_t count(FilesystemStore& store) { return store.checkpoints(cared_for(), {}, 100'000)->size(); }
};

RetentionSettings days(std::uint64_t count) {
  RetentionSettings settings;
  settings.keep_days = count;
  return settings;
}

/// Counts how often `text` occurs in the files below `folder`.
std::size_t occurrences(SimFileSystem& files, std::string_view text, const std::string& folder = "") {
  std::size_t count = 0;
  const auto entries = files.list(folder);
  for (const FolderEntry& entry : *entries) {
    const std::string path = join_path(folder, entry.name);
    if (entry.is_folder) {
      count += occurrences(files, text, path);
      continue;
    }
    const std::string bytes = files.read_file(path).value_or("");
    for (std::size_t at = bytes.find(text); at != std::string::npos; at = bytes.find(text, at + 1)) ++count;
  }
  return count;
}

TEST(Age, AJumpOfTheWallClockMakesNothingOld) {
  CareWorld world;
  world.options.retention = days(30);
  SimFileSystem files(world.disk);
  const auto store = world.open(files);
  world.save(*store, 5);
  world.clock.jump(3650 * kCareDayUs);
  // The process that saw the clock before the jump, and one that starts afterwards in the same boot.
  EXPECT_TRUE(store->prune(cared_for(), days(30), PruneMode::remove)->dropped.empty());
  SimFileSystem others(world.disk);
  EXPECT_TRUE(world.open(others)->prune(cared_for(), days(30), PruneMode::remove)->dropped.empty());
  EXPECT_EQ(world.count(*store), 5U);
}

TEST(Age, TimeThatHasReallyPassedMakesThemOld) {
  CareWorld world;
  world.options.retention = days(30);
  SimFileSystem files(world.disk);
  world.save(*world.open(files), 5);
  world.clock.advance(31 * kCareDayUs);
  SimFileSystem others(world.disk);
  EXPECT_EQ(world.open(others)->prune(cared_for(), days(30), PruneMode::remove)->dropped.size(), 4U);
}

TEST(Age, AnotherBootBelievesItsClock) {
  CareWorld world;
  world.options.retention = days(30);
  {
    SimFileSystem files(world.disk);
    world.save(*world.open(files), 5);
    ASSERT_TRUE(files.sync_all(SyncPoint::side_file));  // the note is not synced when it is written
  }
  world.clock.jump(31 * kCareDayUs);
  world.disk.power_loss();
  SimFileSystem files(world.disk);
  EXPECT_EQ(world.open(files)->prune(cared_for(), days(30), PruneMode::remove)->dropped.size(), 4U);
}

TEST(Age, TheFirstWriterNotesTheClocksWithoutAnyLimit) {
  CareWorld world;
  {
    SimFileSystem files(world.disk);
    world.save(*world.open(files), 5);
  }
  world.clock.jump(3650 * kCareDayUs);
  SimFileSystem files(world.disk);
  const auto store = world.open(files);
  EXPECT_TRUE(store->prune(cared_for(), days(30), PruneMode::remove)->dropped.empty());
  EXPECT_LT(store->believable_now(), Timestamp{world.clock.now().us - 3000 * kCareDayUs});
}

TEST(Age, WithoutAnyNoteTheNewestSaveLimitsTheClock) {
  for (const bool with_catalogue : {true, false}) {
    CareWorld world;
    world.options.catalogue = with_catalogue;
    {
      SimFileSystem files(world.disk);
      world.save(*world.open(files), 5);
      world.clock.advance(40 * kCareDayUs);
      world.save(*world.open(files), 1);
      ASSERT_TRUE(files.remove(layout::kClockNote));  // as older versions left it
    }
    world.clock.jump(3650 * kCareDayUs);
    SimFileSystem files(world.disk);
    // Only what is older than the newest save by more than the limit is known to be old.
    EXPECT_TRUE(world.open(files)->prune(cared_for(), days(60), PruneMode::remove)->dropped.empty());
    EXPECT_EQ(world.open(files)->prune(cared_for(), days(30), PruneMode::remove)->dropped.size(), 5U);
  }
}

TEST(Age, ASaveWithAWrongClockDoesNotStampTheNextOnes) {
  CareWorld world;
  SimFileSystem files(world.disk);
  const auto store = world.open(files);
  world.save(*store, 1);
  world.clock.jump(3650 * kCareDayUs);
  world.save(*store, 1);
  world.clock.jump(-3650 * kCareDayUs);
  world.clock.advance(kCareDayUs);
  world.save(*store, 2);
  EXPECT_EQ(store->run(cared_for())->updated, world.clock.now());
  EXPECT_TRUE(store->check({}, Repair::no)->findings.empty());
  world.clock.advance(31 * kCareDayUs);
  world.save(*store, 1);
  // The one from the future is not old, and it does not keep the others.
  const auto pruned = store->prune(cared_for(), days(30), PruneMode::remove);
  EXPECT_EQ(pruned->dropped, (std::vector<Sequence>{{1}, {3}, {4}}));
}

TEST(Age, AClockThatWasBehindMakesNothingOld) {
  CareWorld world;
  SimFileSystem files(world.disk);
  const auto store = world.open(files);
  world.save(*store, 1);
  const Timestamp now = world.clock.now();
  world.clock.set(Timestamp{0});
  world.save(*store, 2);
  world.clock.set(now);
  world.save(*store, 1);
  EXPECT_TRUE(store->prune(cared_for(), days(30), PruneMode::remove)->dropped.empty());
}

TEST(Pruned, AProcessThatHoldsItsJournalOverwritesItWhenItExits) {
  for (const Background background : {Background::none, Background::thread}) {
    CareWorld world;
    world.options.background = background;
    if (background == Background::thread) world.clock.sleep_really();
    SimFileSystem held(world.disk);
    auto other = world.open(held);
    world.save(*other, 20);
    {
      SimFileSystem files(world.disk);
      const auto store = world.open(files);
      RetentionSettings settings;
      settings.keep = 1;
      EXPECT_EQ(store->prune(cared_for(), settings, PruneMode::remove)->dropped.size(), 19U);
      EXPECT_EQ(store->wipe_pruned()->size(), 1U);
    }
    other.reset();
    SimFileSystem files(world.disk);
    EXPECT_EQ(occurrences(files, "\"n\":"), 1U) << static_cast<int>(background);
    EXPECT_EQ(world.count(*world.open(files)), 1U);
  }
}

TEST(Pruned, AProcessThatHoldsTheRunReleasesItsDataWhenItClosesTheRun) {
  CareWorld world;
  SimFileSystem held(world.disk);
  auto other = world.open(held);
  auto writer = other->open_run(cared_for(), {});
  for (int i = 0; i < 20; ++i) {
    SaveRequest request;
    const std::string body = fmt::format("{{\"n\":{}}}", world.random.next());
    request.body = body;
    ASSERT_TRUE((*writer)->save(request));
  }
  {
    SimFileSystem files(world.disk);
    const auto store = world.open(files);
    RetentionSettings settings;
    settings.keep = 1;
    const auto pruned = store->prune(cared_for(), settings, PruneMode::remove);
    EXPECT_EQ(pruned->dropped.size(), 19U);
    EXPECT_NE(pruned->held_by, "");
    static_cast<void>(store->wipe_pruned());
  }
  writer->reset();
  other.reset();
  SimFileSystem files(world.disk);
  EXPECT_EQ(occurrences(files, "\"n\":"), 1U);
  const auto store = world.open(files);
  EXPECT_EQ(world.count(*store), 1U);
  EXPECT_TRUE(store->check({}, Repair::no)->findings.empty());
}

TEST(Reserve, APruneThatFindsTheDiskFullGivesItUp) {
  for (std::uint64_t nth = 1;; ++nth) {
    CareWorld world;
    world.options.reserve_bytes = 4096;
    SimFileSystem files(world.disk);
    world.save(*world.open(files), 30);
    ASSERT_TRUE(files.exists(layout::kReserve).value_or(false));
    SimFileSystem full(world.disk);
    RetentionSettings settings;
    settings.keep = 2;
    const auto store = world.open(full);
    full.inject({.what = Fault::enospc, .nth = nth, .persistent = false});
    const auto pruned = store->prune(cared_for(), settings, PruneMode::remove);
    if (full.faults_fired() == 0) break;
    ASSERT_TRUE(pruned) << nth << ": " << describe(pruned.error());
    EXPECT_EQ(world.count(*store), 2U);
    if (!full.exists(layout::kReserve).value_or(false)) {
      // The only failure was that of the reserve itself: the next prune creates it.
      EXPECT_TRUE(store->prune(cared_for(), settings, PruneMode::remove));
    }
    EXPECT_TRUE(full.exists(layout::kReserve).value_or(false)) << nth;
    EXPECT_FALSE(full.exists("reserve.tmp").value_or(true));
  }
}

TEST(OwnLimit, IsUsedWhileTheRunIsOpenAndWhenItIsClosed) {
  CareWorld world(FilesystemOptions{});
  world.options.reserve_bytes = 0;
  world.options.catalogue = false;
  world.options.background = Background::thread;
  world.clock.sleep_really();
  SimFileSystem files(world.disk);
  world.save(*world.open(files), 130, 10);
  SimFileSystem others(world.disk);
  EXPECT_EQ(world.count(*world.open(others)), 10U);
}

TEST(OwnLimit, ASingleSaveAlsoPrunesEveryNowAndThen) {
  CareWorld world(FilesystemOptions{});
  world.options.reserve_bytes = 0;
  world.options.catalogue = false;
  world.options.retention.keep = 20;
  SimFileSystem files(world.disk);
  std::size_t most = 0;
  for (int i = 0; i < 120; ++i) {
    world.save(*world.open(files), 1);
    most = std::max(most, world.count(*world.open(files)));
  }
  EXPECT_LE(most, 20U + 25U);
}

}  // namespace
}  // namespace pawl::testing
