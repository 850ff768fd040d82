// The contract of the Limits port, by the clauses of ports/limits.hpp, and what the folder adds: processes that die.
#include "ports/limits.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "adapters/filesystem/filesystem_limits.hpp"
#include "adapters/memory/memory_limits.hpp"
#include "adapters/posix/posix_environment.hpp"
#include "testing/filesystem_under_test.hpp"
#include "testing/manual_environment.hpp"

namespace pawl::testing {
namespace {

struct LimitsUnderTest {
  LimitsUnderTest() = default;
  LimitsUnderTest(const LimitsUnderTest&) = delete;
  LimitsUnderTest& operator=(const LimitsUnderTest&) = delete;
  virtual ~LimitsUnderTest() = default;
  virtual std::unique_ptr<Limits> open() = 0;
};

struct MemoryLimitsUnderTest final : LimitsUnderTest {
  std::unique_ptr<Limits> open() override { return make_memory_limits(data); }
  std::shared_ptr<MemoryLimitsData> data = make_memory_limits_data();
};

struct FolderLimitsUnderTest final : LimitsUnderTest {
  std::unique_ptr<Limits> open() override { return make_filesystem_limits(*files, clock); }
  TemporaryFolder folder;
  std::unique_ptr<FileSystem> files = *PosixFileSystem::open(folder.path());
  SystemClock clock;
};

using MakeLimits = std::unique_ptr<LimitsUnderTest> (*)();

class LimitsContract : public ::testing::TestWithParam<MakeLimits> {
 protected:
  using Definitions = std::vector<LimitDefinition>;

  static LimitDefinition parallel(std::uint32_t count, std::string name = "api") {
    return {.name = std::move(name), .per_minute = {}, .parallel = count};
  }
  static LimitDefinition per_minute(std::uint32_t count, std::string name = "api") {
    return {.name = std::move(name), .per_minute = count, .parallel = {}};
  }
  [[nodiscard]] PermitOrWait ask(Limits& limits, const Definitions& definitions) {
    auto result = limits.try_take(definitions, clock_.now());
    EXPECT_TRUE(result.has_value()) << (result ? "" : describe(result.error()));
    return result ? std::move(*result) : PermitOrWait(LimitWait{});
  }
  /// Null if there is none.
  [[nodiscard]] std::unique_ptr<Permit> take(Limits& limits, const Definitions& definitions) {
    PermitOrWait given = ask(limits, definitions);
    auto* permit = std::get_if<std::unique_ptr<Permit>>(&given);
    return permit == nullptr ? nullptr : std::move(*permit);
  }

