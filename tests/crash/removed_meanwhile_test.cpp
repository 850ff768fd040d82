// Commands about all runs, while another process erases or removes one of them. Whatever the moment, they succeed and
// report no damage.
#include <gtest/gtest.h>

#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

class RemovedMeanwhile : public ::testing::TestWithParam<Remains> {
 protected:
  std::unique_ptr<Store> open(FileSystem& files) {
    FilesystemOptions options = small_options();
    options.catalogue = true;
    auto store = FilesystemStore::open(files, {&clock_, &random_, sim_owner(disk_.boot_id(), ++pid_)}, options);
    EXPECT_TRUE(store);
    return std::move(*store);
  }

  void save(const std::string& name, int count) {
    SimFileSystem files(disk_);
    const auto store = open(files);
    const auto writer = store->open_run(*RunId::parse(name), {});
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE((*writer)->save({.body = "[" + std::to_string(i) + "]", .name = "n" + std::to_string(i)}));
    }
  }

  /// Calls `use` on fresh stores, while `b` disappears before its first call, its second, and so on.
  void at_every_call(const std::function<void(Store& store, std::uint64_t call)>& use) {
    bool ended = false;
    int removals = 0;
    for (std::uint64_t call = 1; !ended; ++call) {
      SimDisk fresh(call);
      std::swap(disk_, fresh);
      for (const char* name : {"a", "b", "c"}) save(name, 6);
      SimFileSystem files(disk_);
      const auto store = open(files);
      const std::uint64_t before = files.calls();
      ended = true;
      files.before_each_op([&](std::uint64_t number) {
        if (number != before + call) return;
        ended = false;
        SimFileSystem other(disk_);
        // Fails while the interrupted command holds a lock that the removal would have to wait for.
        const auto erased = open(other)->erase(*RunId::parse("b"), {.reason = "old", .remains = GetParam()});
        removals += erased ? 1 : 0;
      });
      use(*store, call);
      if (HasFailure()) return;
    }
    EXPECT_GT(removals, 10);
  }

  SimDisk disk_{1};
  ManualClock clock_;
  SeededRandom random_{1};
  std::uint64_t pid_ = 100;
};

TEST_P(RemovedMeanwhile, AStoreThatIsCheckedIsNotDamaged) {
  at_every_call([](Store& store, std::uint64_t call) {
    const auto report = store.check({}, Repair::no);
    ASSERT_TRUE(report) << "removed before call " << call << ": " << report.error().message;
    for (const Finding& finding : report->findings) {
      EXPECT_EQ(finding.severity, Finding::Severity::note)
          << "removed before call " << call << ": " << finding.file << ": " << finding.what;
    }
  });
}

TEST_P(RemovedMeanwhile, OtherRunsAreListed) {
  at_every_call([](Store& store, std::uint64_t call) {
    const auto runs = store.runs(10);
    ASSERT_TRUE(runs) << "removed before call " << call << ": " << runs.error().message;
    EXPECT_GE(runs->size(), 2U) << "removed before call " << call;
    EXPECT_TRUE(store.shared_bytes()) << "removed before call " << call;
    EXPECT_TRUE(store.removed(10)) << "removed before call " << call;
  });
}

TEST_P(RemovedMeanwhile, TheCatalogueIsRebuilt) {
  at_every_call([this](Store& store, std::uint64_t call) {
    const auto report = store.check({}, Repair::yes);
    ASSERT_TRUE(report) << "removed before call " << call << ": " << report.error().message;
    EXPECT_FALSE(report->damaged()) << "removed before call " << call;
    SimFileSystem later(disk_);
    EXPECT_GE(open(later)->runs(10)->size(), 2U) << "removed before call " << call;
  });
}

INSTANTIATE_TEST_SUITE_P(Kinds, RemovedMeanwhile, ::testing::Values(Remains::trail, Remains::tombstone),
                         [](const auto& kind) { return kind.param == Remains::trail ? "Erased" : "Removed"; });

}  // namespace
}  // namespace pawl::testing
