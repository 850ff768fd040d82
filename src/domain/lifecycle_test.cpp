#include "domain/lifecycle.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Lifecycle, AllowsTheKnownTransitionsAndNoOther) {
  using enum Status;
  constexpr Status kAll[] = {active, completed, failed, recovering};
  for (const Status from : kAll) {
    for (const Status to : kAll) {
      const bool expected = from == to || from == active || (from == failed && to == recovering) ||
                            (from == recovering && (to == completed || to == failed));
      EXPECT_EQ(may_become(from, to), expected) << to_text(from) << " -> " << to_text(to);
    }
  }
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
