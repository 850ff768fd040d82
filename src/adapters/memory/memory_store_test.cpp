// Behaviour of MemoryStore beyond the contract (tests/contract).
#include "adapters/memory/memory_store.hpp"

#include <gtest/gtest.h>

#include "testing/manual_environment.hpp"

namespace pawl::testing {
namespace {

SaveRequest state(std::string_view body) {
  SaveRequest request;
  request.body = body;
  return request;
}

class MemoryStoreTest : public ::testing::Test {
 protected:
  ManualClock clock_;
  SeededRandom random_{1};
};

TEST_F(MemoryStoreTest, HandlesShareADiskOrHaveTheirOwn) {
  const auto disk = make_memory_disk();
  MemoryStore one(Environment{&clock_, &random_, {}}, disk);
  MemoryStore two(Environment{&clock_, &random_, {}}, disk);
  MemoryStore apart(Environment{&clock_, &random_, {}});
  ASSERT_TRUE((*one.open_run(*RunId::parse("r"), {}))->save(state("1")));
  EXPECT_TRUE(two.run(*RunId::parse("r")));
  EXPECT_FALSE(apart.run(*RunId::parse("r")));
}

TEST_F(MemoryStoreTest, CheckCountsAndKnowsWhatIsMissing) {
  MemoryStore store(Environment{&clock_, &random_, {}});
  const RunId run = *RunId::parse("r");
  ASSERT_TRUE((*store.open_run(run, {}))->save(state("1")));
  EXPECT_EQ(store.check({}, Repair::no)->checkpoints, 1U);
  EXPECT_FALSE(store.check({}, Repair::no)->damaged());
  EXPECT_EQ(store.check({.run = run, .sequence = Sequence{2}}, Repair::no).error().code, Code::checkpoint_not_found);
  EXPECT_EQ(store.check({.run = *RunId::parse("x"), .sequence = {}}, Repair::no).error().code, Code::run_not_found);
}

}  // namespace
}  // namespace pawl::testing
