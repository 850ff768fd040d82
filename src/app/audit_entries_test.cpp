#include "engine/audit_entries.hpp"

#include <gtest/gtest.h>

#include "testing/memory_under_test.hpp"

namespace pawl {
namespace {

class AuditEntries : public ::testing::Test {
 protected:
  void save(std::string_view body) {
    SaveRequest request;
    request.body = body;
    request.stage = "load";
    ASSERT_TRUE((*store_.open_run(run_, {}))->save(request));
  }
  Result<AddedEntry> add(NewAuditEntry entry) {
    return add_audit_entry(store_, run_, std::move(entry), settings_, clock_);
  }

  const RunId run_ = *RunId::parse("r");
  testing::MemoryUnderTest subject_;
  std::unique_ptr<Store> handle_ = subject_.open();
  Store& store_ = *handle_;
  Clock& clock_ = subject_.clock();
  Settings settings_;
};

TEST_F(AuditEntries, AreASaveOfTheSameState) {
  save(R"({"a": 1})");
  const auto added = add({"reviewed", "ann", {{"verdict", "fine"}}});
  ASSERT_TRUE(added) << describe(added.error());
  EXPECT_FALSE(added->asked);
  EXPECT_EQ(added->sequence, Sequence{2});
  const auto restored = store_.restore(run_, {});
  EXPECT_EQ(restored->state, R"({"a": 1})");
  EXPECT_EQ(restored->info.stage, "load");
  const auto entries = store_.audit(run_, 2, 10);
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ(entries->front().type, "reviewed");
  EXPECT_EQ(entries->front().agent, "ann");
  EXPECT_EQ(entries->front().data, R"({"verdict":"fine"})");
}

TEST_F(AuditEntries, AreCountedInStatesThatCountEvents) {
  save(R"({"pawl":"steps/1","events":3,"steps":{}})");
  ASSERT_TRUE(add({"reviewed", "", Json::object()}));
  EXPECT_EQ(store_.restore(run_, {})->state, R"({"pawl":"steps/1","events":4,"steps":{}})");
}

TEST_F(AuditEntries, AreRefusedWithWhatIsWrong) {
  save("{}");
  const std::vector<std::pair<NewAuditEntry, Code>> bad = {
      {{"", "", Json::object()}, Code::invalid_label},
      {{"a\nb", "", Json::object()}, Code::invalid_label},
      {{"x", std::string(300, 'a'), Json::object()}, Code::invalid_label},
      {{"run_created", "", Json::object()}, Code::usage},
      {{"approved", "", Json::object()}, Code::usage},
      {{"workflow_changed", "", Json::object()}, Code::usage},
      {{"x", "", {{"a", std::string(70'000, 'b')}}}, Code::state_too_large},
  };
  for (const auto& [entry, code] : bad) EXPECT_EQ(add(entry).error().code, code) << entry.type;
  EXPECT_EQ(
      add_audit_entry(store_, *RunId::parse("missing"), {"x", "", Json::object()}, settings_, clock_).error().code,
      Code::run_not_found);
  EXPECT_EQ(store_.runs(10)->size(), 1U);
  EXPECT_EQ(store_.audit(run_, 0, 10)->size(), 2U);
}

TEST_F(AuditEntries, AreMaskedAsEventsAre) {
  save("{}");
  const std::string token = "ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2";
  ASSERT_TRUE(add({"leak", "", {{"token", token}}}));
  EXPECT_EQ(store_.audit(run_, 0, 10)->at(2).data.find(token), std::string::npos);
}

TEST_F(AuditEntries, WaitForWhoeverHoldsTheRunAndGiveUp) {
  save("{}");
  const auto holder = store_.open_run(run_, {});
  ASSERT_TRUE(holder);
  EXPECT_EQ(add({"x", "", Json::object()}).error().code, Code::run_busy);
  EXPECT_EQ(store_.inbox(run_)->size(), 0U) << "nobody would read it";
}

TEST(AgentOf, IsWhoTheDataNames) {
  EXPECT_EQ(agent_of({{"by", "ann"}, {"agent", "bob"}}), "ann");
  EXPECT_EQ(agent_of({{"by", 3}, {"agent", "bob"}}), "bob");
  EXPECT_EQ(agent_of({{"by", "a\nb"}}), "");
  EXPECT_EQ(agent_of(Json::object()), "");
}

}  // namespace
}  // namespace pawl
