#include "domain/store_uri.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(StoreUri, NamesAFolder) {
  EXPECT_EQ(folder_of_store("./.pawl"), "./.pawl");
  EXPECT_EQ(folder_of_store("file:/srv/store"), "/srv/store");
  EXPECT_EQ(folder_of_store("file:///srv/store"), "/srv/store");
  EXPECT_EQ(folder_of_store("file:file:x"), "file:x");
}

TEST(StoreUri, NamesNoFolder) {
  for (const char* uri : {"", "file:", "file://", "memory:", "postgres://host/db", "file:s3://bucket"})
    EXPECT_EQ(folder_of_store(uri), std::nullopt) << uri;
}

TEST(StoreUri, ErrorsSayWhy) {
  EXPECT_EQ(require_store_folder("").error().message, "the name of the store is empty");
  EXPECT_EQ(require_store_folder("memory:").error().message, "a store in memory has no folder");
  EXPECT_EQ(require_store_folder("s3://bucket").error().message, "unknown kind of store: 's3://bucket'");
  EXPECT_EQ(require_store_folder("s3://bucket").error().code, Code::usage);
}

}  // namespace
}  // namespace pawl
