// Delivers the messages of a run's inbox to the machine. A message stays in the inbox until its effect is durable.
#pragma once

#include <set>

#include "engine/run_context.hpp"
#include "engine/run_recorder.hpp"

namespace pawl {

class RunInbox {
 public:
  RunInbox(RunContext& context, RunRecorder& recorder) : context_(context), recorder_(recorder) {}

  /// Delivers messages that have arrived since.
  void poll();
  /// Delivers everything that was acknowledged until now and reports InboxRead. With `seal`, nothing else is
  /// acknowledged from then on.
  void read(const machine::command::ReadInbox& command);
  void unseal();
  void take(const machine::command::TakeMessage& command);

 private:
  void deliver(const Message& message);

  RunContext& context_;
  RunRecorder& recorder_;
  std::set<std::string> delivered_;
};

}  // namespace pawl
