#include "adapters/posix/posix_output_mask.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace pawl {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Masked, LongerSecretsGoFirstAndEmptyOnesAreNone) {
  EXPECT_EQ(masked("abcd abc", {"abc", "", "abcd"}), "*** ***");
  EXPECT_EQ(masked("nothing", {"secret"}), "nothing");
}

TEST(PosixOutputMask, ASecretThatComesInPiecesNeverReachesTheFile) {
  const std::string folder = std::filesystem::temp_directory_path() / fmt::format("pawl-mask-{}", ::getpid());
  std::filesystem::create_directories(folder);
  {
    auto mask = PosixOutputMask::start();
    ASSERT_TRUE(mask) << describe(mask.error());
    const std::string path = folder + "/log";
    const Result<std::string> fifo = (*mask)->open(path, {"hush-hush"});
    ASSERT_TRUE(fifo) << describe(fifo.error());
    const int fd = ::open(fifo->c_str(), O_WRONLY);
    ASSERT_GE(fd, 0);
    for (const char c : std::string("before hush-hush after hush-hus")) {
      ASSERT_EQ(::write(fd, &c, 1), 1);
      EXPECT_EQ(content(path).find("hush-hush"), std::string::npos);
    }
    (*mask)->drain(path);
    EXPECT_EQ(content(path), "before *** after hush-hus");
    ::close(fd);
    EXPECT_FALSE(std::filesystem::exists(*fifo));
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace pawl
