// A writer starts while a reader reads, and dies before its save is acknowledged. Whatever the reader has returned must
// still exist after a power loss.
#include <gtest/gtest.h>

#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

RunId read_run(std::string_view name) { return *RunId::parse(name); }

class ReaderBesideWriter : public ::testing::Test {
 protected:
  std::unique_ptr<Store> open(FileSystem& files) {
    auto store = FilesystemStore::open(files, Environment{&clock_, &random_, sim_owner(disk_.boot_id(), ++pid_)},
                                       small_options());
    EXPECT_TRUE(store);
    return std::move(*store);
  }
  /// Saves in a writer that dies at this op. Returns false if it finished before.
  bool save_and_die(std::uint64_t op) {
    SimFileSystem files(disk_);
    files.kill_at(op);
    {
      const auto store = open(files);
      const auto writer = store->open_run(read_run("r"), {});
      if (writer) static_cast<void>((*writer)->save({.body = "[1]"}));
    }
    return files.died();
  }

  SimDisk disk_{1};
  ManualClock clock_;
  SeededRandom random_{1};
  std::uint64_t pid_ = 100;
};

TEST_F(ReaderBesideWriter, WhatItShowsIsDurable) {
  std::uint64_t shown = 0;
  bool writer_ended = false;
  for (std::uint64_t op = 1; !writer_ended; ++op) {
    bool reader_ended = false;
    for (std::uint64_t call = 1; !reader_ended; ++call) {
      SimDisk fresh(op * 1000 + call);
      std::swap(disk_, fresh);
      {
        SimFileSystem files(disk_);
        ASSERT_TRUE(open(files)->open_run(read_run("older"), {}));  // a store with a journal
      }
      disk_.power_loss(Loss::drop_all);
      SimFileSystem files(disk_);
      const auto store = open(files);
      const std::uint64_t before = files.calls();
      reader_ended = true;
      files.before_each_op([&](std::uint64_t number) {
        if (number != before + call) return;
        reader_ended = false;
        writer_ended = !save_and_die(op);
      });
      const auto seen = store->restore(read_run("r"), {});
      disk_.power_loss(Loss::drop_all);
      if (!seen) continue;
      ++shown;
      SimFileSystem later(disk_);
      EXPECT_TRUE(open(later)->restore(read_run("r"), {}))
          << "shown at call " << call << ", lost; the writer died at op " << op;
    }
  }
  EXPECT_GT(shown, 0U);
}

}  // namespace
}  // namespace pawl::testing
