// What power loss may and may not do on the simulated disk. Possible outcomes are tested, too: one that never occurred
// would make every test on the simulation weaker than it looks.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "testing/sim_file_system.hpp"

namespace pawl::testing {
namespace {

constexpr auto kSynced = SyncPoint::journal_batch;

std::unique_ptr<File> open_on(FileSystem& fs, std::string_view path, OpenMode mode = OpenMode::create) {
  auto file = fs.open(path, mode);
  EXPECT_TRUE(file.has_value()) << path;
  return std::move(*file);
}

void put(FileSystem& fs, std::string_view path, std::string_view bytes) {
  ASSERT_TRUE(open_on(fs, path, OpenMode::create_empty)->write_at(0, bytes).has_value());
}

void put_synced(FileSystem& fs, std::string_view path, std::string_view bytes) {
  put(fs, path, bytes);
  ASSERT_TRUE(fs.sync_all(kSynced).has_value());
}

/// Returns the file's bytes as a new process sees them; "-" if it does not exist.
std::string content(SimDisk& disk, std::string_view path) {
  SimFileSystem fs(disk);
  return fs.read_file(path).value_or("-");
}

/// Returns how often each outcome occurs in many losses from the same history.
std::map<std::string, int> outcomes(const std::function<void(SimFileSystem&)>& history,
                                    const std::function<std::string(SimDisk&)>& outcome, int seeds = 400) {
  std::map<std::string, int> counts;
  for (int seed = 1; seed <= seeds; ++seed) {
    SimDisk disk(static_cast<std::uint64_t>(seed));
    {
      SimFileSystem fs(disk);
      history(fs);
    }
    disk.power_loss();
    ++counts[outcome(disk)];
  }
  return counts;
}

std::set<std::string> keys(const std::map<std::string, int>& counts) {
  std::set<std::string> all;
  for (const auto& [key, count] : counts) all.insert(key);
  return all;
}

using Outcomes = std::set<std::string>;

TEST(SimPowerLoss, WhatWasSyncedSurvivesEveryLoss) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        auto file = open_on(fs, "a");
        ASSERT_TRUE(file->write_at(0, std::string(3000, 'x')).has_value());
        ASSERT_TRUE(file->sync(kSynced).has_value());
        ASSERT_TRUE(fs.sync_folder("", kSynced).has_value());
      },
      [](SimDisk& disk) { return content(disk, "a"); });
  EXPECT_EQ(keys(counts), Outcomes{std::string(3000, 'x')});
}

TEST(SimPowerLoss, ASyncedFileWithoutASyncedNameMayBeGone) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        auto file = open_on(fs, "a");
        ASSERT_TRUE(file->write_at(0, "x").has_value());
        ASSERT_TRUE(file->sync(kSynced).has_value());
      },
      [](SimDisk& disk) { return content(disk, "a"); });
  EXPECT_EQ(keys(counts), (Outcomes{"-", "x"}));
}

TEST(SimPowerLoss, AFileInAFolderWhoseNameWasNotSyncedMayBeGone) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        ASSERT_TRUE(fs.make_folder("f").has_value());
        auto file = open_on(fs, "f/a");
        ASSERT_TRUE(file->write_at(0, "x").has_value());
        ASSERT_TRUE(file->sync(kSynced).has_value());
        ASSERT_TRUE(fs.sync_folder("f", kSynced).has_value());
      },
      [](SimDisk& disk) { return content(disk, "f/a"); });
  EXPECT_EQ(keys(counts), (Outcomes{"-", "x"}));
}

TEST(SimPowerLoss, ASyncedNameOfAnUnsyncedFileMayHaveAnySizeAndZerosForBytes) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        put(fs, "a", std::string(700, 'x'));
        ASSERT_TRUE(fs.sync_folder("", kSynced).has_value());
      },
      [](SimDisk& disk) { return content(disk, "a"); });
  const auto x = [](std::size_t n) { return std::string(n, 'x'); };
  const auto zeros = [](std::size_t n) { return std::string(n, '\0'); };
  for (const std::string& possible : {x(0), x(512), x(700), zeros(700), x(512) + zeros(188), zeros(512) + x(188)}) {
    EXPECT_TRUE(counts.contains(possible)) << possible.size();
  }
  EXPECT_FALSE(counts.contains("-"));
}

