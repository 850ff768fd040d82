#include "engine/gate_prompts.hpp"

namespace pawl {

void GatePrompts::open(const machine::command::Ask& command) {
  const auto& prompt = context_.services.prompt;
  if (!prompt || open_.contains(command.path)) return;
  context_.feed(machine::fact::SomebodyAnswers{});
  const Gate gate{context_.id.text(), command.path, command.prompt, command.binding};
  open_[command.path] = prompt(gate, [this, alive = context_.alive, command, &loop = context_.loop](GateAnswer answer) {
    loop.post([this, alive, command, answer] {
      if (*alive) answered(command, answer);
    });
  });
}

void GatePrompts::answered(const machine::command::Ask& command, GateAnswer answer) {
  if (open_.erase(command.path) == 0) return;  // it was closed meanwhile
  if (answer != GateAnswer::later) {
    const bool approves = answer == GateAnswer::approve;
    context_.feed(machine::fact::MessageArrived{
        .id = fmt::format("prompt-{}-{}", context_.services.clock.now().us, ++answers_),
        .type = approves ? machine::fact::MessageType::approve : machine::fact::MessageType::reject,
        .path = command.path,
        .binding = command.binding,
        .by = context_.services.person});
  }
  nobody_answers();
}

void GatePrompts::close(const machine::command::ClosePrompt& command) {
  if (open_.erase(command.path) > 0) nobody_answers();
}

void GatePrompts::close_all() { open_.clear(); }

/// Without an open prompt the run does not wait for this terminal.
void GatePrompts::nobody_answers() {
  if (open_.empty() && context_.services.waiting == Waiting::leave) context_.feed(machine::fact::NobodyAnswers{});
}

}  // namespace pawl
