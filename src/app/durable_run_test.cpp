// Durable functions as programs see them, on a real store.
#include <gtest/gtest.h>
#include <pawl/workflow.hpp>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>

#include "app/compose.hpp"

namespace pawl {
namespace {

class Durable : public ::testing::Test {
 protected:
  Durable() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-durable-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Durable() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] Pawl open() const { return std::move(*Pawl::open(folder_ + "/store")); }

  std::string folder_;
};

TEST_F(Durable, AStepIsCalledOnceAndItsResultKept) {
  int calls = 0;
  const auto fetch = [&]() -> Result<std::string> { return fmt::format(R"({{"call": {}}})", ++calls); };
  for (int i = 0; i < 3; ++i) {
    Pawl pawl = open();
    Result<DurableRun> run = pawl.durable("nightly");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->step("fetch", fetch), R"({"call": 1})");
  }
  EXPECT_EQ(calls, 1);
}

TEST_F(Durable, AFailedStepIsCalledAgain) {
  Pawl pawl = open();
  Result<DurableRun> run = pawl.durable("r");
  const auto fails = []() -> Result<std::string> {
    return std::unexpected(Error{Code::step_failed, "no luck", {}, {}, 0});
  };
  EXPECT_EQ(run->step("s", fails).error().code, Code::step_failed);
  EXPECT_EQ(run->step("s", []() -> Result<std::string> { return std::string().substr(1); }).error().code,
            Code::step_failed)
      << "it threw";
  EXPECT_EQ(run->step("s", [] { return Result<std::string>("no json"); }).error().code, Code::invalid_json);
  EXPECT_EQ(run->step("s", [] { return Result<std::string>("1"); }), "1");
  EXPECT_EQ(run->step("s", fails), "1");
  EXPECT_EQ(run->step("../s", fails).error().code, Code::invalid_label);
}

TEST_F(Durable, TheSameStepAtTheSameTimeIsBusy) {
  Pawl pawl = open();
  Result<DurableRun> run = pawl.durable("r");
  const auto inner = [] { return Result<std::string>("1"); };
  const auto outer = [&]() -> Result<std::string> {
    EXPECT_EQ(run->step("s", inner).error().code, Code::step_busy);
    return run->step("other", inner);
  };
  EXPECT_EQ(run->step("s", outer), "1");
}

TEST_F(Durable, AMapCallsEachItemOnceAndGivesResultsInOrder) {
  std::vector<std::string> items;
  for (int i = 0; i < 500; ++i) items.push_back(std::to_string(i));
  std::mutex mutex;
  std::multiset<std::uint64_t> calls;
  const auto square = [&](std::string_view item, std::uint64_t index) -> Result<std::string> {
    const std::lock_guard lock(mutex);
    calls.insert(index);
    EXPECT_EQ(item, std::to_string(index));
    return std::to_string(index * index);
  };
  for (int i = 0; i < 2; ++i) {
    Pawl pawl = open();
    Result<DurableRun> run = pawl.durable("r");
    const Result<std::vector<std::string>> results = run->map("squares", items, square, 8);
    ASSERT_TRUE(results) << describe(results.error());
    for (std::size_t k = 0; k < items.size(); ++k) ASSERT_EQ((*results)[k], std::to_string(k * k));
  }
  EXPECT_EQ(calls.size(), 500U);
  EXPECT_EQ(std::set<std::uint64_t>(calls.begin(), calls.end()).size(), 500U);
}

TEST_F(Durable, AMapGoesOnWithWhatHasNoResult) {
  const std::vector<std::string> items = {"0", "1", "2", "3", "4"};
  std::atomic<int> calls = 0;
  Pawl pawl = open();
  Result<DurableRun> run = pawl.durable("r");
  const auto fails_at_3 = [&](std::string_view item, std::uint64_t) -> Result<std::string> {
    ++calls;
    if (item == "3") return std::unexpected(Error{Code::step_failed, "not this one", {}, {}, 0});
    return std::string(item);
  };
  const Result<std::vector<std::string>> failed = run->map("m", items, fails_at_3, 1);
  EXPECT_EQ(failed.error().code, Code::step_failed);
  EXPECT_EQ(failed.error().where, "item 3");
  EXPECT_EQ(calls, 4);
  const auto works = [&](std::string_view item, std::uint64_t) -> Result<std::string> {
    ++calls;
    return std::string(item);
  };
  EXPECT_EQ(run->map("m", items, works, 4), items);
  EXPECT_EQ(calls, 6) << "items with a result were called again";
  const std::vector<std::string> others = {"0"};
  EXPECT_EQ(run->map("m", others, works, 4).error().code, Code::items_changed);
  EXPECT_TRUE(run->map("empty", {}, works, 4)->empty());
}

TEST_F(Durable, KeysAreTheRunsOwn) {
  Pawl pawl = open();
  EXPECT_NE(pawl.durable("a")->idempotency_key("s"), pawl.durable("b")->idempotency_key("s"));
  EXPECT_EQ(pawl.durable("a")->idempotency_key("s"), pawl.durable("a")->idempotency_key("s"));
}

TEST_F(Durable, ARunOfSomethingElseIsRefused) {
  Pawl pawl = open();
  {
    auto run = pawl.run("r");
    SaveRequest request;
    request.body = "{}";
    ASSERT_TRUE(run->save(request));
  }
  EXPECT_EQ(pawl.durable("r").error().code, Code::not_a_steps_run);
}

}  // namespace
}  // namespace pawl
