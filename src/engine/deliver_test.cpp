#include "engine/deliver.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/audit_entries.hpp"
#include "engine/open_run.hpp"
#include "engine/save.hpp"
#include "testing/memory_under_test.hpp"

namespace pawl::testing {
namespace {

constexpr std::uint64_t kDeliveredBytesMax = 100'000;

/// Runs a function instead of the first sleep: what other processes do meanwhile.
class InterruptedClock final : public Clock {
 public:
  explicit InterruptedClock(Clock& clock) : clock_(clock) {}
  std::function<void()> meanwhile = {};

  Timestamp now() override { return clock_.now(); }
  std::int64_t monotonic_us() override { return clock_.monotonic_us(); }
  void sleep_us(std::int64_t duration_us) override {
    slept_us += duration_us;
    if (meanwhile) std::exchange(meanwhile, {})();
  }
  std::int64_t slept_us = 0;

 private:
  Clock& clock_;
};

/// A run that is held by its execution.
class Deliver : public ::testing::Test {
 protected:
  Deliver() { save(RunStatus::running); }

  void save(RunStatus status, std::vector<std::string> consumed = {}) {
    RunState state;
    state.status = status;
    state.consumed = std::move(consumed);
    Json value = state.to_json();
    value["events"] = 0;
    const std::string text = compact(value);
    SaveRequest request;
    request.body = text;
    ASSERT_TRUE(checked_save(*execution_, request, kDeliveredBytesMax));
  }
  void end(RunStatus status, std::vector<std::string> consumed = {}) {
    save(status, std::move(consumed));
    execution_.reset();
  }
  [[nodiscard]] std::vector<std::string> inbox() {
    std::vector<std::string> ids;
    const auto messages = store_->inbox(run_);
    for (const Message& message : *messages) ids.push_back(message.id);
    return ids;
  }
  Result<std::string> deliver_signal() { return deliver(*other_, clock_, run_, R"({"type":"signal","signal":"go"})"); }

  const RunId run_ = *RunId::parse("r");
  MemoryUnderTest memory_;
  InterruptedClock clock_{memory_.clock()};
  std::unique_ptr<Store> store_ = memory_.open();
  std::unique_ptr<Store> other_ = memory_.open();
  std::unique_ptr<RunWriter> execution_ = *store_->open_run(run_, {});
};

TEST_F(Deliver, AMessageToARunThatIsExecutedIsAcknowledgedAtOnce) {
  const Result<std::string> id = deliver_signal();
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(inbox(), std::vector<std::string>{*id});
  EXPECT_EQ(clock_.slept_us, 0);
}

TEST_F(Deliver, AMessageToARunThatCanBeResumedIsAcknowledged) {
  for (const RunStatus status : {RunStatus::waiting, RunStatus::failed, RunStatus::interrupted}) {
    execution_ = execution_ ? std::move(execution_) : *store_->open_run(run_, {});
    end(status);
    EXPECT_TRUE(deliver_signal().has_value());
  }
  EXPECT_EQ(inbox().size(), 3U);
}

TEST_F(Deliver, AMessageToARunThatHasEndedIsTakenBack) {
  for (const RunStatus status : {RunStatus::completed, RunStatus::cancelled}) {
    execution_ = execution_ ? std::move(execution_) : *store_->open_run(run_, {});
    end(status);
    const Result<std::string> id = deliver_signal();
    ASSERT_FALSE(id.has_value());
    EXPECT_EQ(id.error().code, Code::run_ended);
    EXPECT_TRUE(inbox().empty());
  }
}

TEST_F(Deliver, AnExecutionThatEndsAndConsumesTheMessageAcknowledgesIt) {
  ASSERT_TRUE(execution_->seal_inbox());
  clock_.meanwhile = [&] {
    const std::vector<std::string> ids = inbox();
    ASSERT_EQ(ids.size(), 1U);
    save(RunStatus::completed, ids);
    ASSERT_TRUE(store_->take(run_, ids.front()));
    execution_.reset();
  };
  EXPECT_TRUE(deliver_signal().has_value());
  EXPECT_TRUE(inbox().empty());
}

TEST_F(Deliver, AnExecutionThatDiesAfterItsEndLeavesAMessageThatItConsumed) {
  ASSERT_TRUE(execution_->seal_inbox());
  clock_.meanwhile = [&] { end(RunStatus::completed, inbox()); };
  EXPECT_TRUE(deliver_signal().has_value());
  EXPECT_TRUE(inbox().empty()) << "nobody else would remove it";
}

TEST_F(Deliver, AnExecutionThatEndsWithoutTheMessageRefusesIt) {
  ASSERT_TRUE(execution_->seal_inbox());
  clock_.meanwhile = [&] { end(RunStatus::completed); };
  const Result<std::string> id = deliver_signal();
  ASSERT_FALSE(id.has_value());
  EXPECT_EQ(id.error().code, Code::run_ended);
  EXPECT_TRUE(inbox().empty());
}

TEST_F(Deliver, AnExecutionThatGoesOnAcknowledgesTheMessage) {
  ASSERT_TRUE(execution_->seal_inbox());
  clock_.meanwhile = [&] { ASSERT_TRUE(execution_->unseal_inbox()); };
  EXPECT_TRUE(deliver_signal().has_value());
  EXPECT_EQ(inbox().size(), 1U);
}

TEST_F(Deliver, AnExecutionThatDiesWhileItEndsLeavesTheMessageToTheNext) {
  ASSERT_TRUE(execution_->seal_inbox());
  clock_.meanwhile = [&] { execution_.reset(); };
  EXPECT_TRUE(deliver_signal().has_value());
  EXPECT_EQ(inbox().size(), 1U);
}

TEST_F(Deliver, AnEndThatTakesTooLongIsNotAnAcknowledgement) {
  ASSERT_TRUE(execution_->seal_inbox());
  const Result<std::string> id = deliver_signal();
  ASSERT_FALSE(id.has_value());
  EXPECT_EQ(id.error().code, Code::run_busy);
  EXPECT_GE(clock_.slept_us, 2'000'000);
  EXPECT_LT(clock_.slept_us, 2'100'000);
}

TEST_F(Deliver, AMessageIsNotTakenBackFromWhoeverContinuesTheRun) {
  end(RunStatus::completed);
  execution_ = *store_->open_run(run_, {});  // for example `pawl dlq retry`, before its first save
  clock_.meanwhile = [&] { save(RunStatus::running); };
  EXPECT_TRUE(deliver_signal().has_value());
  EXPECT_EQ(inbox().size(), 1U);
}

TEST_F(Deliver, AnAuditEntryForARunThatEndsMeanwhileIsWrittenNevertheless) {
  ASSERT_TRUE(execution_->seal_inbox());
  clock_.meanwhile = [&] { end(RunStatus::completed); };
  const auto added = add_audit_entry(*other_, run_, {.type = "reviewed"}, Settings(), clock_);
  ASSERT_TRUE(added.has_value());
  EXPECT_FALSE(added->asked);
  EXPECT_TRUE(inbox().empty());
  const std::vector<AuditEntry> entries = *store_->audit(run_, 0, 100);
  EXPECT_EQ(std::ranges::count(entries, "reviewed", &AuditEntry::type), 1);
  EXPECT_EQ(load_state(*store_, run_)->status, RunStatus::completed);
}

}  // namespace
}  // namespace pawl::testing
