#include "service/store_sizes.hpp"

#include "testing/service_fixture.hpp"

namespace pawl::testing {
namespace {

class StoreSizesTest : public Service {};

TEST_F(StoreSizesTest, TheLargestRunsComeFirstAndAllAreCounted) {
  save_text("small", "{}");
  save_text("large", fmt::format(R"({{"text": "{}"}})", std::string(5000, 'x')));
  save_text("medium", fmt::format(R"({{"text": "{}"}})", std::string(500, 'x')));
  const Result<StoreSizes> sizes = store_sizes(*store_, 2);
  ASSERT_TRUE(sizes) << describe(sizes.error());
  EXPECT_EQ(sizes->runs, 3U);
  ASSERT_EQ(sizes->largest.size(), 2U);
  EXPECT_EQ(sizes->largest[0].run.id.text(), "large");
  EXPECT_EQ(sizes->largest[1].run.id.text(), "medium");
  EXPECT_GT(sizes->run_bytes, sizes->largest[0].bytes.total() + sizes->largest[1].bytes.total());
  EXPECT_EQ(sizes->largest[0].growth.per_checkpoint, 0);
}

TEST_F(StoreSizesTest, TheKeysOfAStateAreFollowedThroughItsHistory) {
  for (std::size_t i = 1; i <= 30; ++i)
    save_text("r", fmt::format(R"({{"log": {{"a": "{}", "b": 1}}, "n": 7}})", std::string(i * 10, 'x')));
  const Result<RunSizes> sizes = run_sizes(*store_, run_id("r"), 20);
  ASSERT_TRUE(sizes) << describe(sizes.error());
  EXPECT_EQ(sizes->run.growth.per_checkpoint, 10);
  ASSERT_EQ(sizes->samples.size(), 10U);
  EXPECT_EQ(sizes->samples.front().sequence.value, 1U);
  EXPECT_EQ(sizes->samples.back().sequence.value, 30U);
  EXPECT_EQ(sizes->samples.back().bytes, sizes->run.growth.state_bytes);
  ASSERT_EQ(sizes->keys.size(), 2U);
  const SizedKey& log = sizes->keys.front();
  EXPECT_EQ(log.name, "log");
  EXPECT_GT(log.share, 0.9);
  EXPECT_EQ(log.grown_bytes(), 290);
  ASSERT_EQ(log.history.size(), 10U);
  EXPECT_EQ(log.history.back(), log.bytes);
  EXPECT_EQ(sizes->keys.back().grown_bytes(), 0);
  ASSERT_EQ(sizes->inner.size(), 2U);
  EXPECT_EQ(sizes->inner.front().name, "a");
}

TEST_F(StoreSizesTest, AStateWithoutKeysHasSamplesOnly) {
  save_text("r", "7");
  const Result<RunSizes> sizes = run_sizes(*store_, run_id("r"), 20);
  ASSERT_TRUE(sizes) << describe(sizes.error());
  EXPECT_TRUE(sizes->keys.empty());
  EXPECT_EQ(sizes->samples.size(), 1U);
}

}  // namespace
}  // namespace pawl::testing
