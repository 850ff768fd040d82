#include "domain/dependents.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using Sequences = std::vector<Sequence>;

TEST(Dependents, AreFoundThroughOthers) {
  const ParentLink links[] = {{{5}, {4}}, {{1}, {0}}, {{2}, {1}}, {{4}, {2}}, {{3}, {1}}};
  EXPECT_EQ(dependents_of({1}, links), (Sequences{{2}, {3}, {4}, {5}}));
  EXPECT_EQ(dependents_of({2}, links), (Sequences{{4}, {5}}));
  EXPECT_EQ(dependents_of({5}, links), Sequences{});
  EXPECT_EQ(dependents_of({9}, links), Sequences{});
}

TEST(Dependents, SurviveACycle) {
  const ParentLink links[] = {{{1}, {3}}, {{2}, {1}}, {{3}, {2}}};
  EXPECT_EQ(dependents_of({1}, links), (Sequences{{2}, {3}}));
}

TEST(Dependents, OfAStepAreTheStepsThatWaitForIt) {
  Workflow workflow;
  for (const char* id : {"last", "a", "b", "c"}) {
    Step step;
    step.id = id;
    workflow.steps.push_back(std::move(step));
  }
  workflow.steps[0].after = {2};  // last after b
  workflow.steps[2].after = {1};  // b after a
  using Names = std::vector<std::string>;
  EXPECT_EQ(steps_after(workflow, "a"), (Names{"last", "b"}));
  EXPECT_EQ(steps_after(workflow, "b"), Names{"last"});
  EXPECT_EQ(steps_after(workflow, "c"), Names{});
  EXPECT_EQ(steps_after(workflow, "unknown"), Names{});
}

TEST(Dependents, AreFoundAlongALongChain) {
  std::vector<ParentLink> links;
  for (std::uint64_t i = 1; i <= 100'000; ++i) links.push_back({{i}, {i - 1}});
  EXPECT_EQ(dependents_of({1}, links).size(), 99'999U);
}

}  // namespace
}  // namespace pawl
