#include "domain/decision.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pawl {
namespace {

Decision sample() {
  return {Timestamp{0}, "atlas", "workflow_adjustment", "Spawned \"one\" more", "low", 0.75, {"review", "proceed"}};
}

TEST(Decision, IsWrittenAsJson) {
  EXPECT_EQ(to_json(sample()),
            R"({"timestamp":"1970-01-01T00:00:00.000000Z","agent":"atlas","type":"workflow_adjustment",)"
            R"("description":"Spawned \"one\" more","rationale":"low","confidence":0.75,)"
            R"("alternatives_considered":["review","proceed"]})");
  Decision odd = sample();
  odd.confidence = std::numeric_limits<double>::infinity();
  EXPECT_NE(to_json(odd).find("\"confidence\":null"), std::string::npos);
}

TEST(Decision, NamesItsAgentAndHasAConfidence) {
  EXPECT_TRUE(check_decision(sample()));
  Decision decision = sample();
  decision.agent.clear();
  EXPECT_FALSE(check_decision(decision));
  decision = sample();
  decision.description.clear();
  EXPECT_FALSE(check_decision(decision));
  decision = sample();
  decision.confidence = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(check_decision(decision));
  decision.confidence = 1.01;
  EXPECT_FALSE(check_decision(decision));
}

TEST(Blocker, IsWrittenAsJson) {
  EXPECT_EQ(to_json(Blocker{Timestamp{0}, "mercury", "no key"}),
            R"({"timestamp":"1970-01-01T00:00:00.000000Z","agent":"mercury","description":"no key"})");
}

}  // namespace
}  // namespace pawl
