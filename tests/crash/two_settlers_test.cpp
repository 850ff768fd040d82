// Two processes that settle the same run at the same time, and the power that fails after the first of them.
#include <gtest/gtest.h>

#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

class TwoSettlers : public ::testing::Test {
 protected:
  std::unique_ptr<FilesystemStore> open(SimFileSystem& files) {
    const Environment environment{&clock_, &random_, sim_owner(disk_.boot_id(), ++pids_)};
    return std::move(*FilesystemStore::open(files, environment, small_options()));
  }
  static void save(FilesystemStore& store, std::string_view body) {
    const auto writer = store.open_run(*RunId::parse("r"), {});
    ASSERT_TRUE(writer) << describe(writer.error());
    ASSERT_TRUE((*writer)->save({.body = body, .duplicates = Duplicates::write}));
  }

  SimDisk disk_{3};
  ManualClock clock_;
  SeededRandom random_{3};
  std::uint64_t pids_ = 10;
};

/// The second one dies at every point of its work in turn, inside every call of the first one in turn.
TEST_F(TwoSettlers, LoseNothingWhenThePowerFails) {
  constexpr std::uint64_t kCallsMax = 400;
  std::uint64_t tried = 0;
  for (std::uint64_t call = 1; call < kCallsMax; call += 3) {
    for (std::uint64_t death = 1; death < 40; death += 3) {
      disk_.power_loss(Loss::drop_all);
      SimDisk fresh{call * 1000 + death};
      SimFileSystem first_files(fresh);
      SimFileSystem second_files(fresh);
      const Environment first_environment{&clock_, &random_, sim_owner(fresh.boot_id(), 1)};
      const Environment second_environment{&clock_, &random_, sim_owner(fresh.boot_id(), 2)};
      auto first = std::move(*FilesystemStore::open(first_files, first_environment, small_options()));
      auto second = std::move(*FilesystemStore::open(second_files, second_environment, small_options()));
      save(*first, R"({"by":"first"})");
      save(*second, R"({"by":"second"})");
      const std::uint64_t at = first_files.calls() + call;
      bool inside = false;
      first_files.before_each_op([&](std::uint64_t now) {
        if (now != at) return;
        inside = true;
        second_files.kill_at(second_files.ops() + death);
        static_cast<void>(second->settle_all());
      });
      const auto settled = first->settle_all();
      first_files.before_each_op({});
      if (!inside) return;  // the first one makes fewer calls: all were tried
      ++tried;
      first_files.kill();
      second.reset();
      first.reset();
      fresh.power_loss(Loss::drop_all);
      SimFileSystem files(fresh);
      const auto store = std::move(*FilesystemStore::open(
          files, Environment{&clock_, &random_, sim_owner(fresh.boot_id(), 3)}, small_options()));
      for (std::uint64_t sequence = 1; sequence <= 2; ++sequence) {
        const auto restored =
            store->restore(*RunId::parse("r"), {.by = Which::By::sequence, .sequence = Sequence{sequence}});
        ASSERT_TRUE(restored) << "call " << call << ", death " << death << ": " << describe(restored.error());
        EXPECT_EQ(restored->state, sequence == 1 ? R"({"by":"first"})" : R"({"by":"second"})");
      }
    }
  }
  ADD_FAILURE() << "more calls than expected after " << tried << " cases";
}

}  // namespace
}  // namespace pawl::testing
