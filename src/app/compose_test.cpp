#include "app/compose.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace pawl {
namespace {

class Compose : public ::testing::Test {
 protected:
  Compose() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-compose-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Compose() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static Code code_of(const std::string& uri, Missing missing) {
    OpenOptions options;
    options.missing = missing;
    const Result<std::unique_ptr<Store>> opened = open_store(uri, options, Usage::one_shot);
    return opened ? Code{} : opened.error().code;
  }
  static Result<Saved> save(const std::string& uri, std::string_view body) {
    PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, open_store(uri, {}, Usage::one_shot));
    PAWL_TRY_ASSIGN(const std::unique_ptr<RunWriter> run, store->open_run(*RunId::parse("r"), {}));
    SaveRequest request;
    request.body = body;
    return run->save(request);
  }

  std::filesystem::path folder_;
};

TEST_F(Compose, AFolderIsMadeOrRefusedAsAsked) {
  EXPECT_EQ(code_of(path("s"), Missing::refuse), Code::store_not_found);
  EXPECT_FALSE(std::filesystem::exists(path("s")));
  EXPECT_EQ(code_of(folder_.string(), Missing::refuse), Code::store_not_found) << "an empty folder is no store";
  EXPECT_EQ(save(path("s"), "1")->sequence, Sequence{1});
  EXPECT_EQ(code_of(path("s"), Missing::refuse), Code{});
  EXPECT_EQ(save(path("s"), "2")->sequence, Sequence{2});
}

TEST_F(Compose, FileUrisNameTheSameFolder) {
  ASSERT_TRUE(save("file:" + path("s"), "1"));
  EXPECT_EQ(save("file://" + path("s"), "2")->sequence, Sequence{2});
}

TEST_F(Compose, WhatIsNoStoreIsRefused) {
  EXPECT_EQ(code_of("redis://host", Missing::create), Code::usage);
  EXPECT_EQ(code_of("", Missing::create), Code::usage);
  EXPECT_EQ(code_of("file:", Missing::create), Code::usage);
  EXPECT_EQ(code_of(path("no/parent"), Missing::create), Code::store_not_found);
}

TEST_F(Compose, AMemoryStoreIsEmptyEachTime) {
  EXPECT_EQ(save("memory:", "1")->sequence, Sequence{1});
  EXPECT_EQ(save("memory:", "1")->sequence, Sequence{1});
}

}  // namespace
}  // namespace pawl
