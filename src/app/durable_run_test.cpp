// Durable functions as programs see them, on a real store.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pawl/workflow.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_foreground.hpp"
#include "app/compose.hpp"
#include "engine/step_ledger.hpp"

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

TEST_F(Durable, TwoProgramsShareARun) {
  Pawl pawl = open();
  Pawl other = open();
  Result<DurableRun> run = pawl.durable("r");
  Result<DurableRun> beside = other.durable("r");
  ASSERT_TRUE(run && beside);
  const auto step = [](DurableRun& in, int i, std::string_view result) {
    return in.step(fmt::format("s{}", i), [&] { return Result<std::string>(std::string(result)); });
  };
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(step(i % 2 == 0 ? *run : *beside, i, "1"), "1");
    EXPECT_EQ(step(i % 2 == 0 ? *beside : *run, i, "2"), "1") << "the other one executed it again";
  }
}

TEST_F(Durable, AStepThatExecutesElsewhereIsBusy) {
  Pawl pawl = open();
  Pawl other = open();
  Result<DurableRun> run = pawl.durable("r");
  Result<DurableRun> beside = other.durable("r");
  ASSERT_TRUE(run && beside);
  const auto one = [] { return Result<std::string>("1"); };
  EXPECT_EQ(run->step("long",
                      [&]() -> Result<std::string> {
                        EXPECT_EQ(beside->step("long", one).error().code, Code::step_busy);
                        EXPECT_EQ(beside->step("short", one), "1") << "the run is not lent";
                        return std::string("2");
                      }),
            "2");
  EXPECT_EQ(beside->step("long", one), "2");
  EXPECT_EQ(run->step("short", [] { return Result<std::string>("3"); }), "1");
}

TEST_F(Durable, AScriptGetsTheRunAndSeesWhichStepExecutes) {
  Pawl pawl = open();
  Pawl other = open();
  Result<DurableRun> run = pawl.durable("r");
  ASSERT_TRUE(run);
  const RunId id = *RunId::parse("r");
  SystemClock clock;
  PosixForeground foreground;
  StepLedger script(other.store(), clock, id);
  const std::string folder = *other.store().local_folder(id);
  EXPECT_EQ(run->step("long",
                      [&]() -> Result<std::string> {
                        EXPECT_TRUE(script.reach());
                        EXPECT_EQ(foreground.lock(folder + "/step-long.lock").error().code, Code::step_busy);
                        EXPECT_TRUE(foreground.lock(folder + "/step-other.lock"));
                        return std::string("2");
                      }),
            "2");
  EXPECT_TRUE(script.reach());
  EXPECT_TRUE(foreground.lock(folder + "/step-long.lock"));
  EXPECT_EQ(script.load()->find("long")->status, StepStatus::completed);
}

TEST_F(Durable, AnUnusedRunIsLent) {
  Pawl pawl = open();
  Result<DurableRun> run = pawl.durable("r");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->step("s", [] { return Result<std::string>("1"); }), "1");
  EXPECT_EQ(pawl.run("r").error().code, Code::run_busy);
  for (int waited_ms = 0; waited_ms < 10'000 && !pawl.run("r"); waited_ms += 10)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(pawl.run("r"));
  EXPECT_EQ(run->step("t", [] { return Result<std::string>("2"); }), "2");
}

TEST_F(Durable, StepsOfManyThreadsShareSaves) {
  Pawl pawl = open();
  Result<DurableRun> run = pawl.durable("r");
  constexpr int kThreads = 8;
  constexpr int kSteps = 12;  // in all, fewer than the checkpoints that are kept
  std::atomic<int> calls = 0;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kSteps; ++i) {
          const std::string result = fmt::format("[{},{}]", thread, i);
          EXPECT_EQ(run->step(fmt::format("s{}-{}", thread, i),
                              [&]() -> Result<std::string> {
                                ++calls;
                                return result;
                              }),
                    result);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(calls, kThreads * kSteps);
  for (int thread = 0; thread < kThreads; ++thread)
    EXPECT_TRUE(pawl.checkpoint(fmt::format("r@step:s{}-{}", thread, kSteps - 1)));
}

/// Executes steps in four threads, and prints the number of each one that returned.
[[noreturn]] void execute_until_killed(const std::string& store, int steps, int out) {
  Pawl pawl = std::move(*Pawl::open(store));
  Result<DurableRun> run = pawl.durable("r");
  std::atomic<int> next = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = next++; i < steps; i = next++) {
        if (!run->step(fmt::format("s{}", i), [] { return Result<std::string>("1"); })) ::_exit(1);
        if (::write(out, &i, sizeof i) != sizeof i) ::_exit(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ::_exit(0);
}

TEST_F(Durable, AKilledProgramRepeatsNoStepThatReturned) {
  constexpr int kSteps = 300;
  std::set<int> returned;
  for (const std::size_t kill_after : {1U, 40U, 41U, 150U}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) execute_until_killed(folder_ + "/store", kSteps, ends[1]);
    ::close(ends[1]);
    int number = 0;
    for (std::size_t count = 0; ::read(ends[0], &number, sizeof number) == sizeof number; ++count) {
      returned.insert(number);
      if (count == kill_after) ::kill(child, SIGKILL);
    }
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    Pawl pawl = open();
    Result<DurableRun> run = pawl.durable("r");
    ASSERT_TRUE(run) << describe(run.error());
    for (const int i : returned) {
      EXPECT_EQ(run->step(fmt::format("s{}", i), [] { return Result<std::string>("2"); }), "1")
          << i << " was executed again after " << kill_after;
    }
    EXPECT_FALSE(pawl.check()->damaged());
  }
}

TEST_F(Durable, AForkedChildTouchesNothing) {
  auto pawl = std::make_unique<Pawl>(open());
  auto run = std::make_unique<DurableRun>(std::move(*pawl->durable("r")));
  const auto one = [] { return Result<std::string>("1"); };
  const auto child_sees = [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool refused = run->step("s", one).error().code == Code::used_after_fork &&
                           run->map("m", {}, {}, 1).error().code == Code::used_after_fork;
      run.reset();
      pawl.reset();
      ::_exit(refused ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
  };
  EXPECT_EQ(child_sees(), 0);
  EXPECT_EQ(run->step("outer",
                      [&]() -> Result<std::string> {
                        std::this_thread::sleep_for(std::chrono::milliseconds(400));  // the run is lent
                        EXPECT_EQ(child_sees(), 0);
                        EXPECT_EQ(pawl->durable("r")->step("outer", one).error().code, Code::step_busy);
                        return std::string("2");
                      }),
            "2");
  EXPECT_EQ(run->step("s", one), "1");
}

TEST_F(Durable, AFailedStepHasACheckpointOfItsOwnReason) {
  Pawl pawl = open();
  Result<DurableRun> run = pawl.durable("r");
  static_cast<void>(run->step("s", [] { return Result<std::string>("no json"); }));
  EXPECT_EQ(pawl.checkpoint("r@step:s")->reason, Reason::step_failed);
  EXPECT_EQ(run->step("s", [] { return Result<std::string>("1"); }), "1");
  EXPECT_EQ(pawl.checkpoint("r@step:s")->reason, Reason::after_step);
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
