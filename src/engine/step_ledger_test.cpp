#include "engine/step_ledger.hpp"

#include <gtest/gtest.h>

#include <random>

#include "engine/held_ledger.hpp"
#include "testing/memory_under_test.hpp"

namespace pawl {
namespace {

/// No output of these tests is in a file.
class NoFiles final : public LocalFiles {
 public:
  bool exists(const std::string&) override { return false; }
  bool is_folder(const std::string&) override { return false; }
  bool is_executable(const std::string&) override { return false; }
  Timestamp modified(const std::string&) override { return {}; }
  std::uint64_t size(const std::string&) override { return 0; }
  Result<std::string> read(const std::string&, std::uint64_t) override { return none(); }
  Result<std::optional<std::string>> read_regular(const std::string&, std::uint64_t) override {
    return std::optional<std::string>();
  }
  Result<std::string> read_tail(const std::string&, std::uint64_t) override { return none(); }
  Result<std::string> read_range(const std::string&, std::uint64_t, std::uint64_t) override { return none(); }
  Result<std::unique_ptr<LineSource>> lines(const std::string&, std::uint64_t) override {
    return fail(Code::input_unreadable, "no file");
  }
  Result<void> write(const std::string&, std::string_view) override { return {}; }
  Result<void> write_over(const std::string&, std::string_view) override { return {}; }
  Result<void> make_durable(const std::string&, const std::string&) override { return {}; }
  bool rename(const std::string&, const std::string&) override { return false; }
  Result<void> append(const std::string&, std::string_view) override { return {}; }
  Result<void> make_folder(const std::string&) override { return {}; }
  Result<std::string> private_folder(const std::string&) override { return none(); }
  std::vector<std::string> list(const std::string&) override { return {}; }
  void remove(const std::string&) override {}
  void remove_folder(const std::string&) override {}
  std::string absolute(const std::string& path, const std::string&) override { return path; }

 private:
  static Result<std::string> none() { return fail(Code::input_unreadable, "no file"); }
};

class Ledger : public ::testing::Test {
 protected:
  Result<void> record(const std::string& name, const std::string& output) {
    return ledger_.update([&](LedgerState& state, LedgerChange& change) -> Result<void> {
      StepRecord& record = state.at(name);
      record.status = StepStatus::completed;
      record.attempts = 1;
      change.step = name;
      place_output(state, change, record, output_json(output), {{"step", name}}, "step_completed");
      return {};
    });
  }
  Result<std::string> replayed(const std::string& name) {
    PAWL_TRY_ASSIGN(const LedgerState state, ledger_.load());
    std::string bytes;
    PAWL_TRY(ledger_.replay(name, *state.find(name), files_, [&](std::string_view part) { bytes += part; }));
    return bytes;
  }

