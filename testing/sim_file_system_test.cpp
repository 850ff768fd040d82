// Kills, faults, lying disks and interleaving on the simulated disk.
#include "testing/sim_file_system.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "testing/checking_file_system.hpp"

namespace pawl::testing {
namespace {

constexpr auto kPoint = SyncPoint::journal_batch;

std::unique_ptr<File> open(FileSystem& fs, std::string_view path, OpenMode mode = OpenMode::create) {
  auto file = fs.open(path, mode);
  EXPECT_TRUE(file.has_value()) << path;
  return std::move(*file);
}

/// Writes "a" with every kind of op. Stops at the first error.
Result<void> publish(FileSystem& fs, std::string_view bytes) {
  PAWL_TRY(fs.make_folder("f"));
  {
    PAWL_TRY_ASSIGN(const auto file, fs.open("f/tmp", OpenMode::create_empty));
    PAWL_TRY(file->write_at(0, bytes));
    PAWL_TRY(file->resize(bytes.size()));
    PAWL_TRY(file->sync(SyncPoint::published_file));
  }
  PAWL_TRY(fs.rename("f/tmp", "f/a"));
  PAWL_TRY(fs.sync_folder("f", SyncPoint::published_name));
  PAWL_TRY(fs.sync_folder("", SyncPoint::side_name));
  PAWL_TRY(fs.remove("f/old"));
  return fs.sync_all(SyncPoint::published_all);
}
constexpr std::uint64_t kPublishOps = 10;

TEST(SimKill, AKilledProcessHasNoEffectAndItsCachedWritesStay) {
  SimDisk disk(1);
  SimFileSystem fs(disk);
  auto file = open(fs, "a");
  ASSERT_TRUE(file->write_at(0, "x").has_value());
  ASSERT_TRUE(file->try_lock(3).value());
  fs.kill();
  EXPECT_TRUE(fs.died());
  const auto written = file->write_at(0, "y");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, Code::write_failed);
  EXPECT_EQ(written.error().message, "process was killed");
  EXPECT_FALSE(file->read_at(0, 1).has_value());
  EXPECT_FALSE(file->try_lock(3).has_value());
  EXPECT_FALSE(fs.remove("a").has_value());
  EXPECT_FALSE(fs.list("").has_value());

  SimFileSystem other(disk);
  auto again = open(other, "a");
  EXPECT_EQ(again->read_at(0, 9).value(), "x");
  EXPECT_TRUE(again->try_lock(3).value());
}

TEST(SimKill, ComesAtEachOpAndTargetsAreWholeOrAbsent) {
  std::set<std::uint64_t> published;
  for (std::uint64_t op = 1; op <= kPublishOps + 1; ++op) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      SimDisk disk(seed);
      SimFileSystem fs(disk);
      fs.kill_at(op);
      const bool done = publish(fs, std::string(3000, 'x')).has_value();
      EXPECT_EQ(done, op > kPublishOps);
      EXPECT_EQ(fs.died(), op <= kPublishOps);
      EXPECT_EQ(fs.ops(), std::min(op, kPublishOps));
      EXPECT_FALSE(disk.power_is_off());
      const auto bytes = disk.cached_file("f/a");
      if (bytes) {
        EXPECT_EQ(*bytes, std::string(3000, 'x'));
      }
      if (bytes) published.insert(op);
      if (!bytes) {
        EXPECT_LE(op, 6U);
      }
    }
  }
  EXPECT_EQ(published, (std::set<std::uint64_t>{6, 7, 8, 9, 10, 11}));
}

TEST(SimKill, AWriteAtTheCutIsMadeInAnyPart) {
  std::set<std::uint64_t> sizes;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SimDisk disk(seed);
    SimFileSystem fs(disk);
    auto file = open(fs, "a");
    fs.kill_at(2);
    EXPECT_FALSE(file->write_at(0, std::string(1500, 'x')).has_value());
    const std::string bytes = disk.cached_file("a").value();
    EXPECT_EQ(bytes, std::string(bytes.size(), 'x'));
    sizes.insert(bytes.size());
  }
  for (const std::uint64_t size : {0U, 512U, 1024U, 1500U}) EXPECT_TRUE(sizes.contains(size)) << size;
  EXPECT_GT(sizes.size(), 20U);
}

