// Asks the person at the terminal about gates that wait, if there is one. Never blocks: a decision from elsewhere, a
// deadline or an interrupt closes the prompt.
#pragma once

#include <map>

#include "engine/prompt.hpp"
#include "engine/run_context.hpp"

namespace pawl {

class GatePrompts {
 public:
  explicit GatePrompts(RunContext& context) : context_(context) {}

  void open(const machine::command::Ask& command);
  void close(const machine::command::ClosePrompt& command);
  void close_all();

 private:
  void answered(const machine::command::Ask& command, GateAnswer answer);

  RunContext& context_;
  std::map<std::string, std::unique_ptr<OpenPrompt>> open_;  // by step
  std::uint64_t answers_ = 0;
};

}  // namespace pawl
