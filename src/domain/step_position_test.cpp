#include "domain/step_position.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using How = ResumePoint::How;

TEST(StepPosition, SaysWhereAResumeBegins) {
  EXPECT_EQ(resume_point({3, BeforeStep{}}), (ResumePoint{3, How::start}));
  EXPECT_EQ(resume_point({3, StepCompleted{"done"}}), (ResumePoint{4, How::start}));
  EXPECT_EQ(resume_point({3, StepFailed{"500", true}}), (ResumePoint{3, How::retry}));
  EXPECT_EQ(resume_point({3, StepFailed{"401", false}}), (ResumePoint{3, How::stop}));
  EXPECT_EQ(resume_point({3, StepInterrupted{true}}), (ResumePoint{3, How::retry}));
  EXPECT_EQ(resume_point({3, StepInterrupted{false}}), (ResumePoint{4, How::start}));
  EXPECT_EQ(resume_point({3, StepWaiting{"approval"}}), (ResumePoint{3, How::wait}));
}

TEST(StepPosition, HasAKindAndAName) {
  EXPECT_EQ(kind_of({0, BeforeStep{}}), Kind::step_start);
  EXPECT_EQ(kind_of({0, StepCompleted{}}), Kind::step_complete);
  EXPECT_EQ(kind_of({0, StepFailed{}}), Kind::error);
  EXPECT_EQ(kind_of({0, StepInterrupted{}}), Kind::interrupted);
  EXPECT_EQ(kind_of({0, StepWaiting{}}), Kind::waiting);
  EXPECT_EQ(to_text(StepPosition{0, StepFailed{}}), "failed");
  EXPECT_EQ(to_text(StepPosition{0, BeforeStep{}}), "before_step");
}

}  // namespace
}  // namespace pawl
