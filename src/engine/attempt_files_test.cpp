#include "engine/attempt_files.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

std::string without_slashes(std::string path) {
  std::erase(path, '/');
  return path;
}

TEST(AttemptFiles, ItemsHaveAFolderOfTheirOwn) {
  EXPECT_EQ(file_path_of("build"), "build");
  EXPECT_EQ(file_path_of("pages[17].write"), "pages/[17].write");
  EXPECT_EQ(file_path_of("pages[17].inner[2].write"), "pages/[17].inner[2].write");
  EXPECT_EQ(file_path_of("finally[1].clean"), "finally/[1].clean");
  EXPECT_EQ(file_path_of("a.on_failure.b"), "a.on_failure.b");
}

TEST(AttemptFiles, LongNamesContinueInFolders) {
  for (const std::string separator : {"[1].", "[99999].", ".on_failure.", ".then."}) {
    std::string path(64, 'a');
    for (char c = 'b'; c < 'm'; ++c) path += separator + std::string(64, c);
    const std::string file = file_path_of(path);
    EXPECT_EQ(without_slashes(file), path);
    std::size_t begin = 0;
    for (std::size_t end = file.find('/'); begin < file.size(); end = file.find('/', begin)) {
      const std::string part = file.substr(begin, std::min(end, file.size()) - begin);
      EXPECT_LE(part.size(), 201U) << part;
      EXPECT_NE(part.front(), '.') << part;
      begin += part.size() + 1;
    }
  }
}

}  // namespace
}  // namespace pawl
