#include "domain/save_rules.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

class SaveRules : public testing::Test {
 protected:
  SaveRules() {
    head_.sequence = Sequence{7};
    head_.id.bytes[0] = 7;
    head_.checksum = "sha256:7";
    earlier_.sequence = Sequence{3};
    earlier_.caller_id = "id-1";
  }
  [[nodiscard]] SaveFacts with_head() const { return {run_, &head_, state_, nullptr, false}; }
  [[nodiscard]] SaveFacts with_earlier(bool same_body) const { return {run_, &head_, state_, &earlier_, same_body}; }

  RunId run_ = *RunId::parse("nightly");
  CheckpointInfo head_;
  CheckpointInfo earlier_;
  std::string state_ = R"({"n": 1})";
};

bool writes(const Result<SaveDecision>& decision) { return decision && std::holds_alternative<WriteState>(*decision); }

TEST_F(SaveRules, WriteTheFirstState) {
  const SaveRequest request{.body = "{}"};
  const auto decision = decide_save(request, {.run = run_});
  ASSERT_TRUE(writes(decision));
  EXPECT_EQ(state_to_write(request, std::get<WriteState>(*decision)), "{}");
}

TEST_F(SaveRules, AnswerAnUnchangedStateWithTheLastCheckpoint) {
  const auto decision = decide_save({.body = state_}, with_head());
  ASSERT_TRUE(decision);
  const Saved& saved = std::get<Saved>(*decision);
  EXPECT_EQ(saved.outcome, Saved::Outcome::unchanged);
  EXPECT_EQ(saved.sequence, Sequence{7});
  EXPECT_EQ(saved.id, head_.id);
  EXPECT_EQ(saved.checksum, "sha256:7");
  EXPECT_FALSE(writes(decide_save({.body = "{}", .form = Form::patch}, with_head())));
}

TEST_F(SaveRules, WriteAnEqualStateThatSaysSomethingNew) {
  const auto written = [&](SaveRequest request) {
    request.body = state_;
    return writes(decide_save(request, with_head()));
  };
  EXPECT_FALSE(written({}));
  EXPECT_TRUE(written({.kind = Kind::error}));
  EXPECT_TRUE(written({.status = Status::completed}));
  EXPECT_TRUE(written({.name = "x"}));
  EXPECT_TRUE(written({.stage = "x"}));
  EXPECT_TRUE(written({.step = "x"}));
  EXPECT_TRUE(written({.also = {{.kind = Kind::step_complete, .step = "x"}}}));
  EXPECT_TRUE(written({.metadata = "{}"}));
  EXPECT_TRUE(written({.events = {{"x", "{}"}}}));
  EXPECT_TRUE(written({.duplicates = Duplicates::write}));
  EXPECT_TRUE(writes(decide_save({.body = R"({"n":1})"}, with_head())));  // different bytes
}

TEST_F(SaveRules, RefuseAnotherParentThanTheExpectedOne) {
  const auto decision = decide_save({.body = "{}", .expected_parent = Sequence{6}}, with_head());
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().code, Code::parent_conflict);
  EXPECT_EQ(decision.error().message, "the last checkpoint of run 'nightly' is 7, but 6 was expected");
  EXPECT_EQ(decision.error().advice, Advice::list_checkpoints);
  EXPECT_EQ(decision.error().subject.run, "nightly");
  EXPECT_TRUE(writes(decide_save({.body = "{}", .expected_parent = Sequence{7}}, with_head())));
  EXPECT_FALSE(decide_save({.body = "{}", .expected_parent = Sequence{0}}, with_head()));
  EXPECT_TRUE(writes(decide_save({.body = "{}", .expected_parent = Sequence{0}}, {.run = run_})));
  EXPECT_EQ(decide_save({.body = "{}", .expected_parent = Sequence{1}}, {.run = run_}).error().message,
            "the last checkpoint of run 'nightly' does not exist yet, but 1 was expected");
  EXPECT_FALSE(decide_save({.body = state_, .expected_parent = Sequence{6}}, with_head())) << "S5 before S4";
}

TEST_F(SaveRules, AnswerARepeatedCallersIdBeforeAnythingElse) {
  const auto decision = decide_save(
      {.body = R"({"$append":[1]})", .form = Form::patch, .caller_id = "id-1", .expected_parent = Sequence{2}},
      with_earlier(true));
  ASSERT_TRUE(decision) << "neither the parent nor the patch is looked at";
  EXPECT_EQ(std::get<Saved>(*decision).outcome, Saved::Outcome::repeated);
  EXPECT_EQ(std::get<Saved>(*decision).sequence, Sequence{3});
}

