#include "engine/state_text.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/json.hpp"

namespace pawl {
namespace {

std::string applied(std::string text, const std::vector<TextChange>& changes) {
  for (auto change = changes.rbegin(); change != changes.rend(); ++change)
    text.replace(change->offset, change->removed, change->inserted);
  return text;
}

TEST(StateText, IsAnObjectWithTheStepsLast) {
  StateText text;
  text.reset(R"({"a":1})", {{"x", "{}"}, {"y", "[2]"}});
  EXPECT_EQ(text.text(), R"({"a":1,"steps":{"x":{},"y":[2]}})");
  EXPECT_EQ(text.size(), text.text().size());
}

TEST(StateText, AChangeNamesOnlyWhatChanged) {
  StateText text;
  text.reset(R"({"a":1})", {{"x", "{}"}, {"y", "[2]"}});
  const std::string before = text.text();
  const auto changes = text.update(R"({"a":1})", {{"y", "[3]"}, {"z", "4"}});
  ASSERT_TRUE(changes);
  ASSERT_EQ(changes->size(), 2U);
  EXPECT_EQ((*changes)[0].inserted, "\"y\":[3]");
  EXPECT_EQ((*changes)[1].inserted, ",\"z\":4");
  EXPECT_EQ(applied(before, *changes), text.text());
}

TEST(StateText, WithoutTheFirstStepTheWholeTextIsSaved) {
  StateText text;
  text.reset("{}", {{"x", "1"}, {"y", "2"}});
  EXPECT_FALSE(text.update("{}", {{"x", std::nullopt}}));
  EXPECT_EQ(text.text(), R"({"steps":{"y":2}})");
}

TEST(StateText, RandomChangesLeadToTheSameText) {
  std::mt19937 random(7);
  const auto below = [&](unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random); };
  for (int round = 0; round < 200; ++round) {
    StateText text;
    text.reset(R"({"n":0})", {});
    std::string known = text.text();
    for (int i = 0; i < 30; ++i) {
      std::vector<StateText::Step> steps;
      for (unsigned k = below(4); k-- > 0;) {
        const std::string path = "s" + std::to_string(below(12));
        const bool twice = std::ranges::any_of(steps, [&](const auto& step) { return step.path == path; });
        if (twice) continue;
        steps.push_back({path, std::nullopt});
        if (below(3) != 0) steps.back().record = std::to_string(below(1'000));
      }
      const std::string head = R"({"n":)" + std::to_string(below(200)) + "}";
      const auto changes = text.update(head, steps);
      known = changes ? applied(known, *changes) : text.text();
      ASSERT_EQ(known, text.text());
      ASSERT_EQ(text.size(), known.size());
      ASSERT_FALSE(Json::parse(known, nullptr, false).is_discarded()) << known;
    }
  }
}

}  // namespace
}  // namespace pawl
