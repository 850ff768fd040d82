#include "testing/engine_sim.hpp"

#include <algorithm>

#include "testing/engine_sim_world.hpp"

namespace pawl::engine_sim {
namespace {

constexpr std::size_t kWhats = static_cast<std::size_t>(Disturbance::What::hopeless_save) + 1;
constexpr std::size_t kShrinkTriesMax = 4'000;

}  // namespace

Schedule random_schedule(std::mt19937_64& random) {
  Schedule schedule{.seed = random()};
  const std::uint64_t count = random() % 6;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    at += 1 + random() % 60;
    auto what = static_cast<Disturbance::What>(random() % kWhats);
    const bool rare =
        what == Disturbance::What::cancel || what == Disturbance::What::changed || what == Disturbance::What::rollback;
    if (rare && random() % 3 != 0) what = Disturbance::What::crash;
    schedule.disturbances.push_back({what, at});
  }
  return schedule;
}

std::string to_text(const Schedule& schedule) {
  constexpr std::array<const char*, kWhats> kNames{"crash",     "reaper",       "interrupt",      "cancel",
                                                   "full_disk", "failing_sync", "no_spawn",       "rollback",
                                                   "changed",   "early_signal", "wrong_decision", "hopeless_save"};
  std::string out = fmt::format("seed {}", schedule.seed);
  for (const Disturbance& disturbance : schedule.disturbances)
    out += fmt::format(", {} after {} facts", kNames[static_cast<std::size_t>(disturbance.what)], disturbance.at);
  return out;
}

Ended play(const Plan& plan, const Schedule& schedule, const std::function<void(std::string)>& trace) {
  return World(plan, schedule, trace).play();
}

Case case_of(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Case made;
  made.plan = random_plan(random);
  made.schedule = random_schedule(random);
  return made;
}

Case shrink(Case failing) {
  std::size_t tries = 0;
  const auto kind_of = [](const Case& candidate) {  // without names and numbers
    std::string what = play(candidate.plan, candidate.schedule).violation.value_or("");
    std::erase_if(what, [](char c) { return c >= '0' && c <= '9'; });
    const std::size_t detail = what.find(':');
    return what.substr(what.find(' ') + 1, detail == std::string::npos ? detail : detail - what.find(' ') - 1);
  };
  const std::string wanted = kind_of(failing);
  const auto fails = [&](const Case& candidate) {
    ++tries;
    return kind_of(candidate) == wanted;
  };
  for (bool smaller = true; smaller && tries < kShrinkTriesMax;) {
    smaller = false;
    for (std::size_t i = 0; i < failing.schedule.disturbances.size() && !smaller; ++i) {
      Case candidate = failing;
      candidate.schedule.disturbances.erase(candidate.schedule.disturbances.begin() + static_cast<std::ptrdiff_t>(i));
      if (!fails(candidate)) continue;
      failing = std::move(candidate);
      smaller = true;
    }
    for (Plan& plan : smaller_plans(failing.plan)) {
      if (smaller || tries >= kShrinkTriesMax) break;
      Case candidate{std::move(plan), failing.schedule};
      if (!fails(candidate)) continue;
      failing = std::move(candidate);
      smaller = true;
    }
  }
  return failing;
}

}  // namespace pawl::engine_sim