TEST_F(SaveRules, RefuseACallersIdForADifferentSave) {
  const auto other_body = decide_save({.body = "{}", .caller_id = "id-1"}, with_earlier(false));
  EXPECT_EQ(other_body.error().code, Code::caller_id_reused);
  EXPECT_EQ(other_body.error().where, "nightly@3");
  const auto other_kind = decide_save({.body = "{}", .kind = Kind::error, .caller_id = "id-1"}, with_earlier(true));
  EXPECT_EQ(other_kind.error().code, Code::caller_id_reused);
}

TEST_F(SaveRules, ApplyAPatchToTheLastState) {
  const auto patched = [](const SaveRequest& request, const SaveFacts& facts) {
    return std::get<WriteState>(*decide_save(request, facts)).patched;
  };
  const SaveRequest request{.body = R"({"m":2})", .form = Form::patch};
  EXPECT_EQ(patched(request, with_head()), R"({"n": 1,"m":2})");
  EXPECT_EQ(patched(request, {.run = run_}), R"({"m":2})");
  EXPECT_EQ(decide_save({.body = R"({"n":{"$append":[1]}})", .form = Form::patch}, with_head()).error().code,
            Code::invalid_patch);
}

TEST_F(SaveRules, TellBodiesAndFormsApart) {
  const std::uint64_t fingerprint = body_fingerprint({.body = "{}"});
  EXPECT_EQ(fingerprint, body_fingerprint({.body = "{}", .name = "x"}));
  EXPECT_NE(fingerprint, body_fingerprint({.body = "[]"}));
  EXPECT_NE(fingerprint, body_fingerprint({.body = "{}", .form = Form::patch}));
}

TEST_F(SaveRules, NeverTurnTimeBack) {
  EXPECT_EQ(next_timestamp({5}, {9}), Timestamp{9});
  EXPECT_EQ(next_timestamp({9}, {5}), Timestamp{9});
  EXPECT_EQ(next_timestamp({kClockErrorMaxUs + 5}, {5}), Timestamp{kClockErrorMaxUs + 5});
  // A save was made while the clock was years ahead.
  EXPECT_EQ(next_timestamp({kClockErrorMaxUs + 6}, {5}), Timestamp{5});
}

TEST_F(SaveRules, RefuseAPatchThatMakesTheStateTooLargeOrTooDeep) {
  SaveFacts facts = with_head();
  facts.state_bytes_max = 20;
  const auto large = decide_save({.body = R"({"more": "0123456789"})", .form = Form::patch}, facts);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Code::state_too_large);

  state_ = R"({"deep":)" + std::string(500, '[') + std::string(500, ']') + "}";
  const std::string patch = R"({"deep":{"$append":[)" + std::string(600, '[') + std::string(600, ']') + "]}}";
  const auto deep = decide_save({.body = patch, .form = Form::patch}, with_head());
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, Code::json_too_deep);
}

TEST_F(SaveRules, WriteAnUnchangedStateThatCarriesACallersId) {
  EXPECT_TRUE(writes(decide_save({.body = state_, .caller_id = "new"}, with_head())));
}

TEST_F(SaveRules, RefuseACheckedStatusThatTheRunCannotTake) {
  head_.status = Status::completed;
  const SaveRequest back{.body = "{}", .status = Status::active, .status_change = StatusChange::checked};
  EXPECT_EQ(decide_save(back, with_head()).error().code, Code::transition_refused);
  EXPECT_TRUE(writes(decide_save({.body = "{}", .status = Status::active}, with_head())));
  EXPECT_TRUE(writes(
      decide_save({.body = "{}", .status = Status::completed, .status_change = StatusChange::checked}, with_head())));
  // A fork starts over, and a repeated save returns the earlier result.
  SaveFacts forked = with_head();
  forked.head_is_shared = true;
  EXPECT_TRUE(writes(decide_save(back, forked)));
  SaveRequest repeated = back;
  repeated.caller_id = "id-1";
  const auto decision = decide_save(repeated, with_earlier(true));
  ASSERT_TRUE(decision);
  EXPECT_EQ(std::get<Saved>(*decision).outcome, Saved::Outcome::repeated);
}

TEST(DraftCheckpoint, FollowsTheLatestAndKeepsMetadataOnOneLine) {
  SaveRequest request;
  request.name = "before-deploy";
  request.stage = "build";
  request.metadata = "{\n  \"a\": 1\n}";
  const CheckpointInfo info =
      draft_checkpoint(request, 2, {.latest = Sequence{4}, .previous = {9}, .now = {5}, .id = {}});
  EXPECT_EQ(info.sequence, Sequence{5});
  EXPECT_EQ(info.parent, Sequence{4});
  EXPECT_EQ(info.created, Timestamp{9});
  EXPECT_EQ(info.name, "before-deploy");
  EXPECT_EQ(info.stage, "build");
  EXPECT_EQ(info.metadata.find('\n'), std::string::npos);
  EXPECT_EQ(info.state_bytes, 2U);
}

}  // namespace
}  // namespace pawl
