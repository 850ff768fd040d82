// Starts and stops the attempts of one run: commands and handlers. Reports each start and end to the machine.
//
// An attempt that could not be started is attributed to the work or to the machine by the kind of the error. An attempt
// that was told to stop always leads to a fact about its end.
#pragma once

#include <unordered_map>

#include "engine/attempt_files.hpp"
#include "engine/attempt_result.hpp"
#include "engine/item_source.hpp"
#include "engine/run_recorder.hpp"
#include "engine/worktrees.hpp"

namespace pawl {

class Launcher {
 public:
  Launcher(RunContext& context, RunRecorder& recorder, Worktrees& trees, ItemSource& items)
      : context_(context), recorder_(recorder), trees_(trees), items_(items), files_(context) {}

  void start(const machine::command::StartAttempt& command);
  void stop(const machine::command::StopAttempt& command);
  /// Reports what attempts of an earlier execution left behind.
  void report_left();
  /// Reports what running attempts have used and reached until now.
  void read_reports();
  void remove_spares() { files_.remove_spares(); }
  /// Returns the last error of the machine that kept an attempt from starting.
  [[nodiscard]] const std::optional<Error>& trouble() const { return trouble_; }

 private:
  struct Attempt {
    machine::command::StartAttempt command;
    std::shared_ptr<const Step> step;
    AttemptStems stems;
    std::optional<ProcessRunner::Number> process;
    std::shared_ptr<StepOutput> log;
    std::shared_ptr<StepOutput> captured;  // null: standard output goes to the log
    std::int64_t began_us = 0;
    std::uint64_t report_bytes = 0;  // read until now
    bool stopping = false;
    bool told_confidence = false;
    bool has_report = false;  // a file that stays until what it says is durable
    EventLoop::TimerId grace = 0;
  };
  using Shared = std::shared_ptr<Attempt>;

  void launch_command(const Shared& attempt);
  void launch_handler(const Shared& attempt, const machine::Node& node);
  [[nodiscard]] Result<ProcessSpec> command_spec(Attempt& attempt, const machine::Node& node);
  [[nodiscard]] Result<std::vector<std::string>> environment_of(const Attempt& attempt, const machine::Node& node,
                                                                Json& arguments);
  [[nodiscard]] Result<void> write_input(const Attempt& attempt, const machine::Node& node, const Json& arguments);
  void open_outputs(Attempt& attempt, const Capture& capture, ProcessSpec& spec);
  void not_started(const Shared& attempt, const Error& error);
  void process_ended(const Shared& attempt, const ProcessEnd& end);
  void over(const Shared& attempt);
  void ended(const Shared& attempt, StepReport report, machine::fact::AttemptEnded fact);
  [[nodiscard]] std::optional<machine::Report> next_part(const Shared& attempt, StepReport& report);
  void tell_report(const std::string& path, const StepReport& report);
  [[nodiscard]] std::string mark_of(const Attempt& attempt) const;

  RunContext& context_;
  RunRecorder& recorder_;
  Worktrees& trees_;
  ItemSource& items_;
  AttemptFiles files_;
  std::unordered_map<machine::NodeId, Shared> attempts_;
  std::optional<Error> trouble_;
};

}  // namespace pawl
