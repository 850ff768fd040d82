#include <chrono>
#include <cstdio>

#include "testing/machine_fixture.hpp"

namespace pawl::machine {
namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point began, std::size_t count) {
  const std::chrono::duration<double, std::micro> took = Clock::now() - began;
  return took.count() / static_cast<double>(count);
}

TEST_F(MachineTest, TheCostOfAStepDoesNotGrowWithTheirNumber) {
  keeps_snapshots = false;
  Steps steps;
  for (int i = 0; i < 10'000; ++i) steps.push_back(handler("s" + std::to_string(i)));
  sequential(std::move(steps));
  begin();
  std::vector<double> cost;
  for (std::size_t part = 0; part < 10; ++part) {
    const auto began = Clock::now();
    for (std::size_t i = 0; i < 1'000; ++i) {
      commands.clear();
      end("s" + std::to_string(part * 1'000 + i), 0, 1);
    }
    cost.push_back(us_since(began, 1'000));
  }
  EXPECT_EQ(finish()->status, RunStatus::completed);
  std::printf("%.1f us for each of the first 1,000 steps, %.1f us for each of the last 1,000\n", cost.front(),
              cost.back());
}

TEST_F(MachineTest, TheCostOfAMapIsLinear) {
  keeps_snapshots = false;
  const auto play = [&](int count) {
    Json items = Json::array();
    for (int i = 0; i < count; ++i) items.push_back(i);
    sequential({map_of("m", items, {handler("a")})});
    journal.clear();
    commands.clear();
    const auto began = Clock::now();
    begin();
    for (int i = 0; i < count; ++i) {
      commands.clear();
      end("m[" + std::to_string(i) + "].a", 0, i);
    }
    wait(Milliseconds(10));
    EXPECT_EQ(s.nodes.size(), 1U);
    return us_since(began, static_cast<std::size_t>(count));
  };
  const double small = play(10'000);
  const double large = play(100'000);
  std::printf("%.1f us an item of 10,000, %.1f us an item of 100,000\n", small, large);
}

}  // namespace
}  // namespace pawl::machine