TEST(SimKill, ASyncOrRenameAtTheCutHappensOrNot) {
  std::set<bool> synced;
  std::set<bool> renamed;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimDisk disk(seed);
    SimFileSystem fs(disk);
    auto file = open(fs, "a");
    ASSERT_TRUE(file->write_at(0, "x").has_value());
    ASSERT_TRUE(fs.sync_folder("", kPoint).has_value());
    SimFileSystem other(disk);
    fs.kill_at(fs.ops() + 1);
    other.kill_at(1);
    EXPECT_FALSE(file->sync(kPoint).has_value());
    EXPECT_FALSE(other.rename("a", "b").has_value());
    synced.insert(disk.durable_file("a") == "x");
    renamed.insert(disk.cached_file("b").has_value());
    EXPECT_NE(disk.cached_file("a").has_value(), disk.cached_file("b").has_value());
  }
  EXPECT_EQ(synced.size(), 2U);
  EXPECT_EQ(renamed.size(), 2U);
}

TEST(SimPowerCut, EndsEveryProcessAndPublishedFilesAreWholeAtEachOp) {
  for (std::uint64_t op = 1; op <= kPublishOps; ++op) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      SimDisk disk(seed);
      SimFileSystem fs(disk);
      SimFileSystem other(disk);
      fs.power_cut_at(op);
      EXPECT_FALSE(publish(fs, std::string(3000, 'x')).has_value());
      EXPECT_TRUE(fs.died());
      EXPECT_TRUE(other.died());
      EXPECT_TRUE(disk.power_is_off());
      disk.power_loss();
      EXPECT_FALSE(disk.power_is_off());
      const auto bytes = disk.cached_file("f/a");
      if (bytes) {
        EXPECT_EQ(*bytes, std::string(3000, 'x')) << "op " << op << " seed " << seed;
      }
      if (op > 8) {
        EXPECT_TRUE(bytes.has_value()) << "op " << op << " seed " << seed;
      }
    }
  }
}

TEST(SimFault, ALoopOverNthReachesEachCallAndEnds) {
  for (const auto what : {Fault::enospc, Fault::eio, Fault::short_write_then_enospc, Fault::sync_fails}) {
    std::uint64_t nth = 1;
    for (;; ++nth) {
      SimDisk disk(nth);
      SimFileSystem fs(disk);
      fs.inject({what, nth, false});
      const auto done = publish(fs, "new");
      if (fs.faults_fired() == 0) break;
      EXPECT_FALSE(done.has_value());
      EXPECT_EQ(fs.faults_fired(), 1U);
      EXPECT_TRUE(publish(fs, "new").has_value()) << "a transient fault is over";
      ASSERT_LT(nth, 50U);
    }
    if (what == Fault::eio) {
      EXPECT_EQ(nth, kPublishOps + 1);
    }
  }
}

TEST(SimFault, APersistentFaultStays) {
  SimDisk disk(1);
  SimFileSystem fs(disk);
  auto file = open(fs, "a");
  fs.inject({Fault::enospc, fs.fallible_calls() + 2, true});
  EXPECT_TRUE(file->write_at(0, "x").has_value());
  for (int i = 0; i < 3; ++i) {
    const auto written = file->write_at(0, "y");
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().code, Code::disk_full);
    EXPECT_EQ(written.error().os_error, ENOSPC);
  }
  EXPECT_FALSE(fs.make_folder("f").has_value());
  EXPECT_FALSE(fs.open("b", OpenMode::create).has_value());
  EXPECT_EQ(file->read_at(0, 9).value(), "x");
  EXPECT_TRUE(file->sync(kPoint).has_value());
  EXPECT_TRUE(fs.remove("a").has_value());
}

TEST(SimFault, AShortWriteLeavesAPart) {
  std::set<std::uint64_t> sizes;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimDisk disk(seed);
    SimFileSystem fs(disk);
    auto file = open(fs, "a");
    fs.inject({Fault::short_write_then_enospc, 1, true});
    EXPECT_FALSE(file->write_at(0, std::string(2000, 'x')).has_value());
    EXPECT_FALSE(fs.make_folder("f").has_value());
    sizes.insert(disk.cached_file("a")->size());
  }
  EXPECT_GT(sizes.size(), 10U);
}

TEST(SimFault, EachKindOfCallHasItsCode) {
  SimDisk disk(1);
  SimFileSystem fs(disk);
  auto file = open(fs, "a");
  fs.inject({Fault::eio, 1, true});
  EXPECT_EQ(file->read_at(0, 1).error().code, Code::read_failed);
  EXPECT_EQ(file->write_at(0, "x").error().code, Code::write_failed);
  EXPECT_EQ(file->sync(kPoint).error().code, Code::outcome_unknown);
  EXPECT_EQ(fs.rename("a", "b").error().code, Code::rename_failed);
  EXPECT_EQ(file->try_lock(0).error().code, Code::write_failed);
}

