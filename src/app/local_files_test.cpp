#include "app/local_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace pawl {
namespace {

class LocalFilesTest : public ::testing::Test {
 protected:
  LocalFilesTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-local-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~LocalFilesTest() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::ptrdiff_t entries() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

  std::filesystem::path folder_;
};

TEST_F(LocalFilesTest, WhatIsWrittenIsReadBack) {
  const std::string bytes(300'000, 'x');
  ASSERT_TRUE(write_local_file(path("f"), bytes));
  EXPECT_EQ(*read_local_file(path("f"), 300'000), bytes);
  ASSERT_TRUE(write_local_file(path("f"), "short"));
  EXPECT_EQ(*read_local_file(path("f"), 5), "short");
  EXPECT_EQ(entries(), 1) << "a temporary file was left behind";
}

TEST_F(LocalFilesTest, AFileBeyondTheLimitIsTooLarge) {
  ASSERT_TRUE(write_local_file(path("f"), "123456"));
  EXPECT_EQ(read_local_file(path("f"), 5).error().code, Code::state_too_large);
  EXPECT_EQ(read_local_file("/dev/zero", 1000).error().code, Code::state_too_large);
}

TEST_F(LocalFilesTest, WhatCannotBeReadIsNamed) {
  EXPECT_EQ(read_local_file(path("missing"), 10).error().code, Code::input_unreadable);
  EXPECT_EQ(read_local_file(path("missing"), 10).error().where, path("missing"));
  EXPECT_EQ(read_local_file(folder_.string(), 10).error().code, Code::input_unreadable);
}

TEST_F(LocalFilesTest, AFailedWriteLeavesTheOldFile) {
  EXPECT_EQ(write_local_file(path("no/such/folder/f"), "x").error().code, Code::write_failed);
  std::filesystem::create_directory(path("d"));
  EXPECT_FALSE(write_local_file(path("d"), "x"));
  EXPECT_EQ(entries(), 1);
}

TEST_F(LocalFilesTest, WhatIsNoRegularFileIsWrittenDirectly) {
  EXPECT_TRUE(write_local_file("/dev/null", "x"));
  EXPECT_EQ(write_local_file("/dev/full", "x").error().code, Code::disk_full);
  EXPECT_EQ(find_result_place("/dev/null")->kind, ResultPlace::Kind::written_to);
}

TEST_F(LocalFilesTest, ALinkIsFollowedAndStays) {
  std::filesystem::create_directory(path("d"));
  for (const char* target : {"d/there", "d/missing"}) {
    if (std::string_view(target) == "d/there") {
      ASSERT_TRUE(write_local_file(path(target), "old"));
    }
    std::filesystem::create_symlink(target, path("link"));
    ASSERT_TRUE(write_local_file(path("link"), "new"));
    EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
    EXPECT_EQ(*read_local_file(path(target), 10), "new");
    std::filesystem::remove(path("link"));
  }
}

TEST_F(LocalFilesTest, AReplacedFileKeepsItsPermissions) {
  ASSERT_TRUE(write_local_file(path("f"), "old"));
  std::filesystem::permissions(path("f"), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  ASSERT_TRUE(write_local_file(path("f"), "new"));
  struct stat found{};
  ASSERT_EQ(::stat(path("f").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

TEST_F(LocalFilesTest, AResultThatIsNotFinishedLeavesNothing) {
  ASSERT_TRUE(write_local_file(path("f"), "old"));
  {
    const auto file = create_result_file(path("f"));
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->write("half"));
  }
  EXPECT_EQ(*read_local_file(path("f"), 10), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(LocalFilesTest, ASignalRemovesTheTemporaryFile) {
  EXPECT_EXIT(
      {
        const auto file = create_result_file(path("f"));
        if (file && (*file)->write("half")) std::raise(SIGTERM);
        std::_Exit(0);
      },
      ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EQ(entries(), 0);
}

}  // namespace
}  // namespace pawl
