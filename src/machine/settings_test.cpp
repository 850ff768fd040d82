// Settings that are expressions, and conditions of retries.
#include "testing/machine_fixture.hpp"

namespace pawl::machine {
namespace {

using Paths = std::vector<std::string>;

ComputedSetting computed(Setting setting, const std::string& source) { return {setting, text(source)}; }

class SettingsTest : public MachineTest {
 protected:
  /// The output of `plan` is known when the second step begins.
  void after_plan(Step step, const Json& output) {
    sequential({handler("plan"), std::move(step)});
    begin();
    feed(fact::AttemptEnded{.node = at("plan").id, .start = 1, .output = output});
  }
};

TEST_F(SettingsTest, OfALoopAreComputedFromOutputs) {
  Step loop = loop_of("l", 1, {handler("a")});
  loop.computed = {computed(Setting::loop_max, "${steps.plan.output.rounds}")};
  after_plan(loop, {{"rounds", 2}});
  end("l[1].a", 0);
  end("l[2].a", 0);
  EXPECT_EQ(finish()->status, RunStatus::completed);
  EXPECT_EQ(started(), (Paths{"plan", "l[1].a", "l[2].a"}));
}

TEST_F(SettingsTest, KeepTheirValuesAfterACrash) {
  Step loop = loop_of("l", 1, {handler("a")});
  loop.computed = {computed(Setting::loop_max, "${steps.plan.output.rounds}")};
  after_plan(loop, {{"rounds", 2}});
  end("l[1].a", 0);
  crash_and_resume(true);
  end("l[2].a", 0);
  EXPECT_EQ(finish()->status, RunStatus::completed);
}

TEST_F(SettingsTest, AnInvalidOneFailsTheStep) {
  Step loop = loop_of("l", 1, {handler("a")});
  loop.computed = {computed(Setting::loop_max, "${steps.plan.output.rounds}")};
  after_plan(loop, {{"rounds", "many"}});
  ASSERT_TRUE(finish());
  EXPECT_EQ(finish()->status, RunStatus::failed);
  EXPECT_EQ(at("l").record.error,
            "'max: ${steps.plan.output.rounds}' must be a whole number from 1 to 1000000, not 'many'");
}

TEST_F(SettingsTest, AttemptsHoldOverAutomaticResumes) {
  Step step = handler("b");
  step.retry.computed = {computed(Setting::attempts, "${steps.plan.output}")};
  after_plan(step, 2);
  end("b", 1);
  wait(Milliseconds(150));
  end("b", 1);
  EXPECT_EQ(finish()->status, RunStatus::failed);
  crash_and_resume(true);
  EXPECT_EQ(started(), Paths{}) << "both attempts are used up";
  EXPECT_EQ(finish()->status, RunStatus::failed);
  EXPECT_EQ(at("b").record.error, "exit status 1");
  crash_and_resume(false);
  EXPECT_EQ(started(), Paths{"b"});
}

TEST_F(SettingsTest, TheNameOfASignalCanBeComputed) {
  Step wait_step = step_of("w", WaitFor{});
  wait_step.computed = {computed(Setting::signal, "go-${steps.plan.output}")};
  after_plan(wait_step, "v1");
  EXPECT_EQ(std::get<WaitFor>(at("w").step->work).signal, "go-v1");
  EXPECT_EQ(at("w").record.detail, "go-v1");
}

TEST_F(SettingsTest, ARetryConditionKnowsTheAttempt) {
  Step step = handler("a");
  step.retry.attempts = 5;
  step.retry.when = expression("exit_code == 75 && attempt < 3 && error == 'exit status 75'");
  sequential({step});
  begin();
  end("a", 75);
  wait(Milliseconds(150));
  end("a", 75);
  wait(Milliseconds(300));
  end("a", 75);
  EXPECT_EQ(finish()->status, RunStatus::failed) << "it was the third attempt";
  EXPECT_EQ(started(), (Paths{"a", "a", "a"}));
}

TEST_F(SettingsTest, ARetryConditionThatIsFalseEndsTheStep) {
  Step step = handler("a");
  step.retry.attempts = 5;
  step.retry.when = expression("exit_code == 75");
  sequential({step});
  begin();
  end("a", 1);
  EXPECT_EQ(finish()->status, RunStatus::failed);
}

}  // namespace
}  // namespace pawl::machine
