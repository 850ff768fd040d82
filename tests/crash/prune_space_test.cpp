// What pruning promises about the disk: a removed state is in no file any more when the command returns, and a full
// disk does not keep anybody from pruning.
#include <gtest/gtest.h>

#include <map>

#include "adapters/filesystem/layout.hpp"
#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

constexpr std::uint64_t kSchedules = 150;

class PruneWorld {
 public:
  explicit PruneWorld(std::uint64_t seed) : random_(seed), options_(small_options()), disk_(seed * 17 + 3) {
    options_.differences_max = 1 + random_.below(12);
    options_.inline_bytes_max = 600;
    options_.packing.compression = Compression::none;
  }

  /// Saves to random runs in several processes. Some are killed, the last ones too.
  void fill() {
    for (std::uint64_t process = 2 + random_.below(4); process > 0; --process) {
      SimFileSystem files(disk_);
      const auto store = FilesystemStore::open(files, environment(), options_);
      ASSERT_TRUE(store) << describe(store.error());
      {
        std::map<std::string, std::unique_ptr<RunWriter>> writers;
        for (std::uint64_t saves = random_.below(25); saves > 0; --saves) {
          const std::string run = random_.coin() ? "a" : "b";
          if (!writers[run]) writers[run] = std::move(*(*store)->open_run(*RunId::parse(run), {}));
          save(*writers[run], run);
        }
      }
      if (random_.below(3) == 0) files.kill();
    }
  }

  void save(RunWriter& writer, const std::string& run) {
    const std::uint64_t number = saved_[run] + 1;
    SaveRequest request;
    const std::string mark = mark_of(run, number);
    const std::string state =
        fmt::format(R"({{"mark":"{}","more":"{}","again":"{}"}})", mark, std::string(random_.below(900), 'x'), mark);
    request.body = state;
    request.duplicates = Duplicates::write;
    ASSERT_TRUE(writer.save(request));
    saved_[run] = number;
  }

  /// Prunes all runs as `pawl prune` does, in a process of its own.
  void prune(std::uint64_t keep) {
    SimFileSystem files(disk_);
    const auto store = FilesystemStore::open(files, environment(), options_);
    ASSERT_TRUE(store) << describe(store.error());
    for (const auto& [run, count] : saved_) {
      const RetentionSettings settings{.keep = keep, .keep_days = {}, .keep_per_stage = {}};
      const auto report = (*store)->prune(*RunId::parse(run), settings, PruneMode::remove);
      ASSERT_TRUE(report) << describe(report.error());
      EXPECT_EQ(report->kept, std::min(keep, count));
      kept_[run] = keep;
    }
    const auto held = (*store)->wipe_pruned();
    ASSERT_TRUE(held) << describe(held.error());
    EXPECT_TRUE(held->empty());
  }

  /// Returns the removed states that some file still contains.
  [[nodiscard]] std::string remains() {
    SimFileSystem files(disk_);
    std::string found;
    look_below(files, "", found);
    return found;
  }
  void lose_power(Loss loss) { disk_.power_loss(loss); }
  [[nodiscard]] std::uint64_t below(std::uint64_t limit) { return random_.below(limit); }
  [[nodiscard]] bool has_checkpoints() const { return !saved_.empty(); }

 private:
  Environment environment() { return {&clock_, &random_, sim_owner(disk_.boot_id(), ++pids_)}; }
  static std::string mark_of(const std::string& run, std::uint64_t number) {
    return fmt::format("MARK-OF-{}-{:08}-KRAM", run, number);
  }

  void look_below(SimFileSystem& files, const std::string& folder, std::string& found) {
    const auto entries = files.list(folder);
    if (!entries) return;
    for (const FolderEntry& entry : *entries) {
      const std::string path = join_path(folder, entry.name);
      if (entry.is_folder) {
        look_below(files, path, found);
        continue;
      }
      const auto text = files.read_file(path);
      if (!text) continue;
      for (const auto& [run, count] : saved_) {
        for (std::uint64_t number = 1; number + kept_[run] <= count; ++number) {
          if (text->contains(mark_of(run, number))) found += fmt::format("{} contains {}@{}; ", path, run, number);
        }
      }
    }
  }

  SeededRandom random_;
  FilesystemOptions options_;
  SimDisk disk_;
  ManualClock clock_;
  std::uint64_t pids_ = 100;
  std::map<std::string, std::uint64_t> saved_;
  std::map<std::string, std::uint64_t> kept_;
};

/// In the newest group of a run that nobody writes, in journals that were not published, and in blobs.
TEST(PruneSpace, WhatWasPrunedIsInNoFileWhenPruneReturns) {
  for (std::uint64_t seed = 1; seed <= kSchedules; ++seed) {
    PruneWorld world(seed);
    world.fill();
    if (!world.has_checkpoints()) continue;
    world.prune(1 + world.below(4));
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
    ASSERT_EQ(world.remains(), "") << "seed " << seed;
    world.lose_power(seed % 2 == 0 ? Loss::drop_all : Loss::random);
    ASSERT_EQ(world.remains(), "") << "seed " << seed << ", after power loss";
  }
}

/// Fills a disk of each size until nothing fits, so that the failing call is another one each time. Then a prune must
/// succeed and make room for saves.
TEST(PruneSpace, AFullDiskDoesNotKeepAnybodyFromPruning) {
  constexpr std::uint64_t kBlock = 4096;
  FilesystemOptions options = small_options();
  options.reserve_bytes = 32U << 10;
  options.packing.compression = Compression::none;
  for (std::uint64_t blocks = 60; blocks < 160; ++blocks) {
    SimDisk disk(blocks);
    SeededRandom random(blocks);
    ManualClock clock;
    std::uint64_t pids = 100;
    const auto environment = [&] { return Environment{&clock, &random, sim_owner(disk.boot_id(), ++pids)}; };
    const RunId run = *RunId::parse("a");
    const auto save = [&](std::uint64_t number) -> Result<Saved> {
      SimFileSystem files(disk);
      PAWL_TRY_ASSIGN(const auto store, FilesystemStore::open(files, environment(), options));
      PAWL_TRY_ASSIGN(const auto writer, store->open_run(run, {}));
      SaveRequest request;
      std::string text;  // nothing in common with the state before, so that it is not saved as a difference
      while (text.size() < 3000) text += fmt::format("{:016x}", random.next());
      const std::string body = fmt::format(R"({{"n":{},"text":"{}"}})", number, text);
      request.body = body;
      return writer->save(request);
    };
    ASSERT_TRUE(save(0));
    disk.set_capacity(blocks * kBlock);
    std::uint64_t saved = 1;
    std::uint64_t failed = 0;
    while (failed < 5) ++(save(saved) ? saved : failed);  // each may leave something behind
    if (saved < 3) continue;
    SimFileSystem files(disk);
    const auto store = FilesystemStore::open(files, environment(), options);
    ASSERT_TRUE(store) << describe(store.error());
    const RetentionSettings settings{.keep = 1, .keep_days = {}, .keep_per_stage = {}};
    const auto report = (*store)->prune(run, settings, PruneMode::remove);
    ASSERT_TRUE(report) << blocks << " blocks, " << saved << " saves: " << describe(report.error());
    EXPECT_EQ(report->kept, 1U);
    EXPECT_TRUE((*store)->restore(run, {}));
  }
}

}  // namespace
}  // namespace pawl::testing
