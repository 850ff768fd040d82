#include "adapters/filesystem/catalogue.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "adapters/posix/posix_file_system.hpp"
#include "testing/manual_environment.hpp"

namespace pawl {
namespace {

class CatalogueTest : public ::testing::Test {
 protected:
  CatalogueTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-catalogue-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/catalogue.db";
    files_ = std::move(*PosixFileSystem::open(folder_));
    catalogue_.emplace(*files_, clock_);
    EXPECT_TRUE(build({}));
  }
  ~CatalogueTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  Result<void> build(const CatalogueUpdate& content) {
    return catalogue().rebuild([&](const auto& add) { return add(content); });
  }
  Catalogue& catalogue() { return *catalogue_; }
  void execute(const std::string& sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  std::string folder_;
  std::string path_;
  testing::ManualClock clock_;
  std::unique_ptr<PosixFileSystem> files_;
  std::optional<Catalogue> catalogue_;
};

RunInfo run(std::string_view id, std::int64_t updated_us, std::uint64_t latest) {
  RunInfo info{.id = *RunId::parse(id)};
  info.uuid = *Uuid::parse("f204a1d5-8a93-4062-89ff-98071e9ca6ca");
  info.created.us = 1;
  info.updated.us = updated_us;
  info.latest.value = latest;
  info.status = Status::completed;
  info.kind = Kind::barrier;
  info.durability = Durability::async;
  info.workflow = "w'orkflow|.yaml";
  info.session = "s";
  return info;
}

CatalogueSave save(std::string run, std::string caller, std::uint64_t sequence) {
  return {std::move(run),
          std::move(caller),
          Sequence{sequence},
          *Uuid::parse("4247e814-fd78-453a-ade3-a3b3d6a8cb55"),
          "sha256:00",
          Kind::error,
          "0123"};
}

std::vector<std::string> ids(const Result<std::vector<RunInfo>>& runs) {
  std::vector<std::string> found;
  if (runs) {
    for (const RunInfo& info : *runs) found.push_back(info.id.text());
  }
  return found;
}

TEST_F(CatalogueTest, ListsRunsNewestFirst) {
  ASSERT_TRUE(catalogue().record({{run("a", 10, 1), run("c", 30, 1), run("b", 20, 1), run("a2", 10, 1)}, {}}));
  EXPECT_EQ(ids(catalogue().newest(10)), (std::vector<std::string>{"c", "b", "a", "a2"}));
  EXPECT_EQ(ids(catalogue().newest(2)), (std::vector<std::string>{"c", "b"}));
}

TEST_F(CatalogueTest, GivesBackWhatWasRecorded) {
  ASSERT_TRUE(catalogue().record({{run("a", 10, 7)}, {save("a", "call'1", 3)}}));
  const RunInfo back = catalogue().newest(1)->at(0);
  const RunInfo put = run("a", 10, 7);
  EXPECT_TRUE(back.uuid == put.uuid && back.created == put.created && back.updated == put.updated &&
              back.latest == put.latest);
  EXPECT_TRUE(back.status == put.status && back.kind == put.kind && back.durability == put.durability);
  EXPECT_TRUE(back.workflow == put.workflow && back.workflow_hash.empty() && back.session == put.session);
  const auto found = catalogue().find_save("a", "call'1");
  ASSERT_TRUE(found && *found);
  EXPECT_TRUE((*found)->sequence.value == 3 && (*found)->kind == Kind::error && (*found)->checksum == "sha256:00");
  EXPECT_EQ((*found)->fingerprint, "0123");
  EXPECT_FALSE(*catalogue().find_save("a", "call"));
  EXPECT_FALSE(*catalogue().find_save("b", "call'1"));
}

TEST_F(CatalogueTest, KeepsTheNewerOfTwoRows) {
  ASSERT_TRUE(catalogue().record({{run("a", 20, 2)}, {}}));
  ASSERT_TRUE(catalogue().record({{run("a", 10, 1)}, {}}));
  EXPECT_EQ(catalogue().newest(1)->at(0).latest.value, 2U);
  ASSERT_TRUE(catalogue().record({{run("a", 30, 3)}, {}}));
  EXPECT_EQ(catalogue().newest(1)->at(0).latest.value, 3U);
}

TEST_F(CatalogueTest, IsReplacedByARebuild) {
  ASSERT_TRUE(catalogue().record({{run("a", 10, 1)}, {save("a", "c", 1)}}));
  ASSERT_TRUE(build({{run("b", 20, 1)}, {}}));
  EXPECT_EQ(ids(catalogue().newest(10)), std::vector<std::string>{"b"});
  EXPECT_FALSE(*catalogue().find_save("a", "c"));
}

TEST_F(CatalogueTest, ARebuildThatFailsLeavesTheOldOne) {
  ASSERT_TRUE(catalogue().record({{run("a", 10, 1)}, {}}));
  EXPECT_FALSE(catalogue().rebuild([](const auto&) { return Result<void>(fail(Code::read_failed, "no")); }));
  EXPECT_TRUE(*catalogue().usable());
  EXPECT_EQ(ids(catalogue().newest(10)), std::vector<std::string>{"a"});
}

TEST_F(CatalogueTest, IsNotUsableWhereItIsMissingEmptyOrOfAnotherFormat) {
  EXPECT_TRUE(*catalogue().usable());
  execute("PRAGMA user_version=2");
  EXPECT_FALSE(*catalogue().usable());
  std::ofstream(path_, std::ios::trunc) << "not a database, but long enough to be taken for one by its size";
  EXPECT_FALSE(*catalogue().usable());
  std::ofstream(path_, std::ios::trunc).flush();
  EXPECT_FALSE(*catalogue().usable());
  std::filesystem::remove(path_);
  EXPECT_FALSE(*catalogue().usable());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(CatalogueTest, NoticesAChangedRow) {
  ASSERT_TRUE(catalogue().record({{run("a", 10, 1)}, {save("a", "c", 1)}}));
  EXPECT_EQ(*catalogue().find_fault(), "");
  execute("UPDATE runs SET latest=2");
  EXPECT_NE(*catalogue().find_fault(), "");
  EXPECT_EQ(catalogue().newest(10).error().code, Code::store_damaged);
  ASSERT_TRUE(build({{run("a", 10, 1)}, {save("a", "c", 1)}}));
  execute("UPDATE saves SET seq=2");
  EXPECT_NE(*catalogue().find_fault(), "");
  EXPECT_EQ(catalogue().find_save("a", "c").error().code, Code::store_damaged);
}

TEST_F(CatalogueTest, RefusesValuesThatPawlDoesNotWrite) {
  for (const char* column : {"status", "kind", "durability"}) {
    CatalogueUpdate forged{{run("a", 10, 1)}, {}};
    if (std::string_view(column) == "status") forged.runs[0].status = static_cast<Status>(99);
    if (std::string_view(column) == "kind") forged.runs[0].kind = static_cast<Kind>(99);
    if (std::string_view(column) == "durability") forged.runs[0].durability = static_cast<Durability>(99);
    ASSERT_TRUE(build(forged));
    EXPECT_EQ(catalogue().newest(10).error().code, Code::store_damaged) << column;
  }
}

/// The index alone is changed: the table is intact.
TEST_F(CatalogueTest, NoticesAChangedIndex) {
  CatalogueUpdate content;
  for (int i = 0; i < 400; ++i) content.runs.push_back(run(fmt::format("run-{}", i), i, 1));
  ASSERT_TRUE(build(content));
  execute("REINDEX runs_by_update");  // written by SQLite alone, without the checksums of its pages
  EXPECT_EQ(catalogue().newest(10).error().code, Code::store_damaged);
}

TEST_F(CatalogueTest, WhatIsForgottenLeavesNoRemainsInTheFile) {
  const auto caller = [](const char* run, int number) {
    return std::string(run) + "-caller-of-long-name-" + std::to_string(number * 7919);
  };
  CatalogueUpdate content;
  for (int number = 0; number < 3000; ++number) {
    content.saves.push_back(save("secret", caller("secret", number), static_cast<std::uint64_t>(number)));
    content.saves.push_back(save("other", caller("other", number), static_cast<std::uint64_t>(number)));
  }
  content.runs = {run("secret", 5, 1), run("other", 6, 1)};
  content.runs.front().session = "a session of somebody";
  // Adds rows in several pieces, so that pages are split repeatedly.
  for (std::size_t begin = 0; begin < content.saves.size(); begin += 100) {
    const auto from = content.saves.begin() + static_cast<std::ptrdiff_t>(begin);
    ASSERT_TRUE(catalogue().record({content.runs, {from, from + 100}}));
  }
  RunInfo erased = run("secret", 9, 1);
  erased.status = Status::erased;
  erased.workflow.clear();
  erased.session.clear();
  ASSERT_TRUE(catalogue().forget(erased.id.text(), erased));
  std::ifstream file(path_, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(bytes.find("secret-caller"), std::string::npos);
  EXPECT_EQ(bytes.find("a session of somebody"), std::string::npos);
  EXPECT_NE(bytes.find("other-caller"), std::string::npos);
  EXPECT_EQ(*catalogue().find_fault(), "");
  EXPECT_EQ(ids(catalogue().newest(9)), (std::vector<std::string>{"secret", "other"}));
  EXPECT_EQ(catalogue().newest(9)->front().status, Status::erased);
  EXPECT_FALSE(*catalogue().find_save("secret", caller("secret", 4)));
  EXPECT_TRUE(*catalogue().find_save("other", caller("other", 4)));
}

}  // namespace
}  // namespace pawl
