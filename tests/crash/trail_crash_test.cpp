// Archiving audit entries, interrupted at any call by a kill or by power loss: every entry is still there, the trail
// verifies, and the run continues.
#include <gtest/gtest.h>

#include "adapters/filesystem/filesystem_store.hpp"
#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

constexpr std::uint64_t kArchiveSeeds = 4;
const RetentionSettings kNewest{.keep = 1, .keep_days = {}, .keep_per_stage = {}};
const RunId kArchived = *RunId::parse("r");

struct TrailWorld {
  explicit TrailWorld(std::uint64_t seed) : disk(seed), random(seed) {}
  SimDisk disk;
  ManualClock clock;
  SeededRandom random;
  std::uint64_t saved = 0;

  std::unique_ptr<FilesystemStore> open(SimFileSystem& files, std::uint64_t pid) {
    auto store = FilesystemStore::open(files, {&clock, &random, sim_owner("boot", pid)}, small_options());
    EXPECT_TRUE(store) << describe(store.error());
    return store ? std::move(*store) : nullptr;
  }
  bool save(FilesystemStore& store, int count) {
    const auto writer = store.open_run(kArchived, {});
    for (int i = 0; writer && i < count; ++i) {
      if (!(*writer)->save({.body = fmt::format("[{}]", saved + 1)})) return false;
      ++saved;
    }
    return writer.has_value();
  }
  static void prune(FilesystemStore& store) {
    static_cast<void>(store.prune(kArchived, kNewest, PruneMode::remove));
    static_cast<void>(store.wipe_pruned());
  }
};

/// Returns what is wrong with the run, or an empty string.
std::string trail_fault(FilesystemStore& store, std::uint64_t saved) {
  const auto report = store.check({}, Repair::no);
  if (!report) return describe(report.error());
  for (const Finding& finding : report->findings) {
    if (finding.severity == Finding::Severity::damage) return finding.file + ": " + finding.what;
  }
  const auto entries = store.audit(kArchived, 0, SIZE_MAX);
  if (!entries) return describe(entries.error());
  if (entries->size() != saved + 1) return fmt::format("{} entries after {} saves", entries->size(), saved);
  const auto latest = store.restore(kArchived, {});
  if (!latest) return describe(latest.error());
  return latest->state == fmt::format("[{}]", saved) ? "" : "another state";
}

struct TrailOutcome {
  std::string fault = {};
  std::uint64_t ops = 0;
};

/// Archives a second time, which merges the archives, and is interrupted at op `cut` (0: never).
TrailOutcome archive_until(std::uint64_t seed, std::uint64_t cut, bool power, std::optional<SyncPoint> ignored) {
  TrailWorld world(seed);
  {
    SimFileSystem files(world.disk);
    const auto store = world.open(files, 2);
    EXPECT_TRUE(world.save(*store, 8));
    TrailWorld::prune(*store);
    EXPECT_TRUE(world.save(*store, 7));
    EXPECT_TRUE(store->settle_all());
  }
  TrailOutcome outcome;
  {
    SimFileSystem files(world.disk);
    if (ignored) files.ignore_sync(*ignored);
    const auto store = world.open(files, 3);
    if (cut != 0 && !power) files.kill_at(cut);
    if (cut != 0 && power) files.power_cut_at(cut);
    TrailWorld::prune(*store);
    outcome.ops = files.ops();
    if (!files.died()) files.kill();
  }
  if (power) world.disk.power_loss();
  SimFileSystem files(world.disk);
  const auto store = world.open(files, 4);
  outcome.fault = trail_fault(*store, world.saved);
  if (!outcome.fault.empty()) return outcome;
  if (!world.save(*store, 5)) outcome.fault = "it can't be continued";
  TrailWorld::prune(*store);
  if (outcome.fault.empty()) outcome.fault = trail_fault(*store, world.saved);
  return outcome;
}

TEST(TrailCrash, CutAtAnyCallEveryEntryIsThere) {
  const std::uint64_t ops = archive_until(1, 0, false, {}).ops;
  ASSERT_GT(ops, 20U);
  for (const bool power : {false, true}) {
    for (std::uint64_t seed = 1; seed <= kArchiveSeeds; ++seed) {
      for (std::uint64_t cut = 1; cut <= ops + 1; ++cut) {
        ASSERT_EQ(archive_until(seed, cut, power, {}).fault, "")
            << "seed " << seed << ", cut at " << cut << (power ? " by power loss" : " by kill");
      }
    }
  }
}

TEST(TrailCrash, EverySyncOfItIsNeeded) {
  for (const SyncPoint point :
       {SyncPoint::archived_trail, SyncPoint::archived_trail_name, SyncPoint::cut_trail, SyncPoint::cut_trail_name}) {
    bool noticed = false;
    for (std::uint64_t seed = 1; seed <= 40 && !noticed; ++seed) {
      const std::uint64_t ops = archive_until(seed, 0, true, point).ops;
      for (std::uint64_t cut = 1; cut <= ops + 1 && !noticed; ++cut)
        noticed = !archive_until(seed, cut, true, point).fault.empty();
    }
    EXPECT_TRUE(noticed) << "without the sync '" << to_text(point) << "' nothing is lost";
  }
}

}  // namespace
}  // namespace pawl::testing
