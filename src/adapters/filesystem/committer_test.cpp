#include "adapters/filesystem/committer.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "testing/manual_environment.hpp"

namespace pawl {
namespace {

/// Records what became durable, batch by batch.
struct Log {
  Mutex mutex;
  std::vector<std::pair<std::string, std::uint32_t>> batches PAWL_GUARDED_BY(mutex);
  bool failing PAWL_GUARDED_BY(mutex) = false;

  [[nodiscard]] Committer::Append append() {
    return [this](Committer::Bodies bodies, std::uint32_t count) -> Result<void> {
      const Lock lock(mutex);
      if (failing) return fail(Code::outcome_unknown, "the sync failed");
      std::string all;
      for (const std::string_view body : bodies) all += body;
      batches.emplace_back(std::move(all), count);
      return {};
    };
  }
  void fail_from_now_on(bool now) {
    const Lock lock(mutex);
    failing = now;
  }
  [[nodiscard]] std::string text() {
    const Lock lock(mutex);
    std::string all;
    for (const auto& [body, count] : batches) all += body;
    return all;
  }
  [[nodiscard]] std::size_t size() {
    const Lock lock(mutex);
    return batches.size();
  }
};

FilesystemOptions options_with(Background background) {
  FilesystemOptions options;
  options.background = background;
  options.batch_bytes_max = 10;
  return options;
}

Result<void> commit(Committer& committer, std::string body) {
  Commit one;
  one.body = std::move(body);
  one.record_count = 1;
  one.epoch = committer.epoch();
  committer.submit(one);
  return committer.wait(one);
}

Result<void> enqueue(Committer& committer, std::string body, std::int64_t window_us) {
  auto one = std::make_unique<Commit>();
  one->body = std::move(body);
  one->record_count = 1;
  one->epoch = committer.epoch();
  return committer.enqueue(std::move(one), window_us);
}

class CommitterOf : public ::testing::TestWithParam<Background> {
 protected:
  testing::ManualClock clock_;
  Log log_;
};

INSTANTIATE_TEST_SUITE_P(Background, CommitterOf, ::testing::Values(Background::none, Background::thread),
                         [](const auto& which) { return which.param == Background::none ? "none" : "thread"; });

TEST_P(CommitterOf, ACommitIsDurableWhenItReturns) {
  Committer committer(log_.append(), options_with(GetParam()), clock_);
  ASSERT_TRUE(commit(committer, "a"));
  EXPECT_EQ(log_.text(), "a");
  ASSERT_TRUE(commit(committer, "b"));
  EXPECT_EQ(log_.text(), "ab");
}

TEST_P(CommitterOf, ManyThreadsLoseNothing) {
  constexpr int kThreads = 8;
  constexpr int kCommits = 50;
  Committer committer(log_.append(), options_with(GetParam()), clock_);
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (int c = 0; c < kCommits; ++c) EXPECT_TRUE(commit(committer, "x"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log_.text(), std::string(kThreads * kCommits, 'x'));
}

TEST_P(CommitterOf, SeveralMaySubmitBeforeAnyOfThemWaits) {
  Committer committer(log_.append(), options_with(GetParam()), clock_);
  // After a batch of four, the batching thread waits briefly for four more. Two savers must not wait forever.
  for (const std::size_t count : {4U, 2U}) {
    std::vector<std::unique_ptr<Commit>> commits;
    for (std::size_t i = 0; i < count; ++i) {
      commits.push_back(std::make_unique<Commit>());
      commits.back()->body.assign(1, 'y');
      commits.back()->record_count = 1;
      committer.submit(*commits.back());
    }
    for (const auto& one : commits) EXPECT_TRUE(committer.wait(*one));
  }
  EXPECT_EQ(log_.text(), "yyyyyy");
}

TEST_P(CommitterOf, ABatchIsBoundedByItsSize) {
  {
    Committer committer(log_.append(), options_with(GetParam()), clock_);
    for (int i = 0; i < 7; ++i) ASSERT_TRUE(enqueue(committer, "1234", 0));
    ASSERT_TRUE(committer.flush());
    ASSERT_TRUE(commit(committer, std::string(100, 'y')));
  }
  const Lock lock(log_.mutex);
  for (const auto& [body, count] : log_.batches) {
    EXPECT_TRUE(body.size() <= 10 || count == 1) << body.size();
    EXPECT_EQ(count, body.size() == 100 ? 1 : body.size() / 4);
  }
}

TEST_P(CommitterOf, WhatNobodyWaitsForIsDurableAfterAFlush) {
  Committer committer(log_.append(), options_with(GetParam()), clock_);
  ASSERT_TRUE(enqueue(committer, "a", 0));
  ASSERT_TRUE(enqueue(committer, "b", 0));
  ASSERT_TRUE(committer.flush());
  EXPECT_EQ(log_.text(), "ab");
}

TEST_P(CommitterOf, ACommitTakesEarlierOnesAlong) {
  Committer committer(log_.append(), options_with(GetParam()), clock_);
  ASSERT_TRUE(enqueue(committer, "a", 0));
  ASSERT_TRUE(commit(committer, "b"));
  EXPECT_EQ(log_.text(), "ab");
}

TEST_P(CommitterOf, AFullQueueIsWrittenWithoutAFlush) {
  Committer committer(log_.append(), options_with(GetParam()), clock_);
  ASSERT_TRUE(enqueue(committer, "123456", 0));
  ASSERT_TRUE(enqueue(committer, "789012", 0));
  while (log_.size() == 0) std::this_thread::yield();
  ASSERT_TRUE(committer.flush());
  EXPECT_EQ(log_.text(), "123456789012");
}

TEST_P(CommitterOf, WhatBuildsOnAFailedOneFails) {
  Committer committer(log_.append(), options_with(GetParam()), clock_);
  Commit later;
  later.body = "later";
  later.record_count = 1;
  later.epoch = committer.epoch();
  log_.fail_from_now_on(true);
  const auto failed = commit(committer, "a");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::outcome_unknown);
  log_.fail_from_now_on(false);
  committer.submit(later);
  const auto refused = committer.wait(later);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::handle_failed);
  EXPECT_EQ(log_.text(), "");
  // A save that read its state after the failure is based on durable data.
  EXPECT_TRUE(commit(committer, "fresh"));
}

TEST_P(CommitterOf, AFailureThatNobodySawIsToldByTheFlush) {
  Committer committer(log_.append(), options_with(GetParam()), clock_);
  ASSERT_TRUE(enqueue(committer, "a", 0));
  log_.fail_from_now_on(true);
  EXPECT_FALSE(committer.flush());
  log_.fail_from_now_on(false);
  EXPECT_FALSE(committer.flush());
}

TEST(Committer, WithoutAThreadTheWindowIsKeptByTheNextSave) {
  testing::ManualClock clock;
  Log log;
  Committer committer(log.append(), options_with(Background::none), clock);
  ASSERT_TRUE(enqueue(committer, "a", 1000));
  EXPECT_EQ(log.text(), "");
  clock.advance(1000);
  ASSERT_TRUE(enqueue(committer, "b", 1000));
  EXPECT_EQ(log.text(), "ab");
}

TEST(Committer, WhatIsStillQueuedAtTheEndIsNotCommitted) {
  testing::ManualClock clock;
  Log log;
  {
    Committer committer(log.append(), options_with(Background::none), clock);
    ASSERT_TRUE(enqueue(committer, "a", 0));
  }
  EXPECT_EQ(log.text(), "");
}

TEST(Committer, NothingIsAppendedWhileSomeoneIsAloneAndAllOfItAfterwards) {
  for (const Background background : {Background::none, Background::thread}) {
    Log log;
    testing::ManualClock clock;
    Committer committer(log.append(), options_with(background), clock);
    std::vector<std::thread> savers;
    std::size_t seen = 1;
    const auto alone = committer.try_alone([&]() -> Result<void> {
      for (int i = 0; i < 8; ++i) savers.emplace_back([&] { EXPECT_TRUE(commit(committer, "x").has_value()); });
      EXPECT_EQ(*committer.try_alone([] { return Result<void>(); }), false);
      seen = log.size();
      return {};
    });
    EXPECT_TRUE(*alone);
    EXPECT_EQ(seen, 0U);
    for (std::thread& saver : savers) saver.join();
    EXPECT_EQ(log.text(), "xxxxxxxx");
  }
}

}  // namespace
}  // namespace pawl