  ManualClock clock_;
  std::unique_ptr<LimitsUnderTest> subject_ = GetParam()();
  std::unique_ptr<Limits> one_ = subject_->open();
  std::unique_ptr<Limits> two_ = subject_->open();
};

TEST_P(LimitsContract, L1_ParallelPermitsAreCountedOverAllHandles) {
  const auto first = take(*one_, {parallel(2)});
  auto second = take(*two_, {parallel(2)});
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(take(*one_, {parallel(2)}));
  EXPECT_FALSE(take(*two_, {parallel(2)}));
  EXPECT_TRUE(take(*two_, {parallel(2, "other")})) << "another limit is not affected";
  second.reset();
  EXPECT_TRUE(take(*one_, {parallel(2)}));
}

TEST_P(LimitsContract, L2_NoMinuteHasMoreStartsThanTheRate) {
  std::vector<std::int64_t> starts;
  for (int i = 0; i < 4000; ++i) {
    if (take(i % 2 == 0 ? *one_ : *two_, {per_minute(7)})) starts.push_back(clock_.now().us);
    clock_.advance(i % 3 == 0 ? 40'000 : 333'333);
  }
  for (std::size_t i = 7; i < starts.size(); ++i) EXPECT_GE(starts[i] - starts[i - 7], kLimitMinute_us);
  const auto minutes = static_cast<std::size_t>((starts.back() - starts.front()) / kLimitMinute_us);
  EXPECT_GE(starts.size(), minutes * 7) << "the rate is used";
}

TEST_P(LimitsContract, L2_AClockThatIsSetBackDelaysAtMostAMinute) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(take(*one_, {per_minute(3)}));
  clock_.jump(-86'400'000'000);
  const PermitOrWait refused = ask(*two_, {per_minute(3)});
  ASSERT_TRUE(std::holds_alternative<LimitWait>(refused));
  EXPECT_LE(std::get<LimitWait>(refused).until.us, clock_.now().us + kLimitMinute_us);
  clock_.advance(kLimitMinute_us);
  EXPECT_TRUE(take(*two_, {per_minute(3)}));
}

TEST_P(LimitsContract, L3_OfTwoDefinitionsInUseTheStricterHolds) {
  const auto first = take(*one_, {parallel(1)});
  ASSERT_TRUE(first);
  EXPECT_FALSE(take(*two_, {parallel(8)}));
  EXPECT_FALSE(take(*two_, {per_minute(100)})) << "a handle without the number keeps to the one of others";
  one_.reset();  // its permit is still there
  const auto second = take(*two_, {parallel(2)});
  EXPECT_TRUE(second);
  EXPECT_FALSE(take(*two_, {parallel(2)})) << "the permit of a closed handle counts";
  EXPECT_TRUE(take(*two_, {parallel(3)})) << "a handle may replace its own definition";
}

TEST_P(LimitsContract, L3_PermitsThatWereTakenWithoutANumberCountForOneThatComesLater) {
  std::vector<std::unique_ptr<Permit>> permits;
  for (int i = 0; i < 5; ++i) permits.push_back(take(*one_, {per_minute(100)}));
  EXPECT_FALSE(take(*two_, {parallel(5)}));
  permits.pop_back();
  EXPECT_TRUE(take(*two_, {parallel(5)}));
}

TEST_P(LimitsContract, L4_APermitMayOutliveItsHandle) {
  auto permit = take(*one_, {parallel(1)});
  one_.reset();
  EXPECT_FALSE(take(*two_, {parallel(1)}));
  permit.reset();
  EXPECT_TRUE(take(*two_, {parallel(1)}));
}

TEST_P(LimitsContract, L5_AllLimitsAreTakenOrNone) {
  const auto held = take(*one_, {parallel(1, "b")});
  EXPECT_FALSE(take(*two_, {parallel(1, "a"), parallel(1, "b"), per_minute(1, "c")}));
  EXPECT_TRUE(take(*one_, {parallel(1, "a")}));
  EXPECT_TRUE(take(*one_, {per_minute(1, "c")}));
}

TEST_P(LimitsContract, L5_CallsWithOppositeOrdersDoNotBlockEachOther) {
  std::atomic<int> taken = 0;
  const auto work = [&](const Definitions& definitions) {
    const auto limits = subject_->open();
    for (int i = 0; i < 200; ++i) {
      if (take(*limits, definitions)) ++taken;
    }
  };
  {
    const std::jthread forward(work, Definitions{parallel(1, "a"), parallel(1, "b")});
    const std::jthread backward(work, Definitions{parallel(1, "b"), parallel(1, "a")});
  }
  EXPECT_GT(taken, 0);
}

TEST_P(LimitsContract, L7_ARefusalSaysWhenToAskAgain) {
  ASSERT_TRUE(take(*one_, {per_minute(1)}));
  clock_.advance(15'000'000);
  const PermitOrWait rate = ask(*two_, {per_minute(1)});
  ASSERT_TRUE(std::holds_alternative<LimitWait>(rate));
  EXPECT_EQ(std::get<LimitWait>(rate).why, LimitWait::Why::rate);
  EXPECT_EQ(std::get<LimitWait>(rate).name, "api");
  EXPECT_EQ(std::get<LimitWait>(rate).until.us, clock_.now().us + 45'000'000);
  const auto held = take(*one_, {parallel(1, "x")});
  const PermitOrWait busy = ask(*two_, {parallel(1, "x")});
  ASSERT_TRUE(std::holds_alternative<LimitWait>(busy));
  EXPECT_EQ(std::get<LimitWait>(busy).why, LimitWait::Why::parallel);
}

TEST_P(LimitsContract, InvalidNamesAndNumbersAreRefused) {
  const auto code_of = [&](const LimitDefinition& limit) {
    const auto result = one_->try_take(Definitions{limit}, clock_.now());
    return result ? Code{} : result.error().code;
  };
  EXPECT_EQ(code_of(parallel(1, "../x")), Code::invalid_label);
  EXPECT_EQ(code_of(parallel(1, "")), Code::invalid_label);
  EXPECT_EQ(code_of(parallel(0)), Code::number_out_of_range);
  EXPECT_EQ(code_of(parallel(kLimitParallelMax + 1)), Code::number_out_of_range);
  EXPECT_EQ(code_of(per_minute(kLimitPerMinuteMax + 1)), Code::number_out_of_range);
}

INSTANTIATE_TEST_SUITE_P(Memory, LimitsContract, ::testing::Values([]() -> std::unique_ptr<LimitsUnderTest> {
                           return std::make_unique<MemoryLimitsUnderTest>();
                         }));
INSTANTIATE_TEST_SUITE_P(Folder, LimitsContract, ::testing::Values([]() -> std::unique_ptr<LimitsUnderTest> {
                           return std::make_unique<FolderLimitsUnderTest>();
                         }));

class FolderLimits : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Permit> take(Limits& limits, const LimitDefinition& limit) {
    auto result = limits.try_take(std::span(&limit, 1), clock_.now());
    EXPECT_TRUE(result.has_value()) << (result ? "" : describe(result.error()));
    auto* permit = result ? std::get_if<std::unique_ptr<Permit>>(&*result) : nullptr;
    return permit == nullptr ? nullptr : std::move(*permit);
  }
  [[nodiscard]] std::string path() const { return subject_.folder.path() + "/limits/api"; }

