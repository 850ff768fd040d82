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

TEST(Dependents, AreFoundAlongALongChain) {
  std::vector<ParentLink> links;
  for (std::uint64_t i = 1; i <= 100'000; ++i) links.push_back({{i}, {i - 1}});
  EXPECT_EQ(dependents_of({1}, links).size(), 99'999U);
}

}  // namespace
}  // namespace pawl