class SimFailedSync : public ::testing::Test {
 protected:
  SimFailedSync() {
    EXPECT_TRUE(file_->write_at(0, std::string(kSectorBytes, 'o') + std::string(kSectorBytes, 'o')).has_value());
    EXPECT_TRUE(fs_.sync_all(kPoint).has_value());
    EXPECT_TRUE(file_->write_at(0, std::string(kSectorBytes, 'n') + std::string(kSectorBytes, 'n')).has_value());
    fs_.inject({Fault::sync_fails, 1, false});
    const auto synced = file_->sync(kPoint);
    EXPECT_EQ(synced.error().code, Code::outcome_unknown);
  }
  SimDisk disk_{1};
  SimFileSystem fs_{disk_};
  std::unique_ptr<File> file_ = open(fs_, "a");
};

TEST_F(SimFailedSync, ReadsShowTheDataButALaterSyncSucceedsWithoutMakingItDurable) {
  EXPECT_EQ(file_->read_at(0, 1).value(), "n");
  EXPECT_TRUE(file_->sync(kPoint).has_value());
  EXPECT_TRUE(fs_.sync_all(kPoint).has_value());
  disk_.power_loss(Loss::keep_all);
  EXPECT_EQ(disk_.cached_file("a"), std::string(2 * kSectorBytes, 'o'));
}

TEST_F(SimFailedSync, WritingASectorAgainMakesThatSectorDurableWithTheNextSync) {
  EXPECT_TRUE(file_->write_at(kSectorBytes + 7, "!").has_value());
  EXPECT_TRUE(file_->sync(kPoint).has_value());
  disk_.power_loss();
  std::string second(kSectorBytes, 'n');
  second[7] = '!';
  EXPECT_EQ(disk_.cached_file("a"), std::string(kSectorBytes, 'o') + second);
}

TEST_F(SimFailedSync, AnAppendedFileMayHaveItsSizeButZerosForBytes) {
  std::set<std::string> left;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimDisk disk(seed);
    SimFileSystem fs(disk);
    auto file = open(fs, "a");
    ASSERT_TRUE(fs.sync_folder("", kPoint).has_value());
    ASSERT_TRUE(file->write_at(0, "abc").has_value());
    fs.inject({Fault::sync_fails, 1, false});
    ASSERT_FALSE(file->sync(kPoint).has_value());
    ASSERT_TRUE(file->sync(kPoint).has_value());
    disk.power_loss();
    left.insert(disk.cached_file("a").value());
  }
  EXPECT_EQ(left, (std::set<std::string>{"", std::string(3, '\0')}));
}

TEST(SimFailedFolderSync, LeavesTheNamesUnsyncedUntilALaterOne) {
  SimDisk disk(1);
  SimFileSystem fs(disk);
  static_cast<void>(open(fs, "a"));
  fs.inject({Fault::sync_fails, 1, false});
  EXPECT_EQ(fs.sync_folder("", kPoint).error().code, Code::outcome_unknown);
  EXPECT_FALSE(disk.durable_file("a").has_value());
  EXPECT_TRUE(fs.sync_folder("", kPoint).has_value());
  disk.power_loss(Loss::drop_all);
  EXPECT_TRUE(disk.cached_file("a").has_value());
}

TEST(SimLyingDisk, AnIgnoredSyncSucceedsWithoutEffect) {
  SimDisk disk(1);
  SimFileSystem fs(disk);
  fs.ignore_sync(SyncPoint::published_file);
  fs.ignore_sync(SyncPoint::published_all);
  EXPECT_TRUE(publish(fs, "new").has_value());
  EXPECT_EQ(disk.durable_file("f/a"), "");
  SimFileSystem honest(disk);
  EXPECT_TRUE(publish(honest, "new").has_value());
  EXPECT_EQ(disk.durable_file("f/a"), "new");
}

TEST(SimLyingDisk, APostponedSyncIsMadeAfterThatManyOps) {
  SimDisk disk(1);
  SimFileSystem fs(disk);
  auto file = open(fs, "a");
  ASSERT_TRUE(fs.sync_folder("", SyncPoint::segment_name).has_value());
  fs.postpone_sync(kPoint, 2);
  ASSERT_TRUE(file->write_at(0, "x").has_value());
  ASSERT_TRUE(file->sync(kPoint).has_value());
  EXPECT_EQ(disk.durable_file("a"), "");
  ASSERT_TRUE(fs.remove("nothing").has_value());
  ASSERT_TRUE(fs.remove("nothing").has_value());
  EXPECT_EQ(disk.durable_file("a"), "");
  ASSERT_TRUE(file->write_at(0, "y").has_value());
  EXPECT_EQ(disk.durable_file("a"), "x");
}

