#include "domain/lifecycle.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Lifecycle, AllowsTheKnownTransitionsAndNoOther) {
  const auto allowed = [](Status from, Status to) {
    const Result<Lifecycle> result = transition({from, 0}, to);
    EXPECT_TRUE(result || result.error().code == Code::transition_refused);
    return result.has_value();
  };
  using enum Status;
  constexpr Status kAll[] = {active, completed, failed, recovering};
  for (const Status from : kAll) {
    for (const Status to : kAll) {
      const bool expected = (from == active && to != active) || (from == failed && to == recovering) ||
                            (from == recovering && (to == completed || to == failed));
      EXPECT_EQ(allowed(from, to), expected) << to_text(from) << " -> " << to_text(to);
    }
  }
}

TEST(Lifecycle, CountsAFailedRecovery) {
  Lifecycle life{Status::active, 0};
  life = *transition(life, Status::failed);
  EXPECT_EQ(life.retry_count, 0U) << "the first failure is no retry";
  life = *transition(life, Status::recovering);
  life = *transition(life, Status::failed);
  EXPECT_EQ(life, (Lifecycle{Status::failed, 1}));
  life = *transition(*transition(life, Status::recovering), Status::completed);
  EXPECT_EQ(life, (Lifecycle{Status::completed, 1}));
}

RecoveryFacts facts(Status status, RunOwner owner) {
  RecoveryFacts made;
  made.address = "nightly@4";
  made.lifecycle = Lifecycle{status, 0};
  made.owner = owner;
  return made;
}

Code code_of(const RecoveryFacts& recovery) {
  const Result<void> result = check_recoverable(recovery);
  return result ? Code{} : result.error().code;
}

TEST(Recoverable, IsWhatACrashOrAFailureLeavesBehind) {
  EXPECT_TRUE(check_recoverable(facts(Status::active, RunOwner::dead)));
  EXPECT_TRUE(check_recoverable(facts(Status::recovering, RunOwner::dead)));
  EXPECT_TRUE(check_recoverable(facts(Status::failed, RunOwner::dead)));
  EXPECT_TRUE(check_recoverable(facts(Status::failed, RunOwner::alive)));
}

TEST(Recoverable, HasACodeForEachRefusal) {
  RecoveryFacts missing = facts(Status::failed, RunOwner::dead);
  missing.lifecycle.reset();
  EXPECT_EQ(code_of(missing), Code::checkpoint_not_found);
  EXPECT_EQ(code_of(facts(Status::completed, RunOwner::dead)), Code::recover_completed);
  EXPECT_EQ(code_of(facts(Status::recovering, RunOwner::alive)), Code::recovery_in_progress);
  EXPECT_EQ(code_of(facts(Status::active, RunOwner::alive)), Code::run_busy);

  RecoveryFacts last = facts(Status::failed, RunOwner::dead);
  last.handler = "resume_nightly";
  last.handler_registered = false;
  EXPECT_EQ(code_of(last), Code::handler_not_registered);
  last.missing_parent = Sequence{2};
  EXPECT_EQ(code_of(last), Code::chain_broken);
  last.lifecycle->retry_count = 3;
  EXPECT_EQ(code_of(last), Code::retries_exhausted);
  EXPECT_EQ(check_recoverable(last).error().where, "nightly@4");
}

}  // namespace
}  // namespace pawl
