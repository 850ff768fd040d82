#include "service/store_sizes.hpp"

#include "testing/manual_environment.hpp"
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

/// A store in which another process erases a run just before something about it is read.
class ErasingStore final : public MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  Result<RunFootprint> footprint(const RunId& run) override {
    if (before_footprint == run.text()) lose(run);
    return MemoryStore::footprint(run);
  }
  Result<std::uint64_t> shared_bytes() override {
    if (!before_growth.empty()) lose(*RunId::parse(before_growth));
    return MemoryStore::shared_bytes();
  }
  std::string before_footprint;
  std::string before_growth;

 private:
  void lose(const RunId& run) { EXPECT_TRUE(erase(run, {.reason = "old"})); }
};

TEST_F(StoreSizesTest, ARunThatIsErasedMeanwhileIsLeftOut) {
  ManualClock clock;
  SeededRandom random(1);
  ErasingStore store(Environment{&clock, &random, {}});
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE((*store.open_run(run_id(name), {}))->save({.body = "{}"}));
  store.before_footprint = "a";
  store.before_growth = "b";
  const Result<StoreSizes> sizes = store_sizes(store, 5);
  ASSERT_TRUE(sizes) << describe(sizes.error());
  EXPECT_EQ(sizes->runs, 2U);
  EXPECT_TRUE(sizes->damaged.empty());
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
