#include "domain/run_state.hpp"
#include "testing/cli_fixture.hpp"

namespace pawl::testing {
namespace {

class ControlCommands : public CliTest {
 protected:
  void save(const std::string& run, const RunState& state) {
    ASSERT_EQ(pawl({"save", run}, compact(state.to_json())).status, 0);
  }
  static RunState at_gate() {
    RunState state;
    state.status = RunStatus::waiting;
    StepRecord record;
    record.status = StepStatus::waiting;
    record.set_reason(StepReason::approval, "Publish?");
    record.binding = "sha256:1";
    state.steps.emplace_back("review", std::move(record));
    return state;
  }
  std::vector<nlohmann::json> inbox(const std::string& run) {
    std::vector<nlohmann::json> bodies;
    const auto store = other_handle();
    const auto messages = store->inbox(*RunId::parse(run));
    for (const Message& message : *messages) bodies.push_back(nlohmann::json::parse(message.body));
    return bodies;
  }
};

TEST_F(ControlCommands, ApproveSaysWhatToTypeNext) {
  environment_["USER"] = "ada";
  save("r", at_gate());
  const CliResult result = pawl({"approve", "r", "--comment", "fine"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "r: review approved\n");
  EXPECT_NE(result.err.find("pawl resume r"), std::string::npos) << result.err;
  ASSERT_EQ(inbox("r").size(), 1U);
  EXPECT_EQ(inbox("r")[0]["by"], "ada");
  EXPECT_EQ(inbox("r")[0]["comment"], "fine");
}

TEST_F(ControlCommands, WhoDecidesIsTheUserOrWhoeverIsNamed) {
  environment_["LOGNAME"] = "lovelace";
  save("r", at_gate());
  EXPECT_EQ(pawl({"reject", "r", "review", "--json"}).json().at("by"), "lovelace");
  save("s", at_gate());
  const nlohmann::json document = pawl({"reject", "s", "--by", "bob", "--json"}).json();
  EXPECT_EQ(document.at("by"), "bob");
  EXPECT_EQ(document.at("decision"), "rejected");
  EXPECT_TRUE(document.at("owner").is_null());
  EXPECT_EQ(document.at("resume"), "s");
}

TEST_F(ControlCommands, WithoutAUserInTheEnvironmentTheAccountDecides) {
  system_user_ = "root";
  save("r", at_gate());
  EXPECT_EQ(pawl({"approve", "r", "--json"}).json().at("by"), "root");
  environment_["USER"] = "";
  environment_["LOGNAME"] = "ada";
  save("s", at_gate());
  EXPECT_EQ(pawl({"approve", "s", "--json"}).json().at("by"), "ada");
  environment_.clear();
  system_user_.clear();
  save("t", at_gate());
  EXPECT_EQ(pawl({"approve", "t", "--json"}).json().at("by"), "unknown");
}

TEST_F(ControlCommands, ARunningProcessIsSaidToGoOn) {
  save("r", at_gate());
  const auto store = other_handle();
  const auto held = store->open_run(*RunId::parse("r"), {});
  const CliResult result = pawl({"approve", "r"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("the run continues"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("pawl resume"), std::string::npos) << result.err;
}

TEST_F(ControlCommands, WithoutAGateTheStatusIsFour) {
  RunState state = at_gate();
  state.status = RunStatus::completed;
  state.steps.clear();
  save("r", state);
  const CliResult result = pawl({"approve", "r"});
  EXPECT_EQ(result.status, 4);
  EXPECT_NE(result.err.find("PAWL-0213"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("is completed"), std::string::npos) << result.err;
  EXPECT_EQ(pawl({"approve", "missing"}).status, 2);
}

TEST_F(ControlCommands, ASignalCarriesItsPayload) {
  save("r", at_gate());
  EXPECT_EQ(pawl({"signal", "r", "go"}).out, "r: signal go sent\n");
  EXPECT_EQ(pawl({"signal", "r", "go", "--payload", "[1]"}).status, 0);
  EXPECT_EQ(pawl({"signal", "r", "go", "--json-payload", "[1]"}).status, 0);
  ASSERT_EQ(inbox("r").size(), 3U);
  EXPECT_TRUE(inbox("r")[0]["payload"].is_null());
  EXPECT_EQ(inbox("r")[1]["payload"], "[1]");
  EXPECT_EQ(inbox("r")[2]["payload"], nlohmann::json({1}));
  EXPECT_EQ(pawl({"signal", "r", "go", "--payload", "\xff"}).status, 2);
  EXPECT_EQ(inbox("r").size(), 3U);
}

TEST_F(ControlCommands, CancelEndsARunThatNobodyExecutes) {
  save("r", at_gate());
  EXPECT_EQ(pawl({"cancel", "r", "--reason", "enough"}).out, "r: cancelled\n");
  const nlohmann::json state = nlohmann::json::parse(pawl({"restore", "r"}).out);
  EXPECT_EQ(state.at("status"), "cancelled");
  EXPECT_EQ(state.at("error"), "enough");
  EXPECT_EQ(pawl({"cancel", "r"}).status, 4);
}

TEST_F(ControlCommands, CancelWaitsForTheOwnerNoLongerThanHalfAMinute) {
  save("r", at_gate());
  const auto store = other_handle();
  const auto held = store->open_run(*RunId::parse("r"), {});
  const std::int64_t began_us = clock_.monotonic_us();
  EXPECT_EQ(pawl({"cancel", "r", "--no-wait", "--json"}).json().at("status"), "cancelling");
  EXPECT_EQ(clock_.monotonic_us(), began_us);
  const CliResult result = pawl({"cancel", "r"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "r: cancel requested\n");
  EXPECT_GE(clock_.monotonic_us() - began_us, 30'000'000);
  EXPECT_LT(clock_.monotonic_us() - began_us, 31'000'000);
}

TEST_F(ControlCommands, DeadLettersAreListedAndDropped) {
  RunState state;
  state.status = RunStatus::completed;
  StepRecord record;
  record.status = StepStatus::completed;
  record.map = MapProgress{.total = 4,
                           .items_hash = "x",
                           .done = *IndexRanges::parse("0-3"),
                           .failed = *IndexRanges::parse("1,3"),
                           .trips = 0};
  state.steps.emplace_back("pages", std::move(record));
  save("r", state);
  EXPECT_EQ(pawl({"dlq", "list", "r", "--json"}).json().size(), 2U);
  EXPECT_EQ(pawl({"--json", "dlq", "list", "r", "pages"}).json().size(), 2U);
  EXPECT_EQ(pawl({"dlq", "list", "r", "pages", "3"}).status, 2);
  EXPECT_EQ(pawl({"dlq", "drop", "r"}).status, 2);
  EXPECT_EQ(pawl({"dlq", "drop", "r", "1", "--all"}).status, 2);
  EXPECT_EQ(pawl({"dlq", "drop", "r", "0"}).status, 4);
  EXPECT_EQ(pawl({"dlq", "drop", "r", "0-18446744073709551615"}).status, 2);
  EXPECT_EQ(pawl({"dlq", "drop", "r", "pages", "1", "3"}).out, "r: 2 items of pages dropped: 1,3\n");
  EXPECT_EQ(pawl({"dlq", "list", "r", "--json"}).json().size(), 0U);
  EXPECT_EQ(pawl({"dlq"}).status, 2);
}

TEST_F(ControlCommands, RetryCanLeaveTheRunningToAResume) {
  RunState state;
  state.status = RunStatus::completed;
  StepRecord record;
  record.status = StepStatus::completed;
  record.map = MapProgress{.total = 2,
                           .items_hash = "x",
                           .done = *IndexRanges::parse("0-1"),
                           .failed = *IndexRanges::parse("1"),
                           .trips = 0};
  state.steps.emplace_back("pages", std::move(record));
  save("r", state);
  const CliResult result = pawl({"dlq", "retry", "r", "--no-run"});
  EXPECT_EQ(result.out, "r: 1 item of pages queued: 1\n");
  EXPECT_NE(result.err.find("pawl resume r"), std::string::npos) << result.err;
  EXPECT_EQ(nlohmann::json::parse(pawl({"restore", "r"}).out).at("status"), "interrupted");
}

TEST_F(ControlCommands, TheSchemaIsOneJsonDocument) { EXPECT_TRUE(pawl({"schema"}).json().contains("$schema")); }

}  // namespace
}  // namespace pawl::testing
