// A rebuild of the catalogue on a disk that reports errors fails, and drops nothing.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <set>

#include "adapters/posix/posix_file_system.hpp"
#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

constexpr std::uint64_t kRuns = 4;

class RebuildFaults : public ::testing::Test {
 protected:
  static FilesystemOptions options() {
    FilesystemOptions options = small_options();
    options.catalogue = true;
    return options;
  }
  Environment environment(const std::string& boot) { return {&clock_, &random_, sim_owner(boot, ++pids_)}; }

  void fill(FilesystemStore& store) {
    for (std::uint64_t run = 0; run < kRuns; ++run) {
      const auto writer = store.open_run(*RunId::parse(name(run)), {});
      ASSERT_TRUE(writer) << describe(writer.error());
      for (std::uint64_t number = 1; number <= 3; ++number) {
        ASSERT_TRUE(
            (*writer)->save({.body = fmt::format(R"({{"n":{}}})", number), .caller_id = fmt::format("id-{}", number)}));
      }
    }
    ASSERT_TRUE(store.settle_all());
  }

  static std::string name(std::uint64_t run) { return fmt::format("run-{}", run); }

  /// Every run is listed, and every caller's id is known.
  static void expect_all(FilesystemStore& store, const std::string& when) {
    const auto runs = store.runs(100);
    ASSERT_TRUE(runs) << when << ": " << describe(runs.error());
    EXPECT_EQ(runs->size(), kRuns) << when;
    for (std::uint64_t run = 0; run < kRuns; ++run) {
      const auto writer = store.open_run(*RunId::parse(name(run)), {});
      ASSERT_TRUE(writer) << describe(writer.error());
      const auto saved = (*writer)->save({.body = R"({"n":2})", .caller_id = "id-2"});
      ASSERT_TRUE(saved) << when << ": " << describe(saved.error());
      EXPECT_EQ(saved->outcome, Saved::Outcome::repeated) << when << ", " << name(run);
    }
  }

  ManualClock clock_;
  SeededRandom random_{7};
  std::uint64_t pids_ = 10;
};

TEST_F(RebuildFaults, AnIoErrorAtAnyCallStopsIt) {
  SimDisk disk{7};
  {
    SimFileSystem files(disk);
    fill(**FilesystemStore::open(files, environment(disk.boot_id()), options()));
    if (HasFatalFailure()) return;
    ASSERT_TRUE(files.remove("catalogue.db"));
  }
  std::uint64_t failed = 0;
  for (std::uint64_t nth = 1;; ++nth) {
    const auto copy = disk.copy();
    SimFileSystem files(*copy);
    auto store = FilesystemStore::open(files, environment(copy->boot_id()), options());
    ASSERT_TRUE(store);
    files.inject({.what = Fault::eio, .nth = files.fallible_calls() + nth});
    const auto rebuilt = (*store)->rebuild_catalogue();
    const bool fired = files.faults_fired() > 0;
    if (!rebuilt) ++failed;
    store->reset();
    SimFileSystem after(*copy);
    const auto reader = FilesystemStore::open(after, environment(copy->boot_id()), options());
    ASSERT_TRUE(reader);
    expect_all(**reader, fmt::format("call {}, which {}", nth, rebuilt ? "was survived" : "failed"));
    if (HasFailure() || !fired) break;
  }
  EXPECT_GT(failed, 20U);
}

TEST_F(RebuildFaults, KeepsCallersWhenTheEndOfAFileIsTorn) {
  SimDisk disk{8};
  SimFileSystem files(disk);
  {
    auto store = FilesystemStore::open(files, environment(disk.boot_id()), options());
    fill(**store);
    const auto writer = (*store)->open_run(*RunId::parse(name(0)), {});
    ASSERT_TRUE(writer && (*writer)->save({.body = R"({"n":4})", .caller_id = "id-4"}));
    ASSERT_TRUE((*store)->publish_lazily());
  }
  const std::string path = "runs/run-0/checkpoints/checkpoint_00001.jsonl";
  const auto file = files.open(path, OpenMode::write);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->resize(*(*file)->size() - 10));
  ASSERT_TRUE(files.remove("catalogue.db"));
  const auto store = FilesystemStore::open(files, environment(disk.boot_id()), options());
  expect_all(**store, "with a torn file");
  const auto writer = (*store)->open_run(*RunId::parse(name(0)), {});
  ASSERT_TRUE(writer) << describe(writer.error());
  const auto saved = (*writer)->save({.body = R"({"n":4})", .caller_id = "id-4"});
  ASSERT_TRUE(saved) << describe(saved.error());
  EXPECT_EQ(saved->outcome, Saved::Outcome::repeated);
}

/// With fewer and fewer descriptors, on a real disk.
TEST_F(RebuildFaults, TooFewDescriptorsStopIt) {
  std::string pattern = (std::filesystem::temp_directory_path() / "pawl-rebuild-XXXXXX").string();
  const std::string folder = mkdtemp(pattern.data());
  const auto open = [&] {
    return std::move(*FilesystemStore::open(std::move(*PosixFileSystem::open(folder)), environment("boot"), options()));
  };
  fill(*open());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  std::uint64_t failed = 0;
  for (rlim_t limit = 4; limit < 40 && !HasFailure(); ++limit) {
    std::filesystem::remove(folder + "/catalogue.db");
    auto store = open();
    rlimit low = before;
    low.rlim_cur = limit;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    const auto rebuilt = store->rebuild_catalogue();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    if (!rebuilt) ++failed;
    store.reset();
    expect_all(*open(), fmt::format("{} descriptors, {}", limit, rebuilt ? "rebuilt" : "failed"));
  }
  EXPECT_GT(failed, 0U);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

/// A store that is moved while it is open keeps writing to its own folder.
TEST_F(RebuildFaults, AMovedFolderNeverWritesIntoTheStoreAtItsOldPlace) {
  std::string pattern = (std::filesystem::temp_directory_path() / "pawl-moved-XXXXXX").string();
  const std::string folder = mkdtemp(pattern.data());
  const std::string place = folder + "/store";
  const auto open = [&](const std::string& path) {
    std::filesystem::create_directory(path);
    return std::move(*FilesystemStore::open(std::move(*PosixFileSystem::open(path)), environment("boot"), options()));
  };
  const auto save = [](FilesystemStore& store, const std::string& run) {
    const auto writer = store.open_run(*RunId::parse(run), {});
    ASSERT_TRUE(writer) << describe(writer.error());
    ASSERT_TRUE((*writer)->save({.body = "{}", .caller_id = "c", .duplicates = Duplicates::write}));
  };
  auto first = open(place);
  save(*first, "first");
  std::filesystem::rename(place, folder + "/moved");
  auto second = open(place);
  save(*second, "second");
  save(*first, "later");
  ASSERT_TRUE(first->settle_all());
  ASSERT_TRUE(first->rebuild_catalogue());
  ASSERT_TRUE(second->settle_all());
  const auto names = [](FilesystemStore& store) {
    std::set<std::string> found;
    const auto runs = store.runs(10);
    if (runs) {
      for (const RunInfo& run : *runs) found.insert(run.id.text());
    }
    return found;
  };
  EXPECT_EQ(names(*second), std::set<std::string>{"second"});
  EXPECT_EQ(names(*first), (std::set<std::string>{"first", "later"}));
  first.reset();
  second.reset();
  EXPECT_EQ(names(*open(place)), std::set<std::string>{"second"});
  EXPECT_EQ(names(*open(folder + "/moved")), (std::set<std::string>{"first", "later"}));
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace
}  // namespace pawl::testing