TEST(SimPowerLoss, SectorsSurviveIndependentlyAndWhole) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        put_synced(fs, "a", std::string(4 * kSectorBytes, 'o'));
        ASSERT_TRUE(open_on(fs, "a")->write_at(0, std::string(4 * kSectorBytes, 'n')).has_value());
      },
      [](SimDisk& disk) {
        const std::string bytes = content(disk, "a");
        std::string pattern;
        for (std::size_t i = 0; i < 4; ++i) {
          const std::string sector = bytes.substr(i * kSectorBytes, kSectorBytes);
          EXPECT_EQ(sector, std::string(kSectorBytes, sector[0]));
          pattern += sector[0];
        }
        return pattern;
      },
      2000);
  EXPECT_EQ(counts.size(), 16U);
}

TEST(SimPowerLoss, ASectorMayKeepAnIntermediateVersion) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        put_synced(fs, "a", "0");
        auto file = open_on(fs, "a");
        for (const char* version : {"1", "2", "3"}) ASSERT_TRUE(file->write_at(0, version).has_value());
      },
      [](SimDisk& disk) { return content(disk, "a"); });
  EXPECT_EQ(keys(counts), (Outcomes{"0", "1", "2", "3"}));
}

TEST(SimPowerLoss, AShrunkAndRegrownFileMayShowItsOldBytes) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        put_synced(fs, "a", "abcd");
        auto file = open_on(fs, "a");
        ASSERT_TRUE(file->resize(2).has_value());
        ASSERT_TRUE(file->write_at(2, "XY").has_value());
      },
      [](SimDisk& disk) { return content(disk, "a"); });
  EXPECT_TRUE(counts.contains("abcd"));
  EXPECT_TRUE(counts.contains("abXY"));
  EXPECT_TRUE(counts.contains("ab"));
}

TEST(SimPowerLoss, AShrunkFileMayHaveItsOldSizeWithItsEndZeroed) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        put_synced(fs, "a", "abcd");
        ASSERT_TRUE(open_on(fs, "a")->resize(2).has_value());
      },
      [](SimDisk& disk) { return content(disk, "a"); });
  EXPECT_EQ(keys(counts), (Outcomes{"abcd", "ab", std::string("ab\0\0", 4)}));
}

TEST(SimPowerLoss, AResizeAndResyncLeavesExactlyThat) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        put_synced(fs, "a", std::string(2000, 'x'));
        auto file = open_on(fs, "a");
        ASSERT_TRUE(file->resize(3).has_value());
        ASSERT_TRUE(file->resize(600).has_value());
        ASSERT_TRUE(file->sync(kSynced).has_value());
      },
      [](SimDisk& disk) { return content(disk, "a"); });
  EXPECT_EQ(keys(counts), Outcomes{"xxx" + std::string(597, '\0')});
}

TEST(SimPowerLoss, ARemovedFileMayBeBack) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        put_synced(fs, "a", "x");
        ASSERT_TRUE(fs.remove("a").has_value());
      },
      [](SimDisk& disk) { return content(disk, "a"); });
  EXPECT_EQ(keys(counts), (Outcomes{"-", "x"}));
}

std::string both_names(SimDisk& disk) { return content(disk, "from") + "," + content(disk, "to"); }

TEST(SimPowerLoss, ARenameIsAtomicForItsTargetAndNeverLosesTheFile) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        put_synced(fs, "from", "new");
        put_synced(fs, "to", "old");
        ASSERT_TRUE(fs.rename("from", "to").has_value());
      },
      both_names);
  EXPECT_EQ(keys(counts), (Outcomes{"new,old", "-,new", "new,new"}));
}

TEST(SimPowerLoss, ARenameIsDurableAfterTheFoldersSync) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        put_synced(fs, "from", "new");
        ASSERT_TRUE(fs.rename("from", "to").has_value());
        ASSERT_TRUE(fs.sync_folder("", kSynced).has_value());
      },
      both_names);
  EXPECT_EQ(keys(counts), Outcomes{"-,new"});
}

TEST(SimPowerLoss, RenamingAnUnsyncedFileMayLeaveAnEmptyTarget) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        put_synced(fs, "to", "old");
        put(fs, "from", "new");
        ASSERT_TRUE(fs.rename("from", "to").has_value());
      },
      both_names);
  EXPECT_TRUE(counts.contains("-,"));
  EXPECT_TRUE(counts.contains("-,new"));
  EXPECT_TRUE(counts.contains("-,old"));
  EXPECT_FALSE(counts.contains("-,-"));
}

