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
  }
  world.clock.jump(31 * kCareDayUs);
  world.disk.power_loss();
  SimFileSystem files(world.disk);
  EXPECT_EQ(world.open(files)->prune(cared_for(), days(30), PruneMode::remove)->dropped.size(), 4U);
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
