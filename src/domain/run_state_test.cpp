#include "domain/run_state.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

StepRecord loaded(const char* text) {
  const Result<StepRecord> record = StepRecord::from_json(Json::parse(text));
  EXPECT_TRUE(record.has_value()) << text;
  return record.value_or(StepRecord{});
}

StepRecord with_reason(StepStatus status, StepReason reason, std::string detail) {
  StepRecord record;
  record.status = status;
  record.attempts = record.starts = record.spent = status == StepStatus::skipped ? 0 : 1;
  record.set_reason(reason, std::move(detail));
  return record;
}

TEST(StepReason, SurvivesBeingStoredWhateverTheDetailSays) {
  for (const char* detail : {"rejected", "breakpoint", "signal 'x'", "timer", "", "Publish?"}) {
    StepRecord gate = with_reason(StepStatus::waiting, StepReason::approval, detail);
    gate.binding = "sha256:1";
    StepRecord rejected = with_reason(StepStatus::failed, StepReason::rejected, detail);
    rejected.error = "rejected: no";
    for (const StepRecord& record : {gate, rejected, with_reason(StepStatus::waiting, StepReason::signal, detail),
                                     with_reason(StepStatus::skipped, StepReason::skipped, detail)}) {
      const StepRecord back = loaded(compact(record.to_json()).c_str());
      EXPECT_EQ(back.reason, record.reason) << detail;
      EXPECT_EQ(back.detail, record.detail) << detail;
    }
  }
}

TEST(StepReason, EveryWordIsParsed) {
  for (int i = 0; i <= static_cast<int>(StepReason::skipped); ++i) {
    const auto reason = static_cast<StepReason>(i);
    EXPECT_EQ(parse_step_reason(to_text(reason)), reason);
  }
  EXPECT_EQ(parse_step_reason("Rejected"), std::nullopt);
  EXPECT_FALSE(StepRecord::from_json(Json::parse(R"({"status":"failed","why":"tired"})")).has_value());
}

TEST(StepReason, ThePeoplesTextStaysAsItWasStoredBefore) {
  EXPECT_EQ(with_reason(StepStatus::waiting, StepReason::signal, "go").to_json()["reason"], "signal 'go'");
  EXPECT_EQ(with_reason(StepStatus::skipped, StepReason::skipped, "`when: x` is false").to_json()["reason"],
            "`when: x` is false");
  EXPECT_EQ(with_reason(StepStatus::waiting, StepReason::approval, "Publish?").to_json()["reason"], "Publish?");
}

TEST(StepReason, OfOldRecordsIsTakenFromTheirText) {
  const StepRecord signal = loaded(R"({"status":"waiting","reason":"signal 'go'"})");
  EXPECT_EQ(signal.reason, StepReason::signal);
  EXPECT_EQ(signal.detail, "go");
  EXPECT_EQ(loaded(R"({"status":"waiting","reason":"breakpoint"})").reason, StepReason::breakpoint);
  EXPECT_EQ(loaded(R"({"status":"waiting","due":"2026-01-11T00:00:00Z"})").reason, StepReason::timer);
  EXPECT_EQ(loaded(R"({"status":"waiting","reason":"run c waits","child":"c"})").reason, StepReason::child_run);
  EXPECT_EQ(loaded(R"({"status":"skipped","reason":"breakpoint"})").reason, StepReason::skipped);
  EXPECT_EQ(loaded(R"({"status":"failed","reason":"rejected","error":"rejected: no","binding":"sha256:1"})").reason,
            StepReason::rejected);
  EXPECT_EQ(loaded(R"({"status":"failed","error":"exit status 1"})").reason, StepReason::none);
}

TEST(StepReason, OfAnOldGateIsNeverReadFromItsPrompt) {
  for (const char* prompt : {"rejected", "breakpoint", "signal 'x'"}) {
    const Json old = {{"status", "waiting"}, {"reason", prompt}, {"binding", "sha256:1"}};
    const StepRecord gate = loaded(compact(old).c_str());
    EXPECT_EQ(gate.reason, StepReason::approval) << prompt;
    EXPECT_EQ(gate.detail, prompt);
  }
  // A gate that failed for another reason kept its prompt as the reason.
  EXPECT_EQ(loaded(R"({"status":"failed","reason":"rejected","error":"unknown name","binding":"sha256:1"})").reason,
            StepReason::none);
}

TEST(RunStatus, EveryEndHasAnEventTypeOfItsOwn) {
  for (const RunStatus status :
       {RunStatus::waiting, RunStatus::completed, RunStatus::failed, RunStatus::interrupted, RunStatus::cancelled}) {
    EXPECT_EQ(status_of_event(event_type_of(status)), status);
  }
  EXPECT_EQ(status_of_event("run_started"), std::nullopt);
  EXPECT_EQ(status_of_event(""), std::nullopt);
}

}  // namespace
}  // namespace pawl
