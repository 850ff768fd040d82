// The simulated engine: random workflows, random trouble. PAWL_ENGINE_SEEDS sets the number of schedules,
// PAWL_ENGINE_SEED plays one and prints it.
#include "testing/engine_sim.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace pawl::engine_sim {
namespace {

constexpr std::uint64_t kSchedules = 5'000;

std::uint64_t number_in(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(EngineSim, HoldsItsPromisesInRandomSchedules) {
  const std::uint64_t count = number_in("PAWL_ENGINE_SEEDS", kSchedules);
  const std::uint64_t from = number_in("PAWL_ENGINE_FROM", 1);
  std::size_t facts = 0;
  std::size_t attempts = 0;
  std::size_t resumes = 0;
  std::size_t compared = 0;
  for (std::uint64_t seed = from; seed < from + count; ++seed) {
    const Case drawn = case_of(seed);
    const Ended ended = play(drawn.plan, drawn.schedule);
    facts += ended.facts;
    attempts += ended.attempts;
    resumes += ended.resumes;
    compared += ended.compared ? 1 : 0;
    if (!ended.violation) continue;
    const Case small = std::getenv("PAWL_ENGINE_FAST") == nullptr ? shrink(drawn) : drawn;
    const Ended again = play(small.plan, small.schedule);
    FAIL() << "seed " << seed << " after " << seed - from + 1 << " schedules: " << *ended.violation
           << "\nshrunk: " << again.violation.value_or("") << "\n"
           << to_text(small.plan) << to_text(small.schedule);
  }
  std::printf("%llu schedules, %zu facts, %zu attempts, %zu resumes, %zu runs compared with the oracle\n",
              static_cast<unsigned long long>(count), facts, attempts, resumes, compared);
}

TEST(EngineSim, PlaysOneSeedWithATrace) {
  const std::uint64_t seed = number_in("PAWL_ENGINE_SEED", 0);
  if (seed == 0) return;  // a tool: see docs/testing.md
  Case drawn = case_of(seed);
  if (std::getenv("PAWL_ENGINE_SHRINK") != nullptr) drawn = shrink(drawn);
  std::printf("%s%s\n", to_text(drawn.plan).c_str(), to_text(drawn.schedule).c_str());
  const Ended ended =
      play(drawn.plan, drawn.schedule, [](const std::string& line) { std::printf("%s\n", line.c_str()); });
  EXPECT_FALSE(ended.violation.has_value()) << *ended.violation;
}

}  // namespace
}  // namespace pawl::engine_sim
