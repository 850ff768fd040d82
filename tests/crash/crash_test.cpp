// Simulated crashes: seeded schedules in which several processes save, take over, settle, recycle and read, interrupted
// by kill -9 and power loss at every kind of call (tests/crash/crash_world.hpp).
//
// PAWL_CRASH_SEEDS sets the number of schedules; PAWL_CRASH_SEED runs a single one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tests/crash/crash_world.hpp"
#include "tests/crash/erase_world.hpp"

namespace pawl::testing {
namespace {

constexpr std::uint64_t kQuarters = 4;
constexpr std::uint64_t kPostponedOps = 24;
constexpr std::uint64_t kMutantSeedsMax = 5'000;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// The schedules are divided into quarters, which ctest runs in parallel.
class CrashTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(CrashTest, NothingAcknowledgedIsLost) {
  const std::uint64_t only = number_from("PAWL_CRASH_SEED", 0);
  const std::uint64_t seeds = number_from("PAWL_CRASH_SEEDS", 10'000) / kQuarters;
  const std::uint64_t first = only != 0 ? only : GetParam() * seeds + 1;
  const std::uint64_t last = only != 0 ? only : first + seeds - 1;
  CrashWorld::Counts sum;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    CrashWorld world(seed, {});
    const auto violation = world.run();
    ASSERT_FALSE(violation) << "PAWL_CRASH_SEED=" << seed << ": " << *violation;
    sum.acknowledged += world.counts().acknowledged;
    sum.kills += world.counts().kills;
    sum.power_losses += world.counts().power_losses;
    sum.reads += world.counts().reads;
    sum.nested += world.counts().nested;
    sum.settles += world.counts().settles;
    sum.posted += world.counts().posted;
    sum.pruned += world.counts().pruned;
    sum.repeated += world.counts().repeated;
    sum.forked += world.counts().forked;
  }
  std::cout << fmt::format(
      "{} schedules: {} acknowledged saves, {} kills, {} power losses, {} reads beside writers, {} nested "
      "actions, {} settles, {} messages, {} prunes, {} repeated saves, {} forks\n",
      last - first + 1, sum.acknowledged, sum.kills, sum.power_losses, sum.reads, sum.nested, sum.settles, sum.posted,
      sum.pruned, sum.repeated, sum.forked);
  // Each kind of event occurred.
  EXPECT_GT(sum.acknowledged, 0U);
  EXPECT_GT(sum.kills, 0U);
  EXPECT_GT(sum.power_losses, 0U);
  EXPECT_GT(sum.nested, 0U);
  EXPECT_GT(sum.posted, 0U);
  EXPECT_GT(sum.pruned, 0U);
  EXPECT_GT(sum.forked, 0U);
}

INSTANTIATE_TEST_SUITE_P(Quarter, CrashTest, ::testing::Range(std::uint64_t{0}, kQuarters));

/// Erasures have their own world, in which every file can be searched for the data of runs.
bool is_of_erasing(const Mutation& mutation) {
  const SyncPoint point = mutation.ignored ? *mutation.ignored : *mutation.postponed;
  return point >= SyncPoint::erased_mark && point <= SyncPoint::erased_names;
}

/// Returns how many schedules it takes until the suite detects the mutation, or 0 if it does not.
std::uint64_t schedules_until_noticed(const Mutation& mutation, std::uint64_t seeds_max) {
  for (std::uint64_t seed = 1; seed <= seeds_max; ++seed) {
    const bool noticed = is_of_erasing(mutation) ? EraseWorld(seed, mutation).run().has_value()
                                                 : CrashWorld(seed, mutation).run().has_value();
    if (noticed) return seed;
  }
  return 0;
}

class EverySync : public ::testing::TestWithParam<int> {};

TEST_P(EverySync, IsNeeded) {
  const auto point = static_cast<SyncPoint>(GetParam());
  const std::uint64_t seeds = schedules_until_noticed({.ignored = point}, kMutantSeedsMax);
  EXPECT_NE(seeds, 0U) << "without the sync '" << to_text(point) << "' nothing is lost";
  std::cout << fmt::format("without {}: noticed in schedule {}\n", to_text(point), seeds);
}

TEST_P(EverySync, MustComeBeforeWhatFollowsIt) {
  const auto point = static_cast<SyncPoint>(GetParam());
  const std::uint64_t seeds =
      schedules_until_noticed({.postponed = point, .postponed_ops = kPostponedOps}, kMutantSeedsMax);
  EXPECT_NE(seeds, 0U) << "with the sync '" << to_text(point) << "' postponed nothing is lost";
  std::cout << fmt::format("{} postponed: noticed in schedule {}\n", to_text(point), seeds);
}

/// import_crash_test.cpp covers the sync points of imports, backup_crash_test.cpp those of backups, and
/// trail_crash_test.cpp those of archived audit entries.
std::vector<int> points_of_this_world() {
  std::vector<int> points;
  for (int i = 0; i < static_cast<int>(kSyncPointCount); ++i) {
    const auto point = static_cast<SyncPoint>(i);
    const bool elsewhere = point == SyncPoint::imported_files || point == SyncPoint::imported_name ||
                           (point >= SyncPoint::backup_file && point <= SyncPoint::cut_trail_name);
    if (!elsewhere) points.push_back(i);
  }
  return points;
}

INSTANTIATE_TEST_SUITE_P(Sync, EverySync, ::testing::ValuesIn(points_of_this_world()),
                         [](const auto& test) { return std::string(to_text(static_cast<SyncPoint>(test.param))); });

}  // namespace
}  // namespace pawl::testing
