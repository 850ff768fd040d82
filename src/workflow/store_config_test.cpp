#include "workflow/store_config.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(StoreConfig, RecoveryIsOffUnlessItIsAskedFor) {
  const auto config = parse_store_config("", "config.yaml");
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->recovery.automatic);
  EXPECT_EQ(config->recovery.attempts_max, 3U);
}

TEST(StoreConfig, RecoveryIsBoundedInAttemptsAndTime) {
  const auto config = parse_store_config("recovery: { auto: true, max_attempts: 5, within: 2h }\nother: 1\n", "config.yaml");
  ASSERT_TRUE(config) << describe(config.error());
  EXPECT_TRUE(config->recovery.automatic);
  EXPECT_EQ(config->recovery.attempts_max, 5U);
  EXPECT_EQ(config->recovery.within, Milliseconds(7'200'000));
}

TEST(StoreConfig, FaultsHaveAPlace) {
  for (const char* text : {"recovery: 1", "recovery: { auto: perhaps }", "recovery: { soon: 1 }", "recovery: { within: 5 }", "[1]", "a: ["}) {
    const auto config = parse_store_config(text, "config.yaml");
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().code, Code::invalid_workflow);
    EXPECT_TRUE(config.error().where.starts_with("config.yaml:")) << config.error().where;
  }
}

}  // namespace
}  // namespace pawl
