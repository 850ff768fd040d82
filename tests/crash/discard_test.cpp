// A process that removes the segments of a merged journal is killed at any call. The next writer takes the journal over
// and is killed as well. What was settled is not reported as damage.
#include <gtest/gtest.h>

#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

RunId merged_run(std::string_view name) { return *RunId::parse(name); }

struct MergeWorld {
  explicit MergeWorld(std::uint64_t seed) : disk(seed), random(seed) {}
  SimDisk disk;
  ManualClock clock;
  SeededRandom random;
  std::uint64_t pids = 10;
  int saved = 0;

  std::unique_ptr<FilesystemStore> open(SimFileSystem& files) {
    FilesystemOptions options = small_options();
    options.segment_bytes = 8U << 10;
    auto store = FilesystemStore::open(files, {&clock, &random, sim_owner(disk.boot_id(), ++pids)}, options);
    EXPECT_TRUE(store) << describe(store.error());
    return store ? std::move(*store) : nullptr;
  }
  bool save(FilesystemStore& store, std::string_view run, int count) {
    const auto writer = store.open_run(merged_run(run), {});
    for (int i = 0; writer && i < count; ++i) {
      const std::string body = fmt::format("[{},\"{}\"]", ++saved, std::string(1500, 'x'));
      if (!(*writer)->save({.body = body})) return false;
    }
    return writer.has_value();
  }
};

/// Returns whether the process that merges was killed.
bool kill_merge_at(std::uint64_t op) {
  MergeWorld world(op);
  SimFileSystem merging(world.disk);
  bool died = false;
  {
    auto store = world.open(merging);
    EXPECT_TRUE(world.save(*store, "a", 1));
    // Three more journals with several segments each, of processes that were killed.
    SimFileSystem b_files(world.disk);
    SimFileSystem c_files(world.disk);
    SimFileSystem d_files(world.disk);
    const auto b = world.open(b_files);
    const auto c = world.open(c_files);
    const auto d = world.open(d_files);
    EXPECT_TRUE(world.save(*b, "b", 12) && world.save(*c, "c", 12) && world.save(*d, "d", 12));
    // The recycled segments of this journal say that only the first batches are settled.
    EXPECT_TRUE(d->settle_all() && world.save(*d, "d", 2));
    for (SimFileSystem* files : {&b_files, &c_files, &d_files}) files->kill();
    merging.kill_at(merging.ops() + op);
    store.reset();
    died = merging.died();
  }
  {
    // At the same time, so that each takes over a journal of its own.
    std::vector<std::unique_ptr<SimFileSystem>> next_files;
    std::vector<std::unique_ptr<FilesystemStore>> next;
    for (const std::string_view run : {"a", "b", "c", "d"}) {
      next.push_back(world.open(*next_files.emplace_back(std::make_unique<SimFileSystem>(world.disk))));
      const auto writer = next.back()->open_run(merged_run(run), {});
      EXPECT_TRUE(writer) << "op " << op << ": " << describe(writer.error());
    }
    for (const auto& files : next_files) files->kill();
  }
  SimFileSystem files(world.disk);
  const auto store = world.open(files);
  const auto report = store->check({}, Repair::no);
  EXPECT_TRUE(report);
  for (const Finding& finding : report->findings)
    EXPECT_EQ(finding.severity, Finding::Severity::note) << "op " << op << ": " << finding.file << ": " << finding.what;
  for (const std::string_view run : {"b", "c", "d"}) {
    EXPECT_TRUE(store->restore(merged_run(run), {})) << "op " << op << ": " << run;
    EXPECT_TRUE(world.save(*store, run, 1)) << "op " << op << ": " << run;
  }
  return died;
}

TEST(DiscardedJournal, IsNotDamagedIfItsRemovalWasInterrupted) {
  std::uint64_t op = 1;
  while (kill_merge_at(op) && !HasFailure()) ++op;
  EXPECT_GT(op, 20U);
}

}  // namespace
}  // namespace pawl::testing