TEST(SimLocks, ExcludeOtherProcesses) {
  SimDisk disk(1);
  SimFileSystem one(disk);
  SimFileSystem two(disk);
  auto first = open(one, "lock");
  auto second = open(two, "lock");
  EXPECT_TRUE(first->try_lock(0).value());
  EXPECT_TRUE(second->locked_elsewhere(0).value());
  EXPECT_FALSE(second->try_lock(0).value());
  one.kill();
  EXPECT_TRUE(second->try_lock(0).value());
  first.reset();
  EXPECT_TRUE(open(two, "lock")->locked_elsewhere(0).value());
}

TEST(SimHook, ComesBeforeEveryCallAndLetsOtherProcessesRun) {
  SimDisk disk(1);
  SimFileSystem one(disk);
  SimFileSystem two(disk);
  std::vector<std::uint64_t> calls;
  one.before_each_op([&](std::uint64_t call) {
    calls.push_back(call);
    EXPECT_TRUE(publish(two, fmt::format("{}", call)).has_value());
  });
  auto file = open(one, "f/a");
  EXPECT_EQ(file->read_at(0, 9).value(), "1") << "the hook of the reading replaced the file that is open here";
  EXPECT_EQ(one.read_file("f/a").value(), "3");
  EXPECT_EQ(calls, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(one.calls(), 5U);
  EXPECT_EQ(one.ops(), 1U);
  EXPECT_EQ(two.ops(), 5 * kPublishOps);
}

TEST(SimHook, DoesNotRecurseIntoItsOwnProcess) {
  SimDisk disk(1);
  SimFileSystem one(disk);
  SimFileSystem two(disk);
  int hooked = 0;
  one.before_each_op([&](std::uint64_t) {
    ++hooked;
    EXPECT_TRUE(one.exists("a").has_value());
    EXPECT_TRUE(two.exists("a").has_value());
  });
  two.before_each_op([&](std::uint64_t) { EXPECT_TRUE(one.exists("a").has_value()); });
  EXPECT_TRUE(one.exists("a").has_value());
  EXPECT_EQ(hooked, 1);
  EXPECT_EQ(one.calls(), 3U);
}

TEST(SimHook, MayKillItsOwnProcessAndLosePower) {
  SimDisk disk(1);
  SimFileSystem one(disk);
  one.before_each_op([&](std::uint64_t call) {
    if (call == 2) disk.power_loss();
  });
  auto file = open(one, "a");
  EXPECT_EQ(file->write_at(0, "x").error().message, "process was killed");
  EXPECT_TRUE(one.died());
  EXPECT_EQ(one.ops(), 1U);
}

TEST(CheckingFileSystem, WritesDownOrderReasonsAndOutcomes) {
  SimDisk disk(1);
  SimFileSystem sim(disk);
  CheckingFileSystem fs(sim);
  ASSERT_TRUE(publish(fs, "new").has_value());
  EXPECT_FALSE(fs.rename("missing", "x").has_value());
  std::vector<std::string> lines;
  for (const LoggedOp& op : fs.changes()) lines.push_back(op.text());
  EXPECT_EQ(lines,
            (std::vector<std::string>{"make_folder f", "write f/tmp [0, 3 bytes]", "resize f/tmp [0, 3 bytes]",
                                      "sync f/tmp (published_file)", "rename f/tmp -> f/a",
                                      "sync_folder f (published_name)", "sync_folder  (side_name)", "remove f/old",
                                      "sync_all  (published_all)", "rename missing -> x failed"}));
  EXPECT_EQ(fs.log().size(), lines.size() + 1);
  EXPECT_EQ(fs.count(LoggedOp::What::open), 1U);
  EXPECT_EQ(fs.count(SyncPoint::published_file), 1U);
  fs.clear();
  EXPECT_TRUE(fs.log().empty());
}

TEST(ManualEnvironment, TheClockObeysAndMonotonicTimeNeverGoesBack) {
  ManualClock clock(Timestamp{1000});
  clock.advance(5);
  clock.jump(-500);
  EXPECT_EQ(clock.now().us, 505);
  EXPECT_EQ(clock.monotonic_us(), 5);
  clock.set(Timestamp{1});
  clock.sleep_us(10);
  EXPECT_EQ(clock.now().us, 11);
  EXPECT_EQ(clock.monotonic_us(), 15);
}

TEST(ManualEnvironment, TheSameSeedGivesTheSameNumbers) {
  SeededRandom random(0);
  EXPECT_EQ(random.next(), 0xE220A8397B1DCDAFULL) << "splitmix64's published first number";
  SeededRandom again(random.state());
  EXPECT_EQ(random.next(), again.next());
}

}  // namespace
}  // namespace pawl::testing
