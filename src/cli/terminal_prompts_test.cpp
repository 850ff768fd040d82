#include "cli/terminal_prompts.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace pawl::cli {
namespace {

/// A person whom the test lets type.
class ScriptedTerminal final : public Terminal {
 public:
  TypedLine read_line() override {
    Lock lock(mutex_);
    while (!interrupted_ && lines_.empty()) changed_.wait(lock);
    if (std::exchange(interrupted_, false)) return {.how = TypedLine::How::interrupted};
    TypedLine line = std::move(lines_.front());
    lines_.pop_front();
    changed_.notify_all();
    return line;
  }
  void interrupt() override {
    const Lock lock(mutex_);
    interrupted_ = true;
    lines_.clear();
    changed_.notify_all();
  }
  void discard_typed() override {
    const Lock lock(mutex_);
    lines_.clear();
  }
  void write(std::string_view text) override {
    const Lock lock(mutex_);
    screen_ += text;
    changed_.notify_all();
  }
  void type(TypedLine line) {
    const Lock lock(mutex_);
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }
  void type(std::string text) { type(TypedLine{.how = TypedLine::How::line, .text = std::move(text)}); }
  [[nodiscard]] std::string screen() {
    const Lock lock(mutex_);
    return screen_;
  }
  /// Returns whether the text appears within a minute.
  [[nodiscard]] bool shows(std::string_view text) {
    Lock lock(mutex_);
    for (int i = 0; i < 600 && screen_.find(text) == std::string::npos; ++i) changed_.wait_us(lock, 100'000);
    return screen_.find(text) != std::string::npos;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::deque<TypedLine> lines_ PAWL_GUARDED_BY(mutex_);
  std::string screen_ PAWL_GUARDED_BY(mutex_);
  bool interrupted_ PAWL_GUARDED_BY(mutex_) = false;
};

class Answers {
 public:
  [[nodiscard]] std::function<void(GateAnswer)> take() {
    return [this](GateAnswer answer) {
      const Lock lock(mutex_);
      given_.push_back(answer);
      changed_.notify_all();
    };
  }
  [[nodiscard]] GateAnswer first() {
    Lock lock(mutex_);
    for (int i = 0; i < 600 && given_.empty(); ++i) changed_.wait_us(lock, 100'000);
    EXPECT_EQ(given_.size(), 1U);
    return given_.empty() ? GateAnswer::later : given_.front();
  }
  [[nodiscard]] std::size_t count() {
    const Lock lock(mutex_);
    return given_.size();
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::vector<GateAnswer> given_ PAWL_GUARDED_BY(mutex_);
};

class TerminalPromptsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<OpenPrompt> ask(const std::string& step, Answers& answers) {
    return prompts_.open({.run = "r", .step = step, .prompt = "Go?", .binding = {}}, answers.take());
  }

  ScriptedTerminal* const terminal_ = new ScriptedTerminal;  // owned by prompts_
  std::string screen_;                                       // what the view was told
  TerminalPrompts prompts_{std::unique_ptr<Terminal>(terminal_),
                           {.hold = [this] { screen_ += 'h'; }, .release = [this] { screen_ += 'r'; }}};
  Answers first_;
  Answers second_;
};

TEST_F(TerminalPromptsTest, AnAnswerIsPassedOnAndAnUnknownOneAsksAgain) {
  auto prompt = ask("review", first_);
  EXPECT_EQ(terminal_->screen(), "review: Go?\nApprove? [y]es, [n]o, [l]ater: ");
  terminal_->type("maybe");
  EXPECT_TRUE(terminal_->shows("[y]es, [n]o or [l]ater: "));
  terminal_->type("yes");
  EXPECT_EQ(first_.first(), GateAnswer::approve);
  prompt.reset();
  EXPECT_EQ(screen_, "hr");
}

TEST_F(TerminalPromptsTest, EachAnswerHasItsWord) {
  for (const auto& [text, answer] : {std::pair("n", GateAnswer::reject), std::pair("l", GateAnswer::later),
                                     std::pair("", GateAnswer::later), std::pair("y", GateAnswer::approve)}) {
    Answers answers;
    const auto prompt = ask("review", answers);
    terminal_->type(text);
    EXPECT_EQ(answers.first(), answer) << text;
  }
}

TEST_F(TerminalPromptsTest, APersonWhoLeavesDecidesLater) {
  const auto prompt = ask("review", first_);
  terminal_->type(TypedLine{.how = TypedLine::How::closed});
  EXPECT_EQ(first_.first(), GateAnswer::later);
}

TEST_F(TerminalPromptsTest, ASecondQuestionWaitsUntilTheFirstIsClosed) {
  auto first = ask("one", first_);
  auto second = ask("two", second_);
  EXPECT_EQ(terminal_->screen().find("two"), std::string::npos);
  terminal_->type("y");
  EXPECT_EQ(first_.first(), GateAnswer::approve);
  first.reset();
  EXPECT_NE(terminal_->screen().find("two: Go?"), std::string::npos);
  terminal_->type("n");
  EXPECT_EQ(second_.first(), GateAnswer::reject);
  second.reset();
  EXPECT_EQ(screen_, "hhr");
}

TEST_F(TerminalPromptsTest, AClosedQuestionIsNeverAnsweredAndItsLineAnswersNoOther) {
  auto first = ask("one", first_);
  auto second = ask("two", second_);
  first.reset();  // somebody else decided
  terminal_->type("n");
  EXPECT_EQ(second_.first(), GateAnswer::reject);
  EXPECT_EQ(first_.count(), 0U);
}

TEST_F(TerminalPromptsTest, AQuestionThatIsClosedBeforeItWasShownIsNeverShown) {
  auto first = ask("one", first_);
  auto second = ask("two", second_);
  second.reset();
  first.reset();
  EXPECT_EQ(terminal_->screen(), "one: Go?\nApprove? [y]es, [n]o, [l]ater: \n");
  EXPECT_EQ(screen_, "hr");
}

TEST_F(TerminalPromptsTest, ClosingEndsTheReadingAtOnce) {
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) ask("one", first_).reset();
  EXPECT_EQ(first_.count(), 0U);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

}  // namespace
}  // namespace pawl::cli
