#include "engine/mask_json.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(MaskJson, TextsOfAnEventAreMaskedAndWhatTheStateRefersToIsNot) {
  const std::string token = "ghp_" + std::string(36, 'a');
  Json data = {{"step", token},
               {"text", "x " + token},
               {"deep", {1, {{"a", token}}}},
               {"output", {{"t", token}}},
               {"workflow", {{"text", token}}}};
  const auto patterns = SecretPatterns::make({}, {});
  ASSERT_TRUE(patterns);
  MaskCounts counts;
  mask_event(data, *patterns, counts);
  const Json wanted = {{"step", token},
                       {"text", "x [masked:github-token]"},
                       {"deep", {1, {{"a", "[masked:github-token]"}}}},
                       {"output", {{"t", token}}},
                       {"workflow", {{"text", token}}}};
  EXPECT_EQ(data, wanted);
  EXPECT_EQ(counts, (MaskCounts{{"github-token", 2}}));
}

}  // namespace
}  // namespace pawl
