// The files of one run can't be written. Its records stay in the journals, and the other runs are not held up, wherever
// the process that moves the records is killed. Once the files are repaired, everything acknowledged is there.
#include <gtest/gtest.h>

#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

enum class StuckEnd : std::uint8_t { killed, power_loss };

class StuckWorld {
 public:
  explicit StuckWorld(std::uint64_t seed) : disk_(seed), random_(seed) {}

  /// Returns whether the process was ended at its call number `op`.
  bool end_at(std::uint64_t op, StuckEnd end) {
    {
      SimFileSystem files(disk_);
      const auto store = open(files);
      EXPECT_TRUE(save(*store, "stuck", 3));
    }
    const std::string damaged = "runs/stuck/checkpoints/pruned.json";
    {
      SimFileSystem files(disk_);
      auto file = files.open(damaged, OpenMode::create);
      EXPECT_TRUE(file && (*file)->write_at(0, "damaged") && (*file)->sync(SyncPoint::pruned_list));
      EXPECT_TRUE(files.sync_folder("runs/stuck/checkpoints", SyncPoint::pruned_list_name));
    }
    bool died = false;
    {
      SimFileSystem files(disk_);
      auto store = open(files);
      files.kill_at(files.ops() + op);
      // Several times as much as the journals have room for.
      for (int round = 0; round < 6 && !files.died(); ++round) {
        const bool saved = save(*store, "other", 8);
        EXPECT_TRUE(saved || files.died()) << "op " << op << ", round " << round;
        if (HasFailure()) break;
      }
      store.reset();
      died = files.died();
    }
    if (end == StuckEnd::power_loss) disk_.power_loss();
    SimFileSystem files(disk_);
    EXPECT_TRUE(files.remove(damaged));
    expect_all(files, op);
    return died;
  }

 private:
  static bool HasFailure() { return ::testing::Test::HasFailure(); }

  std::unique_ptr<FilesystemStore> open(SimFileSystem& files) {
    FilesystemOptions options = small_options();
    options.segment_bytes = 8U << 10;
    options.catalogue = true;
    auto store = FilesystemStore::open(files, {&clock_, &random_, sim_owner(disk_.boot_id(), ++pids_)}, options);
    EXPECT_TRUE(store) << describe(store.error());
    return store ? std::move(*store) : nullptr;
  }

  bool save(FilesystemStore& store, const std::string& run, int count) {
    const auto writer = store.open_run(*RunId::parse(run), {});
    for (int i = 0; writer && i < count; ++i) {
      const std::string body = fmt::format("[{},\"{}\"]", ++saved_, std::string(700, 'x'));
      const auto done = (*writer)->save({.body = body});
      if (!done) return false;
      acknowledged_[run][done->sequence.value] = body;
    }
    return writer.has_value();
  }

  void expect_all(SimFileSystem& files, std::uint64_t op) {
    const auto store = open(files);
    for (const auto& [run, states] : acknowledged_) {
      for (const auto& [sequence, body] : states) {
        const auto found = store->restore(*RunId::parse(run), {.by = Which::By::sequence, .sequence = {sequence}});
        ASSERT_TRUE(found) << "op " << op << ", " << run << "@" << sequence << ": " << describe(found.error());
        ASSERT_EQ(found->state, body) << "op " << op << ", " << run << "@" << sequence;
      }
      ASSERT_TRUE(save(*store, run, 1)) << "op " << op << ", " << run;
    }
    ASSERT_TRUE(store->settle_all()) << "op " << op;
    const auto report = store->check({}, Repair::no);
    ASSERT_TRUE(report);
    for (const Finding& finding : report->findings)
      EXPECT_EQ(finding.severity, Finding::Severity::note)
          << "op " << op << ": " << finding.file << ": " << finding.what;
  }

  SimDisk disk_;
  ManualClock clock_;
  SeededRandom random_;
  std::uint64_t pids_ = 10;
  int saved_ = 0;
  std::map<std::string, std::map<std::uint64_t, std::string>> acknowledged_;
};

class StuckRun : public ::testing::TestWithParam<StuckEnd> {};

TEST_P(StuckRun, HoldsUpNoOtherAndLosesNothing) {
  std::uint64_t op = 1;
  while (StuckWorld(op).end_at(op, GetParam()) && !HasFailure()) ++op;
  EXPECT_GT(op, 100U);
}

INSTANTIATE_TEST_SUITE_P(Ends, StuckRun, ::testing::Values(StuckEnd::killed, StuckEnd::power_loss),
                         [](const auto& end) { return end.param == StuckEnd::killed ? "Killed" : "PowerLoss"; });

}  // namespace
}  // namespace pawl::testing
