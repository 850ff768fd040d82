// Continuing after damage: what is set aside stays so after a power loss, and no number is used twice.
#include <gtest/gtest.h>

#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

constexpr std::uint64_t kSaved = 8;
constexpr std::uint64_t kWhole = 5;

RunId fallback_run() { return *RunId::parse("r"); }

FilesystemOptions roomy() {
  FilesystemOptions options = small_options();
  options.differences_floor_bytes = 1U << 20;
  options.differences_max = 100;
  return options;
}

std::string body(std::uint64_t number) { return fmt::format("[{}]", number); }

/// A simulated disk with a settled run whose sixth checkpoint is damaged.
struct DamagedDisk {
  explicit DamagedDisk(std::uint64_t seed) : disk(seed) {
    SimFileSystem files(disk);
    {
      const auto store = open(files);
      {
        const auto writer = store->open_run(fallback_run(), {});
        for (std::uint64_t i = 1; i <= kSaved; ++i) EXPECT_TRUE((*writer)->save({.body = body(i)}));
      }
      EXPECT_TRUE(store->settle_all());
    }
    const auto file = files.open("runs/r/checkpoints/checkpoint_00001.jsonl", OpenMode::write);
    const std::string text = *(*file)->read_at(0, 1U << 20);
    std::size_t at = 0;
    for (std::uint64_t line = 2; line <= kWhole; ++line) at = text.find('\n', at) + 1;
    EXPECT_TRUE((*file)->write_at(at + 30, "#"));
    EXPECT_TRUE(files.sync_all(SyncPoint::published_all));
  }

  std::unique_ptr<FilesystemStore> open(SimFileSystem& files) {
    auto store = FilesystemStore::open(files, Environment{&clock, &random, sim_owner(disk.boot_id(), 4711)}, roomy());
    EXPECT_TRUE(store);
    return std::move(*store);
  }

  static Result<Saved> go_on(FilesystemStore& store) {
    RunOptions options;
    options.fall_back_to = {kWhole};
    auto writer = store.open_run(fallback_run(), options);
    if (!writer) writer = store.open_run(fallback_run(), {});  // it was already set aside
    if (!writer) return std::unexpected(writer.error());
    return (*writer)->save({.body = "[\"on\"]"});
  }

  SimDisk disk;
  ManualClock clock;
  SeededRandom random{3};
};

TEST(Fallback, GoesOnBehindTheHighestNumberThatWasSeen) {
  DamagedDisk damaged(1);
  SimFileSystem files(damaged.disk);
  const auto store = damaged.open(files);
  EXPECT_FALSE(store->restore(fallback_run(), {}));
  EXPECT_FALSE(store->open_run(fallback_run(), {}));
  const auto found = store->recover(fallback_run(), {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->checkpoint.state, body(kWhole));
  EXPECT_EQ(found->highest.value, kSaved);
  const auto saved = DamagedDisk::go_on(*store);
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->sequence.value, kSaved + 1);
  EXPECT_EQ(store->restore(fallback_run(), {})->state, "[\"on\"]");
  const auto lost = store->restore(fallback_run(), {.by = Which::By::sequence, .sequence = {kWhole + 1}});
  EXPECT_EQ(lost.error().code, Code::checkpoint_set_aside);
  ASSERT_TRUE(store->settle_all());
  EXPECT_FALSE(store->check({}, Repair::no)->damaged());
  EXPECT_EQ(store->recover(fallback_run(), {.extent = RecoverExtent::all})->rebuilt, kWhole + 1);
}

TEST(Fallback, AnotherCheckpointThanTheNewestWholeOneIsRefused) {
  DamagedDisk damaged(1);
  SimFileSystem files(damaged.disk);
  const auto store = damaged.open(files);
  for (const std::uint64_t other : {1U, 4U, 6U, 8U}) {
    RunOptions options;
    options.fall_back_to = {other};
    EXPECT_EQ(store->open_run(fallback_run(), options).error().code, Code::parent_conflict);
  }
  const auto file = files.open("runs/r/checkpoints/aside.json", OpenMode::read);
  EXPECT_FALSE(file) << "nothing is set aside before a save";
}

TEST(Fallback, AnUnchangedStateIsNotAnsweredWithADamagedNumber) {
  DamagedDisk damaged(1);
  SimFileSystem files(damaged.disk);
  const auto store = damaged.open(files);
  RunOptions options;
  options.fall_back_to = {kWhole};
  const auto writer = store->open_run(fallback_run(), options);
  const auto saved = (*writer)->save({.body = body(kWhole)});
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->outcome, Saved::Outcome::written);
  EXPECT_EQ(saved->sequence.value, kSaved + 1);
}

/// The power is cut at each operation of the fallback in turn. Afterwards the run is unchanged, or it has continued.
TEST(Fallback, SurvivesPowerLossAtEveryOperation) {
  bool finished = false;
  for (std::uint64_t op = 1; !finished; ++op) {
    ASSERT_LT(op, 500U);
    DamagedDisk damaged(op);
    bool acknowledged = false;
    {
      SimFileSystem files(damaged.disk);
      files.power_cut_at(op);
      {
        auto store = FilesystemStore::open(
            files, Environment{&damaged.clock, &damaged.random, sim_owner(damaged.disk.boot_id(), 4711)}, roomy());
        acknowledged = store && DamagedDisk::go_on(**store).has_value();
      }
      finished = !damaged.disk.power_is_off();
    }
    damaged.disk.power_loss();
    SimFileSystem files(damaged.disk);
    const auto store = damaged.open(files);
    const auto newest = store->restore(fallback_run(), {});
    if (acknowledged) {
      ASSERT_TRUE(newest) << op;
      EXPECT_EQ(newest->info.sequence.value, kSaved + 1) << op;
    }
    const auto saved = DamagedDisk::go_on(*store);
    ASSERT_TRUE(saved) << op << ": " << describe(saved.error());
    EXPECT_GT(saved->sequence.value, kSaved) << op;
    EXPECT_EQ(store->restore(fallback_run(), {})->state, "[\"on\"]") << op;
    ASSERT_TRUE(store->settle_all()) << op;
    const auto report = store->check({}, Repair::no);
    EXPECT_FALSE(report->damaged()) << op << (report->findings.empty() ? "" : report->findings.front().what);
  }
}

/// The list must be durable before the first save after the damage.
TEST(Fallback, NeedsTheSyncsOfItsList) {
  for (const SyncPoint point : {SyncPoint::side_file, SyncPoint::side_name}) {
    bool noticed = false;
    for (std::uint64_t seed = 1; seed <= 60 && !noticed; ++seed) {
      DamagedDisk damaged(seed);
      {
        SimFileSystem files(damaged.disk);
        files.ignore_sync(point);
        const auto store = damaged.open(files);
        ASSERT_TRUE(DamagedDisk::go_on(*store));
        damaged.disk.power_loss();
      }
      SimFileSystem files(damaged.disk);
      const auto store = damaged.open(files);
      const auto newest = store->restore(fallback_run(), {});
      noticed = !newest || newest->info.sequence.value != kSaved + 1 || store->check({}, Repair::no)->damaged();
    }
    EXPECT_TRUE(noticed) << to_text(point);
  }
}

}  // namespace
}  // namespace pawl::testing