  testing::ManualClock clock_;
  testing::SeededRandom random_{1};
  MemoryStore store_{Environment{&clock_, &random_, testing::sim_owner("boot", 1)}};
  NoFiles files_;
  const RunId run_ = *RunId::parse("job");
  StepLedger ledger_{store_, clock_, run_};
};

TEST_F(Ledger, ARunKeepsItsUuid) {
  const Result<Uuid> first = ledger_.open();
  ASSERT_TRUE(first);
  EXPECT_EQ(ledger_.open(), *first);
  EXPECT_TRUE(ledger_.load()->steps.empty());
}

TEST_F(Ledger, OutputsComeBackByteForByteWhereverTheyAre) {
  ASSERT_TRUE(ledger_.open());
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  const std::vector<std::string> outputs = {
      "",        "text \"quoted\"\n",      std::string("\0", 1),        "\xff", "\xff\xfe", all,
      all + all, std::string(10'000, 'x'), std::string(100'001, '\x80')};
  for (std::size_t i = 0; i < outputs.size(); ++i) ASSERT_TRUE(record(fmt::format("s{}", i), outputs[i]));
  for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(replayed(fmt::format("s{}", i)), outputs[i]) << i;
}

TEST_F(Ledger, LargeOutputsStandInEventsAndTheStateStaysSmall) {
  ASSERT_TRUE(ledger_.open());
  ASSERT_TRUE(record("large", std::string(100'000, 'x')));
  EXPECT_GT(ledger_.load()->find("large")->output_event, 0U);
  EXPECT_LT(store_.restore(run_, {})->state.size(), 300U);
}

TEST_F(Ledger, AnOutputThatIsNotInItsEventIsLost) {
  ASSERT_TRUE(ledger_.open());
  ASSERT_TRUE(record("large", std::string(100'000, 'x')));
  ASSERT_TRUE(ledger_.update([](LedgerState& state, LedgerChange&) -> Result<void> {
    state.at("large").output_event = 1;
    return {};
  }));
  EXPECT_EQ(replayed("large").error().code, Code::output_lost);
  ASSERT_TRUE(ledger_.update([](LedgerState& state, LedgerChange&) -> Result<void> {
    state.at("large").output_event = 77;
    return {};
  }));
  EXPECT_EQ(replayed("large").error().code, Code::output_lost);
}

TEST_F(Ledger, ABusyRunIsTriedForTenSeconds) {
  ASSERT_TRUE(ledger_.open());
  const auto other = store_.open_run(run_, {});
  const std::int64_t began_us = clock_.monotonic_us();
  EXPECT_EQ(record("a", "x").error().code, Code::run_busy);
  EXPECT_GE(clock_.monotonic_us() - began_us, 10'000'000);
  EXPECT_LE(clock_.monotonic_us() - began_us, 11'000'000);
}

TEST_F(Ledger, AnotherKindOfRunIsRefused) {
  {
    const auto other = store_.open_run(run_, {});
    SaveRequest request;
    request.body = R"({"pawl":"workflow/1"})";
    ASSERT_TRUE((*other)->save(request));
  }
  EXPECT_TRUE(ledger_.open());
  EXPECT_EQ(ledger_.load().error().code, Code::not_a_steps_run);
  EXPECT_EQ(record("a", "x").error().code, Code::not_a_steps_run);
}

TEST_F(Ledger, ChangesLeadToTheTextOfTheState) {
  ASSERT_TRUE(ledger_.open());
  Result<std::unique_ptr<HeldLedger>> held = HeldLedger::take(*store_.open_run(run_, {}), run_);
  ASSERT_TRUE(held);
  std::minstd_rand random(7);
  for (int i = 0; i < 300; ++i) {
    LedgerSave save;
    const std::size_t edits = 1 + random() % 3;
    for (std::size_t edit = 0; edit < edits; ++edit) {
      const Result<void> prepared = (*held)->prepare(
          [&](LedgerState& state, LedgerChange& change) -> Result<void> {
            const std::string name = fmt::format("s{}", random() % 40);
            StepRecord& record = state.at(name);
            record.status = random() % 2 == 0 ? StepStatus::completed : StepStatus::failed;
            record.error = std::string(random() % 30, 'e');
            change.step = name;
            for (std::size_t event = random() % 3; event > 0; --event) change.events.push_back({"e", "{}"});
            return {};
          },
          save);
      ASSERT_TRUE(prepared);
    }
    (*held)->finish(save);
    EXPECT_FALSE(save.whole);
    const Result<void> saved = (*held)->save(save);
    ASSERT_TRUE(saved) << describe(saved.error());
    const Restored restored = *store_.restore(run_, {});
    ASSERT_EQ(restored.state, (*held)->state().text()) << i;
    ASSERT_EQ(restored.info.also.size(), edits - 1);
    ASSERT_EQ((*held)->state().events, store_.events(run_, 0, 10'000)->size());
  }
}

TEST_F(Ledger, AStateThatWasWrittenDifferentlyIsSavedOnceAsAWhole) {
  {
    const auto writer = store_.open_run(run_, {});
    SaveRequest request;
    request.body = R"({"pawl": "steps/1", "events": 1, "steps": {"a": {"status": "completed", "later": 7}}})";
    request.events.push_back({"e", "{}"});
    ASSERT_TRUE((*writer)->save(request));
  }
  for (const char* name : {"b", "c"}) ASSERT_TRUE(record(name, name));
  const Result<LedgerState> state = ledger_.load();
  ASSERT_TRUE(state);
  EXPECT_EQ(store_.restore(run_, {})->state, state->text());
  EXPECT_EQ(state->steps.size(), 3U);
  EXPECT_EQ(state->events, 3U);
}

TEST(LedgerState, IsWhatItsJsonSays) {
  LedgerState state;
  state.events = 7;
  state.at("b").status = StepStatus::failed;
  state.at("a").exit_code = 3;
  const Result<LedgerState> read = LedgerState::from_json(parse_json(state.text()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->events, 7U);
  EXPECT_EQ(read->steps, state.steps);
  for (const char* text : {"{}", "[]", "null", R"({"pawl":7})"})
    EXPECT_EQ(LedgerState::from_json(Json::parse(text)).error().code, Code::not_a_steps_run) << text;
  for (const char* text : {R"({"pawl":"steps/1"})", R"({"pawl":"steps/1","events":-1,"steps":{}})",
                           R"({"pawl":"steps/1","events":1,"steps":{"a":1}})"})
    EXPECT_EQ(LedgerState::from_json(Json::parse(text)).error().code, Code::state_reconstruction_failed) << text;
}

TEST(StepName, IsSafeAsAFileName) {
  for (const char* name : {"a", "_", "9", "fetch-1.2_x"}) EXPECT_TRUE(check_step_name(name)) << name;
  for (const char* name : {"", ".", "-x", ".x", "a/b", "a b", "\xc3\xa4", "a\n"})
    EXPECT_EQ(check_step_name(name).error().code, Code::invalid_label) << name;
  EXPECT_TRUE(check_step_name(std::string(128, 'a')));
  EXPECT_FALSE(check_step_name(std::string(129, 'a')));
}

TEST(CommandHash, TellsWordsApart) {
  EXPECT_EQ(command_hash({"a", "b"}), command_hash({"a", "b"}));
  EXPECT_NE(command_hash({"a", "b"}), command_hash({"ab"}));
  EXPECT_NE(command_hash({"a b"}), command_hash({"a", "b"}));
}

}  // namespace
}  // namespace pawl
