#include "adapters/posix/posix_machine.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <utime.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "adapters/posix/posix_environment.hpp"

namespace pawl {
namespace {

class PosixMachineTest : public ::testing::Test {
 protected:
  PosixMachineTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-machine-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~PosixMachineTest() override { std::filesystem::remove_all(folder_); }
  std::string make(const std::string& name) {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "x";
    return path;
  }
  std::string folder_;
  SystemClock clock_;
  PosixMachine machine_{clock_};
};

TEST_F(PosixMachineTest, KnowsTheDiskOfAFolder) {
  const auto disk = machine_.disk(folder_);
  ASSERT_TRUE(disk) << describe(disk.error());
  EXPECT_FALSE(disk->type.empty());
  EXPECT_GE(disk->total_bytes, disk->free_bytes);
  EXPECT_FALSE(machine_.disk(folder_ + "/missing"));
}

TEST_F(PosixMachineTest, KnowsWhoMayReadAFile) {
  const std::string path = make("key");
  ::chmod(path.c_str(), 0640);
  EXPECT_EQ(machine_.file(path)->mode, 0640U);
  EXPECT_TRUE(machine_.file(path)->mine);
  EXPECT_EQ(machine_.file(folder_ + "/missing").error().os_error, ENOENT);
}

TEST_F(PosixMachineTest, MeasuresSyncsAndLeavesNothingBehind) {
  const auto times = machine_.sync_times_us(folder_, 3);
  ASSERT_TRUE(times) << describe(times.error());
  EXPECT_EQ(times->size(), 3U);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(PosixMachineTest, FindsOldTemporaryFilesOnly) {
  const std::string old = make("runs/r/blobs/b.tmp");
  make("runs/r/blobs/new.tmp");
  make("runs/r/blobs/b");
  const std::string log = make("runs/r/logs/s.tmp");
  utimbuf long_ago{.actime = 1, .modtime = 1};
  ::utime(old.c_str(), &long_ago);
  ::utime(log.c_str(), &long_ago);
  EXPECT_EQ(machine_.left_over(folder_, 3600, 10), std::vector<std::string>{old});
  EXPECT_TRUE(machine_.left_over(folder_ + "/missing", 3600, 10).empty());
}

}  // namespace
}  // namespace pawl
