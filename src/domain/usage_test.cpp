#include "domain/usage.hpp"

#include <gtest/gtest.h>

#include "domain/run_state.hpp"

namespace pawl {
namespace {

TEST(Budget, ALimitGivenAtAResumeReplacesTheOneOfTheWorkflow) {
  const Budget budget{.usd = 5.0, .tokens = 100};
  EXPECT_EQ(budget.raised(Json()), budget);
  EXPECT_EQ(budget.raised({{"usd", 8}}), (Budget{.usd = 8.0, .tokens = 100}));
  EXPECT_EQ(Budget{}.raised({{"usd", nullptr}, {"tokens", 7U}}), (Budget{.usd = {}, .tokens = 7}));
  EXPECT_EQ(budget.raised({{"usd", "8"}, {"tokens", -1}}), budget);
}

TEST(Budget, IsReachedByWhatIsEqualToALimit) {
  EXPECT_FALSE(Budget{}.reached({.tokens = 1'000, .usd = 10}));
  EXPECT_TRUE((Budget{.usd = 1.0, .tokens = {}}.reached({.tokens = 0, .usd = 1})));
  EXPECT_FALSE((Budget{.usd = 1.0, .tokens = 5}.reached({.tokens = 4, .usd = 0.99})));
  EXPECT_TRUE((Budget{.usd = 1.0, .tokens = 5}.reached({.tokens = 5, .usd = 0})));
}

TEST(Budget, TheLimitsInForceAreStoredOnlyIfThereAreSome) {
  RunState state;
  EXPECT_FALSE(state.to_json().contains("limits"));
  state.limits = {.usd = 2.5, .tokens = {}};
  const Json stored = Json::parse(compact(state.to_json()));
  EXPECT_EQ(stored["limits"], Json({{"usd", 2.5}}));
  const Result<RunState> back = RunState::from_json(stored);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->limits, state.limits);
  EXPECT_EQ(compact(state.limits.document()), R"({"usd":2.5,"tokens":null})");
}

}  // namespace
}  // namespace pawl
