// The child runs of one run: each is driven by an executor of its own, on the same event loop.
#pragma once

#include <unordered_map>

#include "engine/run_context.hpp"

namespace pawl {

class Executor;

class ChildRuns {
 public:
  explicit ChildRuns(RunContext& context);
  ChildRuns(const ChildRuns&) = delete;
  ChildRuns& operator=(const ChildRuns&) = delete;
  ~ChildRuns();

  void start(const machine::command::StartChild& command);
  void stop(const machine::command::StopChild& command);
  void pause(const machine::command::PauseChild& command);
  /// Reports costs, and wakes children whose execution ended because they wait and that have messages.
  void poll();
  void add_gates(std::vector<Gate>& gates) const;
  /// Must be called at the end of each round of the loop.
  void round();

 private:
  struct Child {
    std::string run;
    std::unique_ptr<Executor> executor;  // null: it is not driven now
    Usage reported;
    std::uint64_t steps_reported = 0;
    std::vector<Gate> gates;  // of one whose execution ended because it waits
  };
  void ended(machine::NodeId node);

  RunContext& context_;
  std::unordered_map<machine::NodeId, Child> children_;
  std::vector<std::unique_ptr<Executor>> over_;  // destroyed between two rounds
};

}  // namespace pawl