TEST(SimPowerLoss, AMoveBetweenFoldersNeverLosesTheFileWhicheverFolderWasSynced) {
  for (const std::string synced : {"none", "f", "g"}) {
    const auto counts = outcomes(
        [&](SimFileSystem& fs) {
          ASSERT_TRUE(fs.make_folder("f").has_value());
          ASSERT_TRUE(fs.make_folder("g").has_value());
          put_synced(fs, "f/a", "x");
          ASSERT_TRUE(fs.rename("f/a", "g/a").has_value());
          if (synced != "none") {
            ASSERT_TRUE(fs.sync_folder(synced, kSynced).has_value());
          }
        },
        [](SimDisk& disk) { return content(disk, "f/a") + "," + content(disk, "g/a"); });
    if (synced == "none") {
      EXPECT_EQ(keys(counts), (Outcomes{"x,-", "-,x", "x,x"}));
    }
    if (synced == "f") {
      EXPECT_EQ(keys(counts), (Outcomes{"-,x"}));
    }
    if (synced == "g") {
      EXPECT_EQ(keys(counts), (Outcomes{"-,x", "x,x"}));
    }
  }
}

TEST(SimPowerLoss, ARenamedFolderHasExactlyOneOfItsNames) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        ASSERT_TRUE(fs.make_folder("f").has_value());
        put_synced(fs, "f/a", "x");
        ASSERT_TRUE(fs.rename("f", "g").has_value());
        ASSERT_TRUE(fs.rename("g", "h").has_value());
      },
      [](SimDisk& disk) { return content(disk, "f/a") + content(disk, "g/a") + content(disk, "h/a"); });
  EXPECT_EQ(keys(counts), (Outcomes{"x--", "-x-", "--x"}));
}

TEST(SimPowerLoss, NamesOfOneFolderSurviveIndependently) {
  const auto counts = outcomes(
      [](SimFileSystem& fs) {
        put(fs, "a", "");
        put(fs, "b", "");
      },
      [](SimDisk& disk) { return content(disk, "a") + "," + content(disk, "b"); });
  EXPECT_EQ(keys(counts), (Outcomes{",", ",-", "-,", "-,-"}));
}

TEST(SimPowerLoss, KeepAllAndDropAllAreTheEnds) {
  for (const Loss loss : {Loss::keep_all, Loss::drop_all}) {
    SimDisk disk(1);
    SimFileSystem fs(disk);
    put_synced(fs, "a", "old");
    put_synced(fs, "gone", "1");
    put(fs, "a", "newer");
    put(fs, "b", "b");
    ASSERT_TRUE(fs.remove("gone").has_value());
    ASSERT_TRUE(fs.rename("b", "c").has_value());
    disk.power_loss(loss);
    const bool kept = loss == Loss::keep_all;
    EXPECT_EQ(content(disk, "a"), kept ? "newer" : "old");
    EXPECT_EQ(content(disk, "c"), kept ? "b" : "-");
    EXPECT_EQ(content(disk, "gone"), kept ? "-" : "1");
    EXPECT_EQ(content(disk, "b"), "-");
  }
}

TEST(SimPowerLoss, EndsProcessesAndLocksAndStartsTheMachineAnew) {
  SimDisk disk(1);
  SimFileSystem before(disk);
  auto file = open_on(before, "a");
  ASSERT_TRUE(before.sync_all(kSynced).has_value());
  ASSERT_TRUE(file->try_lock(0).value());
  const std::string boot = disk.boot_id();
  disk.power_loss();
  EXPECT_NE(disk.boot_id(), boot);
  EXPECT_TRUE(before.died());
  EXPECT_FALSE(file->write_at(0, "x").has_value());
  EXPECT_FALSE(before.exists("a").has_value());
  SimFileSystem after(disk);
  auto again = open_on(after, "a");
  EXPECT_FALSE(again->locked_elsewhere(0).value());
  EXPECT_TRUE(again->try_lock(0).value());
  file.reset();
  EXPECT_TRUE(open_on(after, "a")->locked_elsewhere(0).value());
}

