#include "service/verify_store.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

class FakeEvidence final : public Evidence {
 public:
  Result<Uuid> store_id() override { return id; }
  Result<std::vector<std::string>> runs() override { return names; }
  Result<std::unique_ptr<RunEvidence>> run(const RunId&, Journals) override {
    return fail(Code::run_not_found, "not used");
  }

  Uuid id = {};
  std::vector<std::string> names = {"a", "b", "not a run"};
};

RunVerdict verdict_of(const std::string& run) {
  RunVerdict verdict;
  verdict.head.run = run;
  return verdict;
}

Result<RunVerdict> all_fine(Evidence&, const RunId& run, const AnchorPoint*) { return verdict_of(run.text()); }

Result<RunVerdict> b_is_bad(Evidence&, const RunId& run, const AnchorPoint*) {
  RunVerdict verdict = verdict_of(run.text());
  if (run.text() == "b") {
    verdict.bad = BadEntry{Code::audit_damaged, 3, Sequence{2}, "f", "it was changed", "restore it"};
    verdict.bad->action = Advice::show_intact;
  }
  return verdict;
}

Anchor anchor_with(std::initializer_list<const char*> runs) {
  Anchor anchor;
  for (const char* run : runs) {
    AuditHead head;
    head.run = run;
    anchor.runs.push_back(head);
  }
  return anchor;
}

Result<RunVerdict> b_was_removed(Evidence&, const RunId& run, const AnchorPoint*) {
  if (run.text() == "b") return fail(Code::run_removed, "run 'b' was removed");
  return verdict_of(run.text());
}

TEST(VerifyStore, PassesOverARunThatIsRemovedMeanwhile) {
  FakeEvidence evidence;
  const auto verified = verify_store(evidence, "", {}, b_was_removed);
  ASSERT_TRUE(verified);
  EXPECT_EQ(verified->runs.size(), 1U);
  const auto alone = verify_store(evidence, "b", {}, b_was_removed);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, Code::run_removed);
  const auto anchor = collect_anchor(evidence, Timestamp{}, b_was_removed);
  ASSERT_TRUE(anchor);
  EXPECT_EQ(anchor->runs.size(), 1U);
}

TEST(VerifyStore, SkipsFoldersThatAreNotRuns) {
  FakeEvidence evidence;
  const auto verified = verify_store(evidence, "", {}, all_fine);
  ASSERT_TRUE(verified);
  EXPECT_EQ(verified->runs.size(), 2U);
  EXPECT_TRUE(verified->fine());
  EXPECT_TRUE(check_verified(*verified));
}

TEST(VerifyStore, NamesTheFirstRunThatDoesNotVerify) {
  FakeEvidence evidence;
  const auto verified = verify_store(evidence, "", {}, b_is_bad);
  ASSERT_TRUE(verified);
  EXPECT_FALSE(verified->fine());
  const Result<void> checked = check_verified(*verified);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, "run 'b', entry 3, checkpoint 2: it was changed");
  EXPECT_EQ(checked.error().advice, Advice::show_intact);
  EXPECT_EQ(checked.error().subject.run, "b");
}

TEST(VerifyStore, ComparesTheRunsWithTheAnchor) {
  FakeEvidence evidence;
  const auto verified = verify_store(evidence, "", anchor_with({"a", "lost"}), all_fine);
  ASSERT_TRUE(verified);
  EXPECT_EQ(verified->gone, std::vector<std::string>{"lost"});
  EXPECT_EQ(verified->fresh, std::vector<std::string>{"b"});
  EXPECT_EQ(check_verified(*verified).error().code, Code::anchor_mismatch);
}

TEST(VerifyStore, RefusesTheAnchorOfAnotherStore) {
  FakeEvidence evidence;
  Anchor anchor = anchor_with({"a"});
  anchor.store = *Uuid::parse("0198c0de-0000-7000-8000-000000000001");
  const auto verified = verify_store(evidence, "a", anchor, all_fine);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, Code::anchor_mismatch);
}

TEST(VerifyStore, AnAnchorVouchesForNothingThatDoesNotVerify) {
  FakeEvidence evidence;
  const auto anchor = collect_anchor(evidence, Timestamp{1}, all_fine);
  ASSERT_TRUE(anchor);
  EXPECT_EQ(anchor->runs.size(), 2U);
  EXPECT_EQ(collect_anchor(evidence, Timestamp{1}, b_is_bad).error().code, Code::audit_damaged);
}

}  // namespace
}  // namespace pawl
