#include "cli/terminal_prompts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/terminal_text.hpp"

namespace pawl::cli {
namespace {

std::optional<GateAnswer> answer_in(const TypedLine& typed) {
  const std::string& text = typed.text;
  if (typed.how == TypedLine::How::closed) return GateAnswer::later;
  if (text == "y" || text == "yes") return GateAnswer::approve;
  if (text == "n" || text == "no") return GateAnswer::reject;
  if (text.empty() || text == "l" || text == "later") return GateAnswer::later;
  return std::nullopt;
}

}  // namespace

class TerminalPrompts::Prompt final : public OpenPrompt {
 public:
  Prompt(TerminalPrompts& prompts, Asked asked) : prompts_(prompts), asked_(std::move(asked)) {}
  Prompt(const Prompt&) = delete;
  Prompt& operator=(const Prompt&) = delete;
  ~Prompt() override { prompts_.close(asked_); }

 private:
  TerminalPrompts& prompts_;
  const Asked asked_;
};

TerminalPrompts::TerminalPrompts(std::unique_ptr<Terminal> terminal, Screen screen)
    : terminal_(std::move(terminal)), screen_(std::move(screen)) {}

TerminalPrompts::~TerminalPrompts() {
  if (!reader_.joinable()) return;
  {
    const Lock lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  terminal_->interrupt();
  reader_.join();
}

std::unique_ptr<OpenPrompt> TerminalPrompts::open(const Gate& gate, std::function<void(GateAnswer)> answered) {
  const auto asked = std::make_shared<Question>(Question{gate, std::move(answered)});
  {
    const Lock lock(mutex_);
    open_.push_back(asked);
    if (!shown_) show_first();
  }
  if (!reader_.joinable()) reader_ = std::thread([this] { read(); });
  return std::make_unique<Prompt>(*this, asked);
}

void TerminalPrompts::show_first() {
  shown_ = open_.front();
  if (screen_.hold) screen_.hold();
  terminal_->discard_typed();
  const Gate& gate = shown_->gate;
  const std::string prompt =
      is_one_line(gate.prompt) ? " " + indented_lines(gate.prompt, "") : "\n" + indented_lines(gate.prompt, "    ");
  terminal_->write(fmt::format("{}:{}Approve? [y]es, [n]o, [l]ater: ", printable(gate.step), prompt));
  changed_.notify_all();
}

void TerminalPrompts::close(const Asked& asked) {
  Lock lock(mutex_);
  while (calling_ == asked) changed_.wait(lock);
  std::erase(open_, asked);
  if (shown_ != asked) return;
  shown_ = nullptr;
  if (!asked->is_answered) {
    terminal_->interrupt();
    terminal_->write("\n");
  }
  if (!open_.empty()) return show_first();
  if (screen_.release) screen_.release();
}

void TerminalPrompts::read() {
  Lock lock(mutex_);
  while (true) {
    while (!stops_ && (!shown_ || shown_->is_answered)) changed_.wait(lock);
    if (stops_) return;
    const Asked asked = shown_;
    lock.unlock();
    const TypedLine typed = terminal_->read_line();
    lock.lock();
    // If the prompt was closed meanwhile, the line was typed for it and for no other.
    if (shown_ == asked && typed.how != TypedLine::How::interrupted) take(asked, typed, lock);
  }
}

void TerminalPrompts::take(const Asked& asked, const TypedLine& typed, Lock& lock) {
  const std::optional<GateAnswer> answer = answer_in(typed);
  if (!answer) return terminal_->write("[y]es, [n]o or [l]ater: ");
  asked->is_answered = true;
  calling_ = asked;
  lock.unlock();
  asked->answered(*answer);
  lock.lock();
  calling_ = nullptr;
  changed_.notify_all();
}

}  // namespace pawl::cli
