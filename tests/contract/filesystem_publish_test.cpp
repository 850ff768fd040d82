// What the filesystem store writes to the readable files, and what it takes from them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "adapters/filesystem/catalogue.hpp"
#include "adapters/filesystem/filesystem_evidence.hpp"
#include "audit/verify.hpp"
#include "testing/checking_file_system.hpp"
#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

RunId published_run() { return *RunId::parse("r"); }

/// A later save has the same payload, and finds the blob of the first one damaged.
TEST(StoredBlob, ThatIsDamagedIsNotReused) {
  FilesystemUnderTest place(small_options());
  const auto store = place.open();
  const auto writer = store->open_run(published_run(), {});
  ASSERT_TRUE(writer) << describe(writer.error());
  const std::string large = fmt::format("{{\"large\":\"{}\"}}", std::string(5000, 'x'));
  ASSERT_TRUE((*writer)->save({.body = large}));
  ASSERT_TRUE((*writer)->save({.body = "[]"}));
  const std::filesystem::path blob = std::filesystem::directory_iterator(place.path() + "/runs/r/blobs")->path();
  std::fstream(blob, std::ios::binary | std::ios::in | std::ios::out).write("damage", 6);
  ASSERT_TRUE((*writer)->save({.body = large}));
  const auto restored = place.open()->restore(published_run(), {});
  ASSERT_TRUE(restored) << describe(restored.error());
  EXPECT_EQ(restored->state, large);
}

