#include "cli/live_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "testing/manual_environment.hpp"

namespace pawl::testing {
namespace {

/// Interprets the bytes like a terminal, as far as needed: cursor-up, erasing and line ends. Does not wrap.
class FakeTerminal {
 public:
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      if (bytes.starts_with("\x1b[")) {
        const std::size_t end = bytes.find_first_of("ABCDEFGHJKm");
        control(bytes[end], bytes.substr(2, end - 2));
        bytes.remove_prefix(end + 1);
        continue;
      }
      const char byte = bytes.front();
      bytes.remove_prefix(1);
      if (byte == '\n') {
        ++row_;
        column_ = 0;
      } else if (byte == '\r') {
        column_ = 0;
      } else {
        std::string& line = row();
        line.resize(std::max(line.size(), column_ + 1), ' ');
        line[column_++] = byte;
      }
    }
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const std::string& line : lines_) out += line + "\n";
    return out;
  }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::string& row() {
    lines_.resize(std::max(lines_.size(), row_ + 1));
    return lines_[row_];
  }
  void control(char what, std::string_view argument) {
    if (what == 'A') {
      const std::size_t up = std::stoul(std::string(argument));
      ASSERT_LE(up, row_) << "above the first line";
      row_ -= up;
    } else if (what == 'K') {
      row().resize(column_);
    } else if (what == 'J') {
      row().resize(column_);
      lines_.resize(column_ == 0 ? row_ : row_ + 1);
    } else {
      ASSERT_EQ(what, 'm') << "an unexpected sequence";
    }
  }
  std::vector<std::string> lines_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
};

class LiveViewTest : public ::testing::Test {
 protected:
  LiveViewTest() {
    workflow_.name = "field-notes";
    for (const char* id : {"gather", "pages", "publish"}) {
      Step step;
      step.id = id;
      workflow_.steps.push_back(step);
    }
  }

  void begin(cli::Style style = cli::Style(false), const RunState& known = {}) {
    view_ = cli::make_live_view({.out = out_, .clock = clock_, .size = [this] { return size_; }, .style = style});
    view_->begin(*RunId::parse("r1"), workflow_, known);
  }
  void tell(const std::string& type, const std::string& step, Json data = Json::object()) {
    view_->on_event({"r1", type, step, clock_.now(), std::move(data)});
  }
  std::string after(std::int64_t us) {
    clock_.advance(us);
    view_->on_tick();
    return terminal_.text();
  }

  ManualClock clock_;
  FakeTerminal terminal_;
  std::string bytes_;
  cli::Output out_{"standard output", [this](std::string_view bytes) {
                     bytes_ += bytes;
                     terminal_.write(bytes);
                     return 0;
                   }};
  cli::TerminalSize size_{.columns = 80, .rows = 24};
  Workflow workflow_;
  std::unique_ptr<RunView> view_;
};

