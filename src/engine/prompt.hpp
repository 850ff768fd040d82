// Questions to a person who sits at the terminal of an execution.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace pawl {

/// A gate that waits for a person.
struct Gate {
  std::string run;
  std::string step;
  std::string prompt;
  std::string binding;
};
enum class GateAnswer : std::uint8_t { approve, reject, later };

/// A question that is shown, or waits to be shown. Destroying it closes it: because it was answered, because somebody
/// else decided, or because the execution ends. What happened instead is told by the view of the run.
class OpenPrompt {
 public:
  OpenPrompt() = default;
  OpenPrompt(const OpenPrompt&) = delete;
  OpenPrompt& operator=(const OpenPrompt&) = delete;
  virtual ~OpenPrompt() = default;
};

/// Asks without waiting. `answered` is called at most once, on any thread, and never after the prompt was destroyed. It
/// must not destroy the prompt or open another one; it posts the answer to the thread that does. `later` means that the
/// person does not want to decide now, or left. Prompts are opened and destroyed on one thread.
using PromptPerson =
    std::function<std::unique_ptr<OpenPrompt>(const Gate& gate, std::function<void(GateAnswer answer)> answered)>;

}  // namespace pawl
