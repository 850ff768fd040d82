// The contract in the header of the file system port, tested on the real disk, on the simulation and through the
// decorator. All must behave alike; otherwise tests on the simulation prove nothing.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "adapters/posix/posix_file_system.hpp"
#include "testing/checking_file_system.hpp"
#include "testing/sim_file_system.hpp"

namespace pawl::testing {
namespace {

/// A file system and everything that it depends on.
struct Provider {
  virtual ~Provider() = default;
  virtual FileSystem& fs() = 0;
};

struct PosixProvider final : Provider {
  PosixProvider() {
    std::string path = (std::filesystem::temp_directory_path() / "pawl_contract_XXXXXX").string();
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    root = path;
    posix = std::move(*PosixFileSystem::open(root));
  }
  ~PosixProvider() override { std::filesystem::remove_all(root); }
  FileSystem& fs() override { return *posix; }
  std::string root;
  std::unique_ptr<PosixFileSystem> posix;
};

struct SimProvider final : Provider {
  FileSystem& fs() override { return sim; }
  SimDisk disk{1};
  SimFileSystem sim{disk};
};

struct CheckingProvider final : Provider {
  FileSystem& fs() override { return checking; }
  SimDisk disk{1};
  SimFileSystem sim{disk};
  CheckingFileSystem checking{sim};
};

class FileSystemContract : public ::testing::TestWithParam<std::string> {
 protected:
  FileSystemContract() {
    if (GetParam() == "posix") provider_ = std::make_unique<PosixProvider>();
    if (GetParam() == "sim") provider_ = std::make_unique<SimProvider>();
    if (GetParam() == "checking") provider_ = std::make_unique<CheckingProvider>();
  }
  FileSystem& fs() { return provider_->fs(); }
  std::unique_ptr<File> open(std::string_view path, OpenMode mode) {
    auto file = fs().open(path, mode);
    EXPECT_TRUE(file.has_value()) << path;
    return std::move(*file);
  }
  void put(std::string_view path, std::string_view bytes) {
    ASSERT_TRUE(open(path, OpenMode::create_empty)->write_at(0, bytes).has_value());
  }
  std::vector<std::string> names(std::string_view folder) {
    std::vector<std::string> found;
    const auto entries = fs().list(folder).value();
    for (const FolderEntry& entry : entries) found.push_back(entry.name + (entry.is_folder ? "/" : ""));
    std::ranges::sort(found);
    return found;
  }
  template <class T>
  static Code code(const Result<T>& result) {
    return result ? Code{} : result.error().code;
  }

