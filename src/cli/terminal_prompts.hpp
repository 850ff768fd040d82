// Asks the person at the terminal for decisions, while the run continues.
#pragma once

#include <deque>
#include <thread>

#include "base/mutex.hpp"
#include "engine/prompt.hpp"
#include "ports/terminal.hpp"

namespace pawl::cli {

/// One prompt is shown at a time; others wait until it is closed, oldest first. A thread of its own reads the terminal
/// while a prompt is shown, and stops at once when the prompt is closed: a line that is typed for one prompt never
/// answers another. Must outlive its prompts. All functions are called on one thread.
class TerminalPrompts {
 public:
  /// Called on the thread that opens and closes prompts, before one is shown and after the last one was closed.
  struct Screen {
    std::function<void()> hold = {};     // stop drawing below the cursor; all output was written
    std::function<void()> release = {};  // draw again
  };
  TerminalPrompts(std::unique_ptr<Terminal> terminal, Screen screen);
  TerminalPrompts(const TerminalPrompts&) = delete;
  TerminalPrompts& operator=(const TerminalPrompts&) = delete;
  ~TerminalPrompts();

  [[nodiscard]] std::unique_ptr<OpenPrompt> open(const Gate& gate, std::function<void(GateAnswer)> answered);

 private:
  class Prompt;
  struct Question {
    Gate gate;
    std::function<void(GateAnswer)> answered;
    bool is_answered = false;
  };
  using Asked = std::shared_ptr<Question>;

  void close(const Asked& asked);
  void show_first() PAWL_REQUIRES(mutex_);
  void read();
  void take(const Asked& asked, const TypedLine& typed, Lock& lock) PAWL_REQUIRES(mutex_) PAWL_LETS_GO;

  const std::unique_ptr<Terminal> terminal_;
  const Screen screen_;
  Mutex mutex_;
  Condition changed_;
  std::deque<Asked> open_ PAWL_GUARDED_BY(mutex_);  // oldest first
  Asked shown_ PAWL_GUARDED_BY(mutex_);             // the first of them, or null
  Asked calling_ PAWL_GUARDED_BY(mutex_);           // whose `answered` is being called
  bool stops_ PAWL_GUARDED_BY(mutex_) = false;
  std::thread reader_;  // started with the first prompt
};

}  // namespace pawl::cli
