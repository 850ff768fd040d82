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
    const Result<std::unique_ptr<Store>> opened = open_store(uri, options, StoreUse::one_shot);
    return opened ? Code{} : opened.error().code;
  }
  static Result<Saved> save(const std::string& uri, std::string_view body) {
    PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, open_store(uri, {}, StoreUse::one_shot));
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

TEST_F(Compose, EveryStoreHasALocalFolderPerRun) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  ASSERT_TRUE(save("s", "1"));
  for (const std::string uri : {"s", "memory:"}) {
    std::string made;
    {
      const auto store = open_store(uri, {}, StoreUse::one_shot);
      for (const char* run : {"r", "unsaved"}) {
        const auto folder = (*store)->local_folder(*RunId::parse(run));
        ASSERT_TRUE(folder) << describe(folder.error());
        EXPECT_TRUE(std::filesystem::path(*folder).is_absolute()) << *folder;
        EXPECT_TRUE(std::filesystem::is_directory(*folder)) << *folder;
        EXPECT_TRUE(std::filesystem::is_empty(*folder)) << *folder;
        EXPECT_EQ((*store)->local_folder(*RunId::parse(run)), *folder);
        EXPECT_NE(*folder, made);
        made = *folder;
      }
      const auto report = (*store)->check({}, Repair::no);
      EXPECT_TRUE(report && report->findings.empty());
    }
    EXPECT_EQ(std::filesystem::exists(made), uri == "s") << made;
  }
  EXPECT_TRUE(std::filesystem::equivalent(folder_ / "s/runs/r/logs", "s/runs/r/logs"));
  std::filesystem::current_path(before);
}

TEST_F(Compose, MessagesAndOwnersPassThrough) {
  const auto store = open_store(path("s"), {}, StoreUse::one_shot);
  const RunId run = *RunId::parse("r");
  const auto writer = (*store)->open_run(run, {});
  ASSERT_TRUE((*writer)->save({.body = "1"}));
  const auto id = (*store)->post(run, "{}");
  ASSERT_TRUE(id);
  EXPECT_EQ((*store)->inbox(run)->size(), 1U);
  EXPECT_TRUE((*store)->owner(run)->has_value());
  ASSERT_TRUE((*store)->take(run, *id));
  EXPECT_TRUE((*store)->inbox(run)->empty());
}

TEST_F(Compose, AMemoryStoreIsEmptyEachTime) {
  EXPECT_EQ(save("memory:", "1")->sequence, Sequence{1});
  EXPECT_EQ(save("memory:", "1")->sequence, Sequence{1});
}

}  // namespace
}  // namespace pawl
