#include "engine/gate_prompts.hpp"

namespace pawl {

void GatePrompts::open(const machine::command::Ask& command) {
  const auto& prompt = context_.services.prompt;
  if (!prompt || open_.contains(command.path)) return;
  const Gate gate{context_.id.text(), command.path, command.prompt, command.binding};
  open_[command.path] = prompt(gate, [this, alive = context_.alive, command, &loop = context_.loop](GateAnswer answer) {
    loop.post([this, alive, command, answer] {
      if (*alive) answered(command, answer);
    });
  });
}

void GatePrompts::answered(const machine::command::Ask& command, GateAnswer answer) {
  if (open_.erase(command.path) == 0) return;  // it was closed meanwhile
  if (answer == GateAnswer::later) {
    context_.feed(machine::fact::AnswerPostponed{.path = command.path});
  } else {
    context_.read_inbox();  // a decision that is durable already wins
    const bool approves = answer == GateAnswer::approve;
    context_.feed(machine::fact::MessageArrived{
        .id = fmt::format("prompt-{}-{}", context_.services.clock.now().us, ++answers_),
        .type = approves ? machine::fact::MessageType::approve : machine::fact::MessageType::reject,
        .at = context_.services.clock.now(),
        .path = command.path,
        .binding = command.binding,
        .by = context_.services.person});
  }
}

void GatePrompts::close(const machine::command::ClosePrompt& command) { open_.erase(command.path); }

void GatePrompts::close_all() { open_.clear(); }

}  // namespace pawl
