#include "cli/store_place.hpp"

#include <gtest/gtest.h>

#include <map>

namespace pawl::cli {
namespace {

struct Folders {
  std::map<std::string, FolderFacts> all;
  Folders() {
    for (const char* path : {"/", "/users"})
      all[path] = {.device = 1, .is_mine = false, .is_home = false, .has_store = false};
    for (const char* path : {"/users/ada", "/users/ada/p", "/users/ada/p/src", "/users/ada/p/src/a"})
      all[path] = {.device = 1, .is_mine = true, .is_home = false, .has_store = false};
    all["/users/ada"].is_home = true;
  }
  [[nodiscard]] StorePlace find(const std::string& from) const {
    return find_store(from, [this](const std::string& path) {
      const auto found = all.find(path);
      return found == all.end() ? std::nullopt : std::optional(found->second);
    });
  }
};

TEST(StoreSearch, TheNearestStoreAboveIsTaken) {
  Folders folders;
  folders.all["/users/ada/p"].has_store = true;
  EXPECT_EQ(folders.find("/users/ada/p/src/a").uri, "/users/ada/p/.pawl");
  EXPECT_EQ(folders.find("/users/ada/p/src/a").origin, StoreOrigin::above);
  folders.all["/users/ada/p/src"].has_store = true;
  EXPECT_EQ(folders.find("/users/ada/p/src/a").uri, "/users/ada/p/src/.pawl");
  EXPECT_EQ(folders.find("/users/ada/p").uri, "./.pawl");
  EXPECT_EQ(folders.find("/users/ada/p").origin, StoreOrigin::here);
}

TEST(StoreSearch, WithoutOneItIsTheCurrentFolders) {
  const Folders folders;
  EXPECT_EQ(folders.find("/users/ada/p/src").uri, "./.pawl");
  EXPECT_EQ(folders.find("/users/ada/p/src").origin, StoreOrigin::none);
  EXPECT_EQ(folders.find("/gone").origin, StoreOrigin::none);
}

TEST(StoreSearch, TheHomeFolderIsTheLastThatIsLookedAt) {
  Folders folders;
  folders.all["/users"] = {.device = 1, .is_mine = true, .is_home = false, .has_store = true};
  EXPECT_EQ(folders.find("/users/ada/p").origin, StoreOrigin::none);
  EXPECT_EQ(folders.find("/users/ada").origin, StoreOrigin::none);
  folders.all["/users/ada"].has_store = true;
  EXPECT_EQ(folders.find("/users/ada/p").uri, "/users/ada/.pawl");
}

TEST(StoreSearch, ABindMountEndsIt) {
  Folders folders;
  folders.all["/users/ada/p"].has_store = true;
  folders.all["/users/ada/p/src"].mount = 7;
  EXPECT_EQ(folders.find("/users/ada/p/src").origin, StoreOrigin::none);
  folders.all["/users/ada/p"].mount = 7;
  EXPECT_EQ(folders.find("/users/ada/p/src").origin, StoreOrigin::above);
}

TEST(StoreSearch, AMountPointEndsIt) {
  Folders folders;
  folders.all["/users/ada/p"].has_store = true;
  folders.all["/users/ada/p/src"].device = 2;
  folders.all["/users/ada/p/src/a"].device = 2;
  EXPECT_EQ(folders.find("/users/ada/p/src/a").origin, StoreOrigin::none);
  EXPECT_EQ(folders.find("/users/ada/p/src").origin, StoreOrigin::none);
}

TEST(StoreSearch, AnotherUsersFolderEndsIt) {
  Folders folders;
  folders.all["/users/ada/p"] = {.device = 1, .is_mine = false, .is_home = false, .has_store = true};
  EXPECT_EQ(folders.find("/users/ada/p/src/a").origin, StoreOrigin::none);
  // The current folder is the user's own choice.
  EXPECT_EQ(folders.find("/users/ada/p").origin, StoreOrigin::here);
  folders.all["/users/ada"].has_store = true;
  folders.all["/users/ada/p"].has_store = false;
  EXPECT_EQ(folders.find("/users/ada/p").origin, StoreOrigin::none);
}

TEST(StoreSearch, TheRootCanHaveOne) {
  Folders folders;
  folders.all["/"] = {.device = 1, .is_mine = true, .is_home = false, .has_store = true};
  folders.all["/work"] = {.device = 1, .is_mine = true, .is_home = false, .has_store = false};
  EXPECT_EQ(folders.find("/work").uri, "/.pawl");
}

}  // namespace
}  // namespace pawl::cli
