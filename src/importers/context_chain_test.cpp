#include "importers/context_chain.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

ImportedCheckpoint link(std::string state, std::optional<std::size_t> parent) {
  ImportedCheckpoint checkpoint;
  checkpoint.state = std::move(state);
  checkpoint.parent = parent;
  return checkpoint;
}

TEST(ContextChain, MergesTheParentsInAnyOrderOfAsking) {
  const std::vector<ImportedCheckpoint> checkpoints{
      link(R"({"workflow":{"a":1,"b":1},"stage":{},"agent":{}})", std::nullopt),
      link(R"({"workflow":{"b":2},"stage":{"s":1},"agent":{}})", 0),
      link(R"({"workflow":{"c":3},"stage":{},"agent":{"x":1}})", 0),
      link(R"({"workflow":{},"stage":{"s":2},"agent":{}})", 1),
  };
  const std::vector<std::string> expected{
      R"({"workflow":{"a":1,"b":1},"stage":{},"agent":{}})",
      R"({"workflow":{"a":1,"b":2},"stage":{"s":1},"agent":{}})",
      R"({"workflow":{"a":1,"b":1,"c":3},"stage":{},"agent":{"x":1}})",
      R"({"workflow":{"a":1,"b":2},"stage":{"s":2},"agent":{}})",
  };
  ContextChain chain(checkpoints);
  for (const std::size_t index : {0U, 1U, 2U, 3U, 3U, 1U, 0U, 2U}) EXPECT_EQ(chain.state_at(index), expected[index]);
}

TEST(ContextChain, LeavesAStateWithoutAParentAsItIs) {
  const std::vector<ImportedCheckpoint> checkpoints{link(" [1.50] ", std::nullopt)};
  EXPECT_EQ(ContextChain(checkpoints).state_at(0), " [1.50] ");
}

}  // namespace
}  // namespace pawl
