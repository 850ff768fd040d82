#include "adapters/posix/posix_terminal.hpp"

#include <gtest/gtest.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace pawl {
namespace {

using How = TypedLine::How;

class PosixTerminalTest : public ::testing::Test {
 protected:
  PosixTerminalTest() {
    int keyboard = -1;
    int screen = -1;
    EXPECT_EQ(::openpty(&keyboard, &screen, nullptr, nullptr, nullptr), 0);
    keyboard_ = PosixFd(keyboard);
    screen_ = PosixFd(screen);
    terminal_ = std::make_unique<PosixTerminal>(screen, screen);
  }
  void type(std::string_view text) const {
    EXPECT_EQ(::write(keyboard_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  PosixFd keyboard_;
  PosixFd screen_;
  std::unique_ptr<PosixTerminal> terminal_;
};

TEST_F(PosixTerminalTest, LinesAreReadOneByOne) {
  type("yes\nno\n");
  EXPECT_EQ(terminal_->read_line().text, "yes");
  const TypedLine second = terminal_->read_line();
  EXPECT_EQ(second.how, How::line);
  EXPECT_EQ(second.text, "no");
}

TEST_F(PosixTerminalTest, AnInterruptEndsAReadThatWaits) {
  std::jthread later([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    terminal_->interrupt();
  });
  EXPECT_EQ(terminal_->read_line().how, How::interrupted);
}

TEST_F(PosixTerminalTest, AnInterruptEndsTheNextReadAndDiscardsWhatWasTyped) {
  type("yes\nn");
  EXPECT_EQ(terminal_->read_line().text, "yes");
  type("o");
  terminal_->interrupt();
  EXPECT_EQ(terminal_->read_line().how, How::interrupted);
  type("later\n");
  EXPECT_EQ(terminal_->read_line().text, "later");
}

TEST_F(PosixTerminalTest, ATerminalThatIsGoneIsTheEndOfTheInput) {
  keyboard_ = PosixFd();
  EXPECT_EQ(terminal_->read_line().how, How::closed);
}

TEST_F(PosixTerminalTest, TheEndOfFileKeyIsTheEndOfTheInput) {
  type("\x04");
  EXPECT_EQ(terminal_->read_line().how, How::closed);
}

TEST_F(PosixTerminalTest, ATextIsShown) {
  terminal_->write("Approve? ");
  char shown[32] = {};
  EXPECT_EQ(::read(keyboard_.get(), shown, sizeof(shown)), 9);
  EXPECT_STREQ(shown, "Approve? ");
}

}  // namespace
}  // namespace pawl
