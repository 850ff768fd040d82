#include "adapters/posix/posix_environment.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>
#include <vector>

namespace pawl {
namespace {

TEST(SystemClock, SleepsAtLeastAsLongAsAskedAndNeverGoesBack) {
  SystemClock clock;
  const std::int64_t start_us = clock.monotonic_us();
  clock.sleep_us(2000);
  EXPECT_GE(clock.monotonic_us() - start_us, 2000);
  clock.sleep_us(-5);
  EXPECT_GT(clock.now().us, 1'700'000'000'000'000);
}

TEST(SystemClock, ReturnsOnlyTimesThatARecordCanContain) {
  for (const std::int64_t us : {std::int64_t{-1}, INT64_MIN, INT64_MAX, std::int64_t{253'402'300'800'000'000}}) {
    const Timestamp time = storable_time(us);
    EXPECT_EQ(Timestamp::parse(time.text()), time) << us;
  }
  EXPECT_EQ(storable_time(INT64_MAX).text(), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(storable_time(1'768'141'800'000'123).us, 1'768'141'800'000'123);
}

TEST(SystemRandom, NumbersDifferAcrossThreads) {
  SystemRandom random;
  std::vector<std::vector<std::uint64_t>> drawn(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : drawn) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) mine.push_back(random.next());
      });
    }
  }
  std::set<std::uint64_t> all;
  for (const auto& mine : drawn) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 4000U);
}

TEST(SystemRandom, AForkedChildDoesNotRepeatItsParentsNumbers) {
  SystemRandom random;
  static_cast<void>(random.next());
  int channel[2];
  ASSERT_EQ(::pipe(channel), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::uint64_t number = random.next();
    ::_exit(::write(channel[1], &number, sizeof(number)) == sizeof(number) ? 0 : 1);
  }
  std::uint64_t childs = 0;
  ASSERT_EQ(::read(channel[0], &childs, sizeof(childs)), static_cast<ssize_t>(sizeof(childs)));
  ::waitpid(child, nullptr, 0);
  EXPECT_NE(random.next(), childs);
  ::close(channel[0]);
  ::close(channel[1]);
}

TEST(CurrentOwner, NamesThisProcess) {
  const Owner owner = current_owner();
  EXPECT_EQ(owner.boot_id.size(), 36U);
  EXPECT_EQ(owner.pid, static_cast<std::uint64_t>(::getpid()));
  EXPECT_GT(owner.started, 0U);
  EXPECT_FALSE(owner.host.empty());
  EXPECT_FALSE(owner.program.empty());
}

TEST(ProcessStat, FieldsAreCountedFromTheLastParenthesis) {
  const auto stat = parse_process_stat("12 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21");
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->started, 4711U);
}

TEST(ProcessStat, OtherTextIsRefused) {
  EXPECT_FALSE(parse_process_stat("").has_value());
  EXPECT_FALSE(parse_process_stat("12 (a").has_value());
  EXPECT_FALSE(parse_process_stat("12 (a) S 1 2 3").has_value());
  EXPECT_FALSE(parse_process_stat("12 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x 20").has_value());
}

}  // namespace
}  // namespace pawl