TEST_F(LiveViewTest, RunningStepsAreAtTheBottomAndCompletedOnesStayAbove) {
  begin();
  tell("step_started", "gather");
  tell("attempt_started", "gather", {{"attempt", 1}});
  EXPECT_EQ(after(1'500'000), "r1  field-notes\n⠹ gather   1.5 s\n  r1  0 of 3 steps  1.5 s\n");
  tell("step_completed", "gather", {{"ms", 1234}, {"attempts", 1}});
  tell("step_started", "publish");
  EXPECT_EQ(after(120'000), "r1  field-notes\n✓ gather   1.2 s\n⠸ publish  120 ms\n  r1  1 of 3 steps  1.6 s\n");
}

TEST_F(LiveViewTest, AFailureShowsWhatTheStepPrintedLast) {
  begin();
  tell("step_started", "gather");
  tell("attempt_failed", "gather",
       {{"attempt", 1}, {"error", "exit status 1"}, {"again_in_ms", 2000}, {"log", "first try"}});
  EXPECT_EQ(after(500'000),
            "r1  field-notes\n↻ gather   attempt 1 failed: exit status 1; again in 2.0 s\n    │ first try\n"
            "↻ gather   attempt 2, 2 s left\n  r1  0 of 3 steps  500 ms\n");
  tell("attempt_started", "gather", {{"attempt", 2}});
  EXPECT_NE(after(200'000).find("gather   700 ms  attempt 2\n"), std::string::npos) << terminal_.text();
  std::string log;
  for (int i = 1; i <= 30; ++i) log += fmt::format("line {}\n", i);
  tell("attempt_failed", "gather", {{"attempt", 2}, {"error", "exit status 4"}, {"log", log}});
  tell("step_failed", "gather", {{"error", "exit status 4"}, {"attempts", 2}});
  const std::string text = after(200'000);
  EXPECT_NE(text.find("✗ gather   exit status 4  2 attempts\n    │ line 21\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("line 20\n"), std::string::npos);
  EXPECT_NE(text.find("line 30\n"), std::string::npos);
}

TEST_F(LiveViewTest, WaitingStepsCountDown) {
  begin();
  tell("timer_set", "gather", {{"due", Timestamp{clock_.now().us + 90'000'000}.text()}});
  tell("waiting_for_signal", "pages",
       {{"signal", "release"}, {"due", Timestamp{clock_.now().us + 7'200'000'000}.text()}});
  tell("approval_requested", "publish", {{"prompt", "Publish?"}});
  const std::string text = after(45'000'000);
  EXPECT_NE(text.find("◷ gather   sleeps, 45 s left\n"), std::string::npos) << text;
  EXPECT_NE(text.find("◷ pages    waits for signal 'release', 1 h 59 min left\n"), std::string::npos) << text;
  EXPECT_NE(text.find("? publish  needs approval: Publish?\n"), std::string::npos) << text;
  tell("approved", "publish", {{"by", "ada"}});
  tell("step_completed", "publish", {{"ms", 0}, {"attempts", 0}});
  EXPECT_NE(after(200'000).find("✓ publish  45.0 s  approved by ada\n"), std::string::npos) << terminal_.text();
}

TEST_F(LiveViewTest, WhatWaitedBeforeAResumeIsShownAgain) {
  RunState known;
  StepRecord nap;
  nap.status = StepStatus::waiting;
  nap.due = Timestamp{clock_.now().us + 30'000'000};
  known.steps = {{"gather", StepRecord{}}, {"pages", nap}};
  known.steps[0].second.status = StepStatus::completed;
  begin(cli::Style(false), known);
  EXPECT_EQ(after(200'000), "r1  field-notes\n◷ pages    sleeps, 30 s left\n  r1  1 of 3 steps  200 ms\n");
}

TEST_F(LiveViewTest, AMapHasABarAndOnlyItsFirstItems) {
  begin();
  tell("map_progress", "pages", {{"total", 1000}, {"done", 0}, {"failed", 0}});
  tell("step_started", "pages");
  for (int i = 0; i < 500; ++i) {
    tell("item_started", "pages", {{"index", i}});
    tell("attempt_started", fmt::format("pages[{}].write", i), {{"attempt", 1}});
  }
  clock_.advance(10'000'000);
  for (int i = 0; i < 99; ++i) tell("item_completed", "pages", {{"index", i}});
  tell("attempt_failed", "pages[99].write", {{"attempt", 1}, {"error", "exit status 1"}, {"log", "no paper"}});
  tell("item_failed", "pages", {{"index", 99}, {"error", "pages[99].write: exit status 1"}});
  const std::string text = after(100'000);
  EXPECT_NE(text.find("✗ pages[99].write  exit status 1\n    │ no paper\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" 100/1000  1 failed  10.1 s  9.9/s  ~1 min 31 s left\n"), std::string::npos) << text;
  EXPECT_NE(text.find("pages[100].write"), std::string::npos);
  EXPECT_NE(text.find("  … and 393 more\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("pages[107].write"), std::string::npos) << text;
  tell("step_completed", "pages", {{"ms", 0}, {"attempts", 0}});
  EXPECT_NE(after(200'000).find("✓ pages    10.1 s  1000 items, 1 failed\n"), std::string::npos) << terminal_.text();
}

TEST_F(LiveViewTest, NothingIsWiderOrHigherThanTheTerminal) {
  for (const cli::TerminalSize size : {cli::TerminalSize{80, 24}, {200, 50}, {40, 6}, {20, 3}, {200, 2}}) {
    size_ = size;
    terminal_ = {};
    begin();
    tell("map_progress", "pages", {{"total", 500}, {"done", 0}, {"failed", 0}});
    for (int i = 0; i < 500; ++i) tell("item_started", "pages", {{"index", i}});
    for (int i = 0; i < 60; ++i)
      tell("step_started", fmt::format("a step whose name 名前 is rather long, number {}", i));
    static_cast<void>(after(1'000'000));
    const std::size_t moving = terminal_.lines().size() - 1;  // without the header
    EXPECT_LE(moving, std::max<std::size_t>(size.rows - 2, 1)) << size.rows;
    for (const std::string& line : terminal_.lines()) EXPECT_LT(display_columns(line), size.columns) << line;
  }
}

TEST_F(LiveViewTest, ANarrowerTerminalHasBrokenTheOldLinesIntoMoreRows) {
  begin();
  for (const char* id : {"gather", "pages"}) tell("step_started", id);
  tell("iteration_started", "pages", {{"iteration", 1}, {"max", 100'000}});
  static_cast<void>(after(1'000'000));
  bytes_.clear();
  size_.columns = 20;
  clock_.advance(200'000);
  // "⠴ pages    1.0 s  iteration 1 of 100000" has 39 columns: two rows; the last line 28: two rows.
  terminal_.write("\n\n");
  view_->on_tick();
  EXPECT_TRUE(bytes_.starts_with("\r\x1b[5A")) << bytes_;
}

TEST_F(LiveViewTest, PausingTakesThePictureAwayAndItComesBack) {
  begin();
  tell("step_started", "gather");
  static_cast<void>(after(200'000));
  view_->pause();
  EXPECT_EQ(terminal_.text(), "r1  field-notes\n");
  terminal_.write("Approve? y\n");
  EXPECT_EQ(after(200'000), "r1  field-notes\nApprove? y\n⠸ gather   400 ms\n  r1  0 of 3 steps  400 ms\n");
}

TEST_F(LiveViewTest, TheEndSaysWhatHappened) {
  begin();
  tell("step_started", "gather");
  tell("step_completed", "gather", {{"ms", 10}, {"attempts", 1}});
  tell("step_skipped", "pages", {{"reason", "`when: false` is false"}});
  tell("step_failed", "publish", {{"error", "exit status 1"}, {"attempts", 1}});
  tell("run_failed", "", {{"error", "x"}, {"usage", {{"tokens", 1200}, {"usd", 0.5}}}});
  clock_.advance(3'000'000);
  view_->end();
  EXPECT_EQ(terminal_.text(),
            "r1  field-notes\n✓ gather   10 ms\n– pages    skipped: `when: false` is false\n✗ publish  exit status 1\n"
            "✗ r1 failed  1 step completed, 1 failed, 1 skipped in 3.0 s, 0.50 USD, 1,200 tokens\n");
}

TEST_F(LiveViewTest, NothingFromOutsideCanSteerTheTerminal) {
  begin();
  tell("attempt_failed", "gather",
       {{"attempt", 1}, {"error", "a\x1b[2Jb"}, {"again_in_ms", 1}, {"log", "\x1b]0;title\x07"}});
  tell("message", "gather", {{"text", "x\ry"}});
  static_cast<void>(after(200'000));
  EXPECT_EQ(bytes_.find("\x1b[2J"), std::string::npos);
  EXPECT_EQ(bytes_.find("\x1b]"), std::string::npos);
  EXPECT_NE(terminal_.text().find("x\\x0dy"), std::string::npos) << terminal_.text();
}

TEST_F(LiveViewTest, ItIsDrawnAtMostTenTimesASecond) {
  begin();
  std::size_t drawn = 0;
  for (int i = 0; i < 1000; ++i) {
    bytes_.clear();
    clock_.advance(1'000);
    tell("message", "gather", {{"text", "hello"}});
    if (!bytes_.empty()) ++drawn;
  }
  EXPECT_LE(drawn, 10U);
  EXPECT_GE(drawn, 9U);
}

TEST_F(LiveViewTest, ColoursOnlyWhereTheyAreWanted) {
  begin(cli::Style(true));
  tell("step_failed", "gather", {{"error", "exit status 1"}});
  static_cast<void>(after(200'000));
  EXPECT_NE(bytes_.find("\x1b[31m"), std::string::npos);
}

TEST_F(LiveViewTest, TroubleOfTheMachineNamesTheStepThatIsTriedAgain) {
  begin();
  tell("storage_trouble", "gather", {{"error", "cannot write: disk full"}, {"try", 2U}, {"tries", 6U}});
  tell("storage_trouble", "pages", {{"error", "cannot write: disk full"}, {"try", 2U}, {"tries", 6U}});
  tell("storage_trouble", "", {{"error", "cannot sync"}, {"mode", "pause"}});
  const std::string shown = after(4'000'000);
  EXPECT_EQ(shown.find("pages: can't start"), std::string::npos) << shown;
  EXPECT_NE(shown.find("! gather: can't start: cannot write: disk full; retrying (2 of 6)\n"), std::string::npos)
      << shown;
  EXPECT_NE(shown.find("! storage error (pause): cannot sync\n"), std::string::npos) << shown;
  tell("storage_trouble", "pages", {{"error", "cannot write: disk full"}, {"try", 4U}, {"tries", 6U}});
  EXPECT_NE(after(200'000).find("! pages: can't start: cannot write: disk full; retrying (4 of 6)"), std::string::npos);
}

TEST_F(LiveViewTest, SavedCheckpointsAreForPrograms) {
  begin();
  const std::string before = after(200'000);
  tell("checkpoint_saved", "gather", {{"sequence", 2}, {"kind", "step_start"}, {"reason", "before_step"}});
  EXPECT_EQ(after(0), before);
}

TEST(TerminalText, WidthsCountColumnsAndCutsKeepThem) {
  EXPECT_EQ(display_columns("abc"), 3U);
  EXPECT_EQ(display_columns("名前"), 4U);
  EXPECT_EQ(display_columns("e\u0301"), 1U);
  EXPECT_EQ(cut_to_columns("名前名前", 5), "名前…");
  EXPECT_EQ(cut_to_columns("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to_columns("abcdef", 5), "abcd…");
  EXPECT_EQ(cli::TerminalLine().add("abc").add("def").text(cli::Style(false), 3), "ab…");
}

TEST(TerminalText, ElapsedTimesAreShort) {
  EXPECT_EQ(cli::elapsed_text(0), "0 ms");
  EXPECT_EQ(cli::elapsed_text(1'290), "1.2 s");
  EXPECT_EQ(cli::elapsed_text(59'999), "59.9 s");
  EXPECT_EQ(cli::elapsed_text(192'000), "3 min 12 s");
  EXPECT_EQ(cli::elapsed_text(3'720'000), "1 h 2 min");
  EXPECT_EQ(cli::elapsed_text(180'000'000), "2 d 2 h");
}

}  // namespace
}  // namespace pawl::testing