  std::unique_ptr<Provider> provider_;
};

using Names = std::vector<std::string>;

TEST_P(FileSystemContract, OpeningWhatIsMissingIsInputUnreadableUnlessItIsCreated) {
  EXPECT_EQ(code(fs().open("a", OpenMode::read)), Code::input_unreadable);
  EXPECT_EQ(code(fs().open("a", OpenMode::write)), Code::input_unreadable);
  EXPECT_EQ(code(fs().open("folder/a", OpenMode::read)), Code::input_unreadable);
  EXPECT_EQ(code(fs().open("folder/a", OpenMode::create)), Code::write_failed);
  EXPECT_FALSE(fs().exists("a").value());
  EXPECT_EQ(open("a", OpenMode::create)->size().value(), 0U);
  EXPECT_TRUE(fs().exists("a").value());
}

TEST_P(FileSystemContract, CreateKeepsAndCreateEmptyEmpties) {
  put("a", "abc");
  EXPECT_EQ(open("a", OpenMode::create)->read_at(0, 9).value(), "abc");
  EXPECT_EQ(open("a", OpenMode::write)->read_at(0, 9).value(), "abc");
  EXPECT_EQ(open("a", OpenMode::create_empty)->read_at(0, 9).value(), "");
}

TEST_P(FileSystemContract, ReadsAreShortOnlyAtTheEnd) {
  put("a", "0123456789");
  auto file = open("a", OpenMode::read);
  EXPECT_EQ(file->read_at(2, 3).value(), "234");
  EXPECT_EQ(file->read_at(8, 5).value(), "89");
  EXPECT_EQ(file->read_at(10, 5).value(), "");
  EXPECT_EQ(file->read_at(50, 5).value(), "");
  EXPECT_EQ(fs().read_file("a").value(), "0123456789");
  EXPECT_EQ(code(fs().read_file("a", 9)), Code::store_damaged);
}

TEST_P(FileSystemContract, ReadsReturnAtMostWhatWasAskedFor) {
  put("a", std::string(200, 'x'));
  const auto file = open("a", OpenMode::read);
  for (std::uint64_t size = 0; size <= 100; ++size) EXPECT_EQ(file->read_at(3, size)->size(), size);
}

TEST_P(FileSystemContract, SharedLocksExcludeOnlyExclusiveOnes) {
  const auto one = open("a", OpenMode::create);
  const auto two = open("a", OpenMode::write);
  EXPECT_TRUE(one->try_lock_shared(7).value());
  EXPECT_TRUE(two->try_lock_shared(7).value());
  EXPECT_FALSE(two->try_lock(7).value());
  EXPECT_TRUE(one->locked_elsewhere(7).value());
  ASSERT_TRUE(one->unlock(7));
  EXPECT_TRUE(two->try_lock(7).value()) << "a shared lock becomes an exclusive one";
  EXPECT_FALSE(one->try_lock_shared(7).value());
  EXPECT_TRUE(two->try_lock_shared(7).value()) << "and the other way round";
  EXPECT_TRUE(one->try_lock_shared(7).value());
}

TEST_P(FileSystemContract, WritesOverwriteAndExtendAndGapsAreZeros) {
  auto file = open("a", OpenMode::create);
  ASSERT_TRUE(file->write_at(0, "aaaa").has_value());
  ASSERT_TRUE(file->write_at(2, "bb!").has_value());
  ASSERT_TRUE(file->write_at(8, "c").has_value());
  EXPECT_EQ(file->read_at(0, 20).value(), std::string("aabb!\0\0\0c", 9));
  ASSERT_TRUE(file->write_at(100, "").has_value());
  EXPECT_EQ(file->size().value(), 9U);
}

TEST_P(FileSystemContract, ResizeCutsAndFillsWithZeros) {
  auto file = open("a", OpenMode::create);
  ASSERT_TRUE(file->write_at(0, "abcdef").has_value());
  ASSERT_TRUE(file->resize(2).has_value());
  ASSERT_TRUE(file->resize(4).has_value());
  EXPECT_EQ(file->read_at(0, 20).value(), std::string("ab\0\0", 4));
}

TEST_P(FileSystemContract, AFileForReadingIsNotWritten) {
  put("a", "abc");
  auto file = open("a", OpenMode::read);
  EXPECT_EQ(code(file->write_at(0, "x")), Code::write_failed);
  EXPECT_EQ(code(file->resize(0)), Code::write_failed);
  EXPECT_EQ(code(file->try_lock(0)), Code::write_failed);
  EXPECT_EQ(fs().read_file("a").value(), "abc");
}

TEST_P(FileSystemContract, FoldersAreMadeOnceAndNeedTheirParent) {
  EXPECT_TRUE(fs().make_folder("f").value());
  EXPECT_FALSE(fs().make_folder("f").value());
  EXPECT_TRUE(fs().make_folder("f/g").value());
  EXPECT_EQ(code(fs().make_folder("x/y")), Code::write_failed);
  put("f/a", "1");
  EXPECT_EQ(names("f"), (Names{"a", "g/"}));
  EXPECT_EQ(names(""), (Names{"f/"}));
  EXPECT_EQ(names("missing"), Names{});
}

TEST_P(FileSystemContract, AFileInAFoldersPlaceIsAnErrorAndNotMissing) {
  put("a", "1");
  EXPECT_EQ(code(fs().make_folder("a")), Code::write_failed);
  EXPECT_EQ(code(fs().list("a")), Code::store_damaged);
  EXPECT_EQ(code(fs().open("a/b", OpenMode::read)), Code::store_damaged);
  EXPECT_EQ(code(fs().open("a/b", OpenMode::create)), Code::store_damaged);
  EXPECT_EQ(code(fs().remove("a/b")), Code::write_failed);
  EXPECT_EQ(code(fs().sync_folder("a", SyncPoint::blob_name)), Code::outcome_unknown);
  EXPECT_FALSE(fs().exists("a/b").value());
}

TEST_P(FileSystemContract, AFolderInAFilesPlaceIsAnError) {
  ASSERT_TRUE(fs().make_folder("f").has_value());
  EXPECT_EQ(code(fs().open("f", OpenMode::read)), Code::store_damaged);
  EXPECT_EQ(code(fs().open("f", OpenMode::create)), Code::store_damaged);
}

TEST_P(FileSystemContract, AFolderIsRemovedOnlyWhereItIsEmpty) {
  ASSERT_TRUE(fs().make_folder("f").has_value());
  put("f/a", "1");
  EXPECT_EQ(code(fs().remove("f")), Code::write_failed);
  EXPECT_EQ(fs().read_file("f/a").value(), "1");
  ASSERT_TRUE(fs().remove("f/a").has_value());
  EXPECT_TRUE(fs().remove("f").has_value());
  EXPECT_EQ(names(""), Names{});
  EXPECT_TRUE(fs().make_folder("f").value());
}

TEST_P(FileSystemContract, RenameReplacesAndNeedsItsSource) {
  put("a", "new");
  put("b", "old");
  auto old = open("b", OpenMode::read);
  ASSERT_TRUE(fs().rename("a", "b").has_value());
  EXPECT_EQ(names(""), (Names{"b"}));
  EXPECT_EQ(fs().read_file("b").value(), "new");
  EXPECT_EQ(old->read_at(0, 9).value(), "old");
  EXPECT_EQ(code(fs().rename("a", "b")), Code::rename_failed);
  EXPECT_EQ(code(fs().rename("b", "missing/b")), Code::rename_failed);
  EXPECT_TRUE(fs().rename("b", "b").has_value());
  EXPECT_EQ(fs().read_file("b").value(), "new");
}

TEST_P(FileSystemContract, RenameMovesBetweenFoldersAndRenamesFolders) {
  ASSERT_TRUE(fs().make_folder("f").has_value());
  put("a", "1");
  ASSERT_TRUE(fs().rename("a", "f/b").has_value());
  ASSERT_TRUE(fs().rename("f", "g").has_value());
  EXPECT_EQ(fs().read_file("g/b").value(), "1");
  EXPECT_EQ(names(""), (Names{"g/"}));
  put("c", "2");
  EXPECT_EQ(code(fs().rename("c", "g")), Code::rename_failed);
  EXPECT_EQ(code(fs().rename("g", "c")), Code::rename_failed);
}

TEST_P(FileSystemContract, RemovingIsFineWithWhatIsMissingAndKeepsOpenFiles) {
  put("a", "1");
  auto file = open("a", OpenMode::read);
  EXPECT_TRUE(fs().remove("a").has_value());
  EXPECT_TRUE(fs().remove("a").has_value());
  EXPECT_TRUE(fs().remove("missing/a").has_value());
  EXPECT_FALSE(fs().exists("a").value());
  EXPECT_EQ(file->read_at(0, 9).value(), "1");
}

TEST_P(FileSystemContract, SyncsSucceed) {
  auto file = open("a", OpenMode::create);
  EXPECT_TRUE(file->sync(SyncPoint::store_file).has_value());
  EXPECT_TRUE(fs().sync_folder("", SyncPoint::side_name).has_value());
  EXPECT_TRUE(fs().sync_all(SyncPoint::published_all).has_value());
  EXPECT_EQ(code(fs().sync_folder("missing", SyncPoint::side_name)), Code::outcome_unknown);
}

TEST_P(FileSystemContract, ALockExcludesOtherOpenFilesByteByByte) {
  auto one = open("lock", OpenMode::create);
  auto two = open("lock", OpenMode::write);
  EXPECT_TRUE(one->try_lock(5).value());
  EXPECT_TRUE(one->try_lock(5).value());
  EXPECT_FALSE(two->try_lock(5).value());
  EXPECT_TRUE(two->try_lock(6).value());
  EXPECT_TRUE(two->locked_elsewhere(5).value());
  EXPECT_FALSE(one->locked_elsewhere(5).value());
  EXPECT_TRUE(two->unlock(5).has_value());
  EXPECT_TRUE(two->locked_elsewhere(5).value());
  EXPECT_TRUE(one->unlock(5).has_value());
  EXPECT_FALSE(two->locked_elsewhere(5).value());
  EXPECT_TRUE(two->try_lock(5).value());
}

TEST_P(FileSystemContract, ClosingReleasesThatFilesLocksOnly) {
  auto one = open("lock", OpenMode::create);
  auto two = open("lock", OpenMode::write);
  auto three = open("lock", OpenMode::read);
  ASSERT_TRUE(one->try_lock(1).value());
  ASSERT_TRUE(two->try_lock(2).value());
  two.reset();
  EXPECT_TRUE(three->locked_elsewhere(1).value());
  EXPECT_FALSE(three->locked_elsewhere(2).value());
}

TEST_P(FileSystemContract, SyncMayRunBesideWriting) {
  auto file = open("a", OpenMode::create);
  bool synced = true;
  {
    const std::jthread syncer([&] {
      for (int i = 0; i < 20; ++i) synced = file->sync(SyncPoint::journal_batch).has_value() && synced;
    });
    for (std::uint64_t i = 0; i < 200; ++i) ASSERT_TRUE(file->write_at(i * 100, std::string(100, 'x')).has_value());
  }
  EXPECT_TRUE(synced);
  EXPECT_EQ(file->read_at(0, 1 << 20).value(), std::string(20000, 'x'));
}

INSTANTIATE_TEST_SUITE_P(On, FileSystemContract, ::testing::Values("posix", "sim", "checking"),
                         [](const auto& provider) { return provider.param; });

}  // namespace
}  // namespace pawl::testing
