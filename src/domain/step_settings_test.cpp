#include "domain/step_settings.hpp"

#include <gtest/gtest.h>

#include "domain/workflow.hpp"

namespace pawl {
namespace {

class Variables final : public Names {
 public:
  explicit Variables(Json values) : values_(std::move(values)) {}
  [[nodiscard]] Result<Json> find(std::span<const PathPart> path) const override {
    return follow(values_, path.subspan(1));
  }

 private:
  Json values_;
};

ComputedSetting computed(Setting setting, const char* text) {
  return {setting, *TextTemplate::parse(text, reserved_names(), TextTemplate::Unknown::refuse)};
}

/// Returns the step with one setting, whose expression is `${vars.x}`.
Result<Step> with(Setting setting, const Json& value, Work work = RunCommand{}, const char* text = "${vars.x}") {
  Step step;
  step.work = std::move(work);
  step.computed.push_back(computed(setting, text));
  return with_settings(step, Variables(Json{{"x", value}}));
}

TEST(StepSettings, AreComputedWhenTheStepBegins) {
  EXPECT_EQ(with(Setting::timeout, "1m30s")->timeout, Milliseconds(90'000));
  EXPECT_EQ(with(Setting::timeout, 2.5)->timeout, Milliseconds(2'500));
  EXPECT_EQ(with(Setting::timeout, "5")->timeout, Milliseconds(5'000)) << "--var passes text";
  EXPECT_EQ(with(Setting::timeout, 5, RunCommand{}, "${vars.x}m")->timeout, Milliseconds(300'000));
  EXPECT_EQ(with(Setting::total_timeout, "1h")->total_timeout, Milliseconds(3'600'000));
  EXPECT_EQ(with(Setting::deadline, "1h", Loop{})->deadline, Milliseconds(3'600'000));
  EXPECT_EQ(std::get<Loop>(with(Setting::loop_max, 7, Loop{})->work).max, 7U);
  EXPECT_EQ(std::get<Loop>(with(Setting::loop_max, "7", Loop{})->work).max, 7U);
  EXPECT_EQ(std::get<Map>(with(Setting::parallel, 4, Map{})->work).parallel, 4U);
  EXPECT_EQ(std::get<Map>(with(Setting::max_failures, 4, Map{})->work).max_failures, 4U);
  EXPECT_EQ(std::get<Map>(with(Setting::max_failures, "2.5%", Map{})->work).max_failures_percent, 2.5);
  EXPECT_EQ(std::get<WaitFor>(with(Setting::signal, "go-1", WaitFor{})->work).signal, "go-1");
  EXPECT_EQ(std::get<WaitFor>(with(Setting::signal_timeout, 1, WaitFor{})->work).timeout, Milliseconds(1'000));
  EXPECT_EQ(std::get<Approve>(with(Setting::gate_timeout, "1d", Approve{})->work).timeout, Milliseconds(86'400'000));
  Map breaking;
  breaking.circuit_breaker = CircuitBreaker{};
  const auto opened = with(Setting::breaker_cool_down, "2s", breaking);
  EXPECT_EQ(std::get<Map>(opened->work).circuit_breaker->cool_down, Milliseconds(2'000));
  EXPECT_TRUE(opened->computed.empty());
}

TEST(StepSettings, OfRetriesAreComputedToo) {
  Step step;
  step.retry.backoff = Milliseconds(10);
  step.retry.computed = {computed(Setting::attempts, "${vars.n}"), computed(Setting::max_backoff, "${vars.n}s"),
                         computed(Setting::factor, "${vars.n / 2}")};
  const auto resolved = with_settings(step, Variables(Json{{"n", 5}}));
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->retry.attempts, 5U);
  EXPECT_EQ(resolved->retry.max_backoff, Milliseconds(5'000));
  EXPECT_EQ(resolved->retry.factor, 2.5);
  EXPECT_EQ(resolved->retry.backoff, Milliseconds(10));
  EXPECT_TRUE(resolved->retry.computed.empty());
}

TEST(StepSettings, AnInvalidValueIsAnError) {
  const auto told = [](const Result<Step>& step) { return step ? std::string("valid") : step.error().message; };
  const std::string duration =
      "'timeout: ${vars.x}' must be a positive duration, for example 30s, or a number of "
      "seconds, not ";
  EXPECT_EQ(told(with(Setting::timeout, "soon")), duration + "'soon'");
  EXPECT_EQ(told(with(Setting::timeout, 0)), duration + "'0'");
  EXPECT_EQ(told(with(Setting::timeout, -1)), duration + "'-1'");
  EXPECT_EQ(told(with(Setting::timeout, "0s")), duration + "'0s'");
  EXPECT_EQ(told(with(Setting::timeout, nullptr)), duration + "'null'");
  EXPECT_EQ(told(with(Setting::timeout, "36501d")), duration + "'36501d'");
  EXPECT_EQ(told(with(Setting::timeout, 1e300)), duration + "'1e+300'");
  EXPECT_EQ(told(with(Setting::timeout, {{"a", 1}})), duration + R"('{"a":1}')");
  const std::string max = "'max: ${vars.x}' must be a whole number from 1 to 1000000, not ";
  EXPECT_EQ(told(with(Setting::loop_max, 0, Loop{})), max + "'0'");
  EXPECT_EQ(told(with(Setting::loop_max, 2.5, Loop{})), max + "'2.5'");
  EXPECT_EQ(told(with(Setting::loop_max, 1'000'001, Loop{})), max + "'1000001'");
  EXPECT_EQ(told(with(Setting::loop_max, "many", Loop{})), max + "'many'");
  EXPECT_EQ(told(with(Setting::max_failures, "101%", Map{})),
            "'max_failures: ${vars.x}' must be a whole number, or a percentage such as 10%, not '101%'");
  EXPECT_EQ(told(with(Setting::signal, "two words", WaitFor{})),
            "'signal: ${vars.x}' must be one word of letters, digits and _ - . / :, not 'two words'");
  EXPECT_EQ(told(with(Setting::timeout, 1, RunCommand{}, "${vars.y}")),
            "'timeout: ${vars.y}' can't be evaluated: no member 'y' (known: x)");
}

TEST(StepSettings, AStepsOwnRetryReplacesKeyByKey) {
  RetrySettings base;
  base.attempts = 3;
  base.computed = {computed(Setting::backoff, "${vars.b}")};
  RetrySettings over;
  over.backoff = Milliseconds(5);
  over.computed = {computed(Setting::attempts, "${vars.n}")};
  const RetrySettings all = merged(base, over);
  EXPECT_EQ(all.backoff, Milliseconds(5));
  EXPECT_FALSE(all.attempts);
  ASSERT_EQ(all.computed.size(), 1U);
  EXPECT_EQ(all.computed[0].setting, Setting::attempts);
}

TEST(StepSettings, AFailureLimitIsACountOrAPercentage) {
  EXPECT_EQ(failure_limit(10)->count, 10U);
  EXPECT_EQ(failure_limit(0)->count, 0U);
  EXPECT_EQ(failure_limit("10%")->percent, 10);
  EXPECT_EQ(failure_limit("0.5 %")->percent, 0.5);
  for (const Json& value :
       {Json("%"), Json("-1%"), Json("101%"), Json("ten%"), Json("10"), Json(-1), Json(1.5), Json()})
    EXPECT_FALSE(failure_limit(value)) << value;
}

}  // namespace
}  // namespace pawl