/// Each process publishes lazily when it closes. A checkpoint that is in its file already is not written again.
TEST(LazyPublishing, DoesNotRewriteACheckpointThatIsInItsFile) {
  SimDisk disk{1};
  ManualClock clock;
  SeededRandom random{1};
  FilesystemOptions options = small_options();
  options.segment_bytes = 64U << 10;
  options.settle_at_close_bytes = 64U << 10;
  options.inline_bytes_max = 32U << 10;
  options.differences_floor_bytes = 32U << 10;
  const std::string padding(10'000, 'x');
  std::uint64_t written = 0;
  for (std::uint64_t i = 0; i < 3; ++i) {
    SimFileSystem files(disk);
    CheckingFileSystem checking(files);
    {
      const Environment environment{&clock, &random, sim_owner(disk.boot_id(), i + 1)};
      const auto store = std::move(*FilesystemStore::open(checking, environment, options));
      const auto writer = store->open_run(published_run(), {});
      ASSERT_TRUE(writer) << describe(writer.error());
      ASSERT_TRUE((*writer)->save({.body = fmt::format("{{\"n\":{},\"padding\":\"{}\"}}", i, padding)}));
    }
    written = 0;
    for (const LoggedOp& op : checking.changes()) {
      if (op.what == LoggedOp::What::write && op.path.starts_with("runs/r/checkpoints/")) written += op.size;
    }
    if (i == 0) {
      EXPECT_GT(written, padding.size());
    }
  }
  EXPECT_LT(written, 1000U) << "only the difference is new";
}

/// The journal of the first process contains a run without a gap, but the second one has settled more of it.
TEST(RebuiltCatalogue, KnowsWhatAnotherProcessSettled) {
  SimDisk disk{2};
  ManualClock clock;
  SeededRandom random{2};
  SimFileSystem files(disk);
  FilesystemOptions options = small_options();
  options.catalogue = true;
  const auto open = [&](std::uint64_t pid) {
    return std::move(
        *FilesystemStore::open(files, Environment{&clock, &random, sim_owner(disk.boot_id(), pid)}, options));
  };
  const auto save = [](FilesystemStore& store, std::string_view caller_id) {
    const auto writer = store.open_run(published_run(), {});
    ASSERT_TRUE(writer) << describe(writer.error());
    ASSERT_TRUE((*writer)->save({.body = fmt::format("\"{}\"", caller_id), .caller_id = std::string(caller_id)}));
  };
  const auto first = open(1);
  const auto second = open(2);
  save(*first, "a");
  save(*second, "b");
  ASSERT_TRUE(second->settle_all());
  ASSERT_TRUE(files.remove("catalogue.db"));
  ASSERT_TRUE(first->rebuild_catalogue());
  const Catalogue catalogue(files, clock);
  const auto row = catalogue.find_run("r");
  ASSERT_TRUE(row && *row);
  EXPECT_EQ((*row)->latest.value, 2U);
  EXPECT_TRUE(*catalogue.find_save("r", "a"));
  EXPECT_TRUE(*catalogue.find_save("r", "b"));
}

/// Several processes write, settle and prune the same runs, one after the other. They share the files of roots: each
/// continues what another one may have replaced.
class SharedRoots {
 public:
  explicit SharedRoots(std::uint64_t seed) : disk_(seed), random_(seed) {
    options_.segment_bytes = 64U << 10;
    options_.settle_at_close_bytes = 32U << 10;
    options_.settle_at_close_batches = 1000;
    options_.journals_max = 4;
  }

  void run() {
    constexpr int kSteps = 30;
    const auto first = open(first_files_);
    const auto second = open(second_files_);
    for (int i = 0; i < kSteps && !::testing::Test::HasFailure(); ++i) {
      FilesystemStore& store = random_.next() % 2 == 0 ? *first : *second;
      step(store);
      check();
    }
  }

 private:
  void step(FilesystemStore& store) {
    const RunId run = *RunId::parse(random_.next() % 3 == 0 ? "s" : "r");
    switch (random_.next() % 10) {
      case 0:
      case 1: save(store, run); break;
      case 2: EXPECT_TRUE(store.publish_lazily()); break;
      case 3: EXPECT_TRUE(store.settle_all()); break;
      case 4: {
        const auto pruned = store.prune(run, {.keep = 2, .keep_days = {}, .keep_per_stage = {}}, PruneMode::remove);
        EXPECT_TRUE(pruned || pruned.error().code == Code::run_not_found);
        break;
      }
      case 5: EXPECT_TRUE(store.wipe_pruned()); break;
      default: {
        SimFileSystem files(disk_);
        save(*open(files), run);
      }
    }
  }

  void save(FilesystemStore& store, const RunId& run) {
    const auto writer = store.open_run(run, {});
    ASSERT_TRUE(writer) << describe(writer.error());
    ASSERT_TRUE((*writer)->save({.body = "[]", .duplicates = Duplicates::write}));
    saved_.insert(run.text());
  }

  void check() {
    SimFileSystem files(disk_);
    const auto report = open(files)->check({}, Repair::no);
    ASSERT_TRUE(report) << describe(report.error());
    for (const Finding& finding : report->findings)
      EXPECT_EQ(finding.severity, Finding::Severity::note) << finding.file << ": " << finding.what;
    FilesystemEvidence evidence(files, disk_.boot_id());
    for (const std::string& run : saved_) {
      const auto verdict = verify_run(evidence, *RunId::parse(run), nullptr, {});
      ASSERT_TRUE(verdict) << describe(verdict.error());
      EXPECT_FALSE(verdict->bad) << verdict->bad->file << ": " << verdict->bad->what;
    }
  }

  std::unique_ptr<FilesystemStore> open(SimFileSystem& files) {
    return std::move(*FilesystemStore::open(files, {&clock_, &random_, sim_owner(disk_.boot_id(), ++pids_)}, options_));
  }

  SimDisk disk_;
  ManualClock clock_;
  SeededRandom random_;
  FilesystemOptions options_ = small_options();
  std::uint64_t pids_ = 10;
  std::set<std::string> saved_;
  SimFileSystem first_files_{disk_};
  SimFileSystem second_files_{disk_};
};

TEST(PublishedRoots, StayInOrderWhenProcessesTakeTurns) {
  constexpr std::uint64_t kSeeds = 300;
  for (std::uint64_t seed = 1; seed <= kSeeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    SharedRoots(seed).run();
  }
}

}  // namespace
}  // namespace pawl::testing
