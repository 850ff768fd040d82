// A writer opens a run while a pruner holds its lock for a moment, and releases it at any point.
#include <gtest/gtest.h>

#include "adapters/filesystem/layout.hpp"
#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

TEST(WriterBesidePruner, IsNeverToldThatTheRunIsBusy) {
  ManualClock clock;
  SeededRandom random(1);
  SimDisk disk(1);
  const RunId run = *RunId::parse("r");
  std::uint64_t pid = 100;
  const auto open = [&](FileSystem& files) {
    auto store = FilesystemStore::open(files, {&clock, &random, sim_owner(disk.boot_id(), ++pid)}, small_options());
    EXPECT_TRUE(store);
    return std::move(*store);
  };
  {
    SimFileSystem files(disk);
    const auto store = open(files);
    const auto writer = store->open_run(run, {});
    ASSERT_TRUE((*writer)->save({.body = "[1]"}));
  }
  bool released = true;
  for (std::uint64_t call = 1; released; ++call) {
    SimFileSystem pruning(disk);
    auto lock = pruning.open(layout::run_lock("r"), OpenMode::create);
    ASSERT_TRUE(*(*lock)->try_lock(layout::kClosingByte));
    ASSERT_TRUE(*(*lock)->try_lock(layout::kWriterByte));
    SimFileSystem files(disk);
    const auto store = open(files);
    const std::uint64_t before = files.calls();
    released = false;
    files.before_each_op([&](std::uint64_t number) {
      if (number != before + call) return;
      released = true;
      lock->reset();
    });
    const std::int64_t before_us = clock.monotonic_us();
    const auto writer = store->open_run(run, {});
    const bool too_late = clock.monotonic_us() - before_us >= kLockWaitUs;
    if (released && !too_late) {
      EXPECT_TRUE(writer) << "released before call " << call;
    }
    if (!released) {
      EXPECT_EQ(writer.error().code, Code::run_busy);
    }
  }
}

}  // namespace
}  // namespace pawl::testing