  const LimitDefinition three_{.name = "api", .per_minute = {}, .parallel = 3};
  SystemClock clock_;
  FolderLimitsUnderTest subject_;
};

TEST_F(FolderLimits, L1_ManyProcessesNeverExceedTheNumber) {
  struct Counters {
    std::atomic<int> running = 0;
    std::atomic<int> most = 0;
    std::atomic<int> failures = 0;
  };
  void* memory = ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* counters = new (memory) Counters;
  std::vector<pid_t> processes;
  for (int i = 0; i < 8; ++i) {
    const pid_t process = ::fork();
    if (process == 0) {
      const auto files = *PosixFileSystem::open(subject_.folder.path());
      const auto limits = make_filesystem_limits(*files, clock_);
      for (int taken = 0; taken < 100;) {
        const auto permit = take(*limits, three_);
        if (HasFailure()) ::_exit(1);
        if (!permit) continue;
        ++taken;
        const int running = ++counters->running;
        int most = counters->most;
        while (running > most && !counters->most.compare_exchange_weak(most, running)) continue;
        if (running > 3) ++counters->failures;
        ::usleep(500);
        --counters->running;
      }
      ::_exit(0);
    }
    processes.push_back(process);
  }
  for (const pid_t process : processes) {
    int status = 0;
    ::waitpid(process, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(counters->failures, 0);
  EXPECT_EQ(counters->most, 3) << "they run at the same time";
  ::munmap(memory, sizeof(Counters));
}

TEST_F(FolderLimits, L4_AKilledProcessGivesItsSharesAndItsDefinitionBack) {
  int ready[2] = {};
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t process = ::fork();
  if (process == 0) {
    const auto files = *PosixFileSystem::open(subject_.folder.path());
    const auto limits = make_filesystem_limits(*files, clock_);
    const auto one = take(*limits, three_);
    const auto two = take(*limits, three_);
    const auto three = take(*limits, three_);
    static_cast<void>(!::write(ready[1], "x", 1));
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto limits = subject_.open();
  LimitDefinition four = three_;
  four.parallel = 4;
  EXPECT_FALSE(take(*limits, four)) << "the stricter definition holds";
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  std::vector<std::unique_ptr<Permit>> permits;
  for (int i = 0; i < 4; ++i) {
    permits.push_back(take(*limits, four));
    EXPECT_TRUE(permits.back()) << i;
  }
  EXPECT_FALSE(take(*limits, four));
}

TEST_F(FolderLimits, L6_DamageIsReplacedAndReportedAndPermitsStillCount) {
  const auto other = subject_.open();
  const auto held = take(*other, three_);
  const auto limits = subject_.open();
  for (const std::string& damage : {std::string("garbage\n"), std::string(100'000, '9'), std::string(1, '\0')}) {
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << damage;
    const auto one = take(*limits, three_);
    const auto two = take(*limits, three_);
    EXPECT_TRUE(one && two);
    EXPECT_FALSE(take(*limits, three_));
    const std::vector<Error> found = limits->damage();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().where, "limits/api");
    EXPECT_TRUE(limits->damage().empty());
  }
}

TEST_F(FolderLimits, L6_FlippedBytesNeverFailACall) {
  const LimitDefinition both{.name = "api", .per_minute = 10'000, .parallel = 100};
  const auto limits = subject_.open();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(take(*limits, both));
  std::ifstream file(path(), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t at = 0; at < text.size(); at += 7) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << damaged;
    EXPECT_TRUE(limits->try_take(std::span(&both, 1), clock_.now()).has_value()) << at;
  }
}

TEST_F(FolderLimits, TheFileStaysSmall) {
  const LimitDefinition fast{.name = "api", .per_minute = kLimitPerMinuteMax, .parallel = {}};
  const auto limits = subject_.open();
  for (std::uint32_t i = 0; i < kLimitPerMinuteMax + 100; ++i) {
    const auto result = limits->try_take(std::span(&fast, 1), Timestamp{1'000'000'000'000'000 + i * 10'000'000LL});
    ASSERT_TRUE(result.has_value());
  }
  EXPECT_LT(std::filesystem::file_size(path()), 250'000U);
}

}  // namespace
}  // namespace pawl::testing