TEST(SimPowerLoss, TheSameSeedGivesTheSameLoss) {
  const auto run = [](std::uint64_t seed) {
    SimDisk disk(seed);
    SimFileSystem fs(disk);
    for (const char* name : {"a", "b", "c", "d"}) put(fs, name, std::string(5000, 'x'));
    disk.power_loss();
    std::string all;
    for (const char* name : {"a", "b", "c", "d"}) all += content(disk, name) + "|";
    return all;
  };
  std::set<std::string> different;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(run(seed), run(seed));
    different.insert(run(seed));
  }
  EXPECT_GT(different.size(), 10U);
}

/// Returns whether each sector of `left` equals that of some version (a version reads as zeros after its end).
bool made_of_sectors_of(const std::vector<std::string>& versions, const std::string& left) {
  for (std::size_t start = 0; start < left.size(); start += kSectorBytes) {
    const std::string sector = left.substr(start, kSectorBytes);
    bool known = false;
    for (const std::string& version : versions) {
      std::string old = start < version.size() ? version.substr(start, sector.size()) : std::string();
      old.resize(sector.size());
      known = known || old == sector;
    }
    if (!known) return false;
  }
  return true;
}

/// Compares random writes, resizes and syncs with a plain model.
struct RandomHistory {
  explicit RandomHistory(std::uint64_t seed) : random(seed), disk(seed), fs(disk), file(open_on(fs, "a")) {
    EXPECT_TRUE(fs.sync_folder("", kSynced).has_value());
    const std::uint64_t steps = random.below(12);
    for (std::uint64_t i = 0; i < steps; ++i) step();
  }
  void step() {
    std::string now = versions.back();
    switch (random.below(8)) {
      case 0:
        EXPECT_TRUE(file->sync(kSynced).has_value());
        versions = {now};
        return;
      case 1:
        now.resize(random.below(3000));
        EXPECT_TRUE(file->resize(now.size()).has_value());
        break;
      default: {
        const std::string bytes(1 + random.below(1200), static_cast<char>('a' + random.below(26)));
        const std::uint64_t offset = random.below(2500);
        now.resize(std::max<std::size_t>(now.size(), offset + bytes.size()));
        now.replace(offset, bytes.size(), bytes);
        EXPECT_TRUE(file->write_at(offset, bytes).has_value());
      }
    }
    versions.push_back(now);
    EXPECT_EQ(file->read_at(0, 10000).value(), now);
  }
  SeededRandom random;
  SimDisk disk;
  SimFileSystem fs;
  std::unique_ptr<File> file;
  std::vector<std::string> versions = {""};  // the synced version first
};

TEST(SimPowerLoss, AnyHistoryLeavesSectorsOfItsVersionsOnly) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomHistory history(seed);
    const auto dropped = history.disk.copy();
    dropped->power_loss(Loss::drop_all);
    EXPECT_EQ(dropped->cached_file("a"), history.versions.front()) << seed;
    const auto kept = history.disk.copy();
    kept->power_loss(Loss::keep_all);
    EXPECT_EQ(kept->cached_file("a"), history.versions.back()) << seed;
    history.disk.power_loss();
    EXPECT_TRUE(made_of_sectors_of(history.versions, history.disk.cached_file("a").value())) << seed;
    EXPECT_EQ(history.disk.cached_file("a"), history.disk.durable_file("a"));
  }
}

TEST(SimDisk, ACopyGoesItsOwnWayAndLosesWhatTheOriginalCould) {
  SimDisk disk(1);
  SimFileSystem fs(disk);
  ASSERT_TRUE(fs.make_folder("f").has_value());
  put_synced(fs, "f/a", "old");
  put(fs, "f/b", "new");
  ASSERT_TRUE(fs.rename("f/b", "f/a").has_value());
  Outcomes found;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto copy = disk.copy();
    EXPECT_EQ(copy->cached_file("f/a"), "new");
    EXPECT_EQ(copy->durable_file("f/a"), "old");
    copy->reseed(seed);
    copy->power_loss();
    found.insert(content(*copy, "f/a"));
  }
  EXPECT_TRUE(found.contains("old"));
  EXPECT_TRUE(found.contains("new"));
  EXPECT_FALSE(found.contains("-"));
  EXPECT_EQ(disk.cached_file("f/a"), "new");
  EXPECT_FALSE(fs.died());
}

}  // namespace
}  // namespace pawl::testing
