// One execution of a run: from its start or a resume until it finishes, waits or is interrupted.
//
// The machine (src/machine) decides. The executor feeds it one fact after the other and does what its commands say,
// through its parts: attempts, items, children, the inbox, prompts, timers and saves. Everything runs on the thread of
// the event loop.
#pragma once

#include <deque>

#include "engine/child_runs.hpp"
#include "engine/gate_prompts.hpp"
#include "engine/launcher.hpp"
#include "engine/run_inbox.hpp"
#include "engine/shared_results.hpp"

namespace pawl {

class Executor {
 public:
  Executor(const ExecutionServices& services, EventLoop& loop, OpenedRun run);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  /// Starts; the rest happens in the loop.
  void start();
  /// Returns whether the execution is over and everything is saved, or can't be saved.
  [[nodiscard]] bool ended() const { return over_; }
  void when_ended(std::function<void()> task) { when_ended_ = std::move(task); }
  /// Calls `task` when steps have completed.
  void when_progress(std::function<void()> task) { when_progress_ = std::move(task); }
  /// Must be called at the end of each round of the loop.
  void round();

  /// Gives running steps their grace period, then marks the run as `interrupted`.
  void interrupt(const std::string& why) { feed(machine::fact::Interrupted{why}); }
  void cancel(const std::string& why) { feed(machine::fact::CancelWanted{why}); }
  /// Lets running steps finish and starts no other, because a budget around this run is used up.
  void pause() { feed(machine::fact::PauseRequested{}); }
  void checkpoint_now(Reason reason);

  [[nodiscard]] const RunId& id() const { return context_.id; }
  /// Returns the progress of the run without its steps.
  [[nodiscard]] RunState state() const;
  [[nodiscard]] const Usage& usage() const { return context_.state.usage; }
  [[nodiscard]] std::uint64_t completed_steps() const { return context_.state.completed_steps; }
  /// Returns the records of all started steps, outer before inner.
  [[nodiscard]] std::vector<std::pair<std::string, StepRecord>> records() const;
  [[nodiscard]] const std::optional<machine::command::Finish>& finish() const { return finish_; }
  [[nodiscard]] bool everything_saved() const { return finish_ && finish_->everything_saved; }
  /// The error of the storage or the machine that ended the execution, if any.
  [[nodiscard]] const std::optional<Error>& trouble() const { return trouble_; }
  /// Returns whether the run failed because a person rejected something.
  [[nodiscard]] bool rejected() const;
  /// Returns whether the run failed because a loop has used up its iterations.
  [[nodiscard]] bool exhausted() const;
  [[nodiscard]] bool over_budget() const { return machine::over_budget(context_.state); }
  [[nodiscard]] bool paused() const { return machine::is_paused(context_.state); }
  /// Returns what the run waits for, for messages.
  [[nodiscard]] std::vector<std::string> waiting_for() const { return machine::waiting_for(context_.state); }
  [[nodiscard]] std::vector<Gate> gates() const;

 private:
  void feed(machine::Fact fact);
  void perform(machine::Command&& command);
  void set_timer(const machine::command::SetTimer& command);
  void finished(const machine::command::Finish& command);
  void notify();
  [[nodiscard]] Result<void> begin();
  [[nodiscard]] Result<void> make_environment();
  [[nodiscard]] std::shared_ptr<const machine::Definition> make_definition();
  void watch();

  RunContext context_;
  RunRecorder recorder_;
  Worktrees trees_;
  ItemSource items_;
  Launcher launcher_;
  ChildRuns children_;
  RunInbox inbox_;
  GatePrompts prompts_;
  SharedResults shared_;
  const std::optional<ResumeFacts> resume_;
  RunState loaded_;  // until the start

  std::deque<machine::Fact> facts_;  // not fed yet
  bool feeding_ = false;
  std::unordered_map<machine::TimerId, EventLoop::TimerId> timers_;
  std::size_t notifying_ = 0;
  std::optional<machine::command::Finish> finish_;
  std::optional<Error> trouble_;
  bool over_ = false;
  std::function<void()> when_ended_;
  std::function<void()> when_progress_;
  std::uint64_t progress_ = 0;  // completed steps that were told
};

}  // namespace pawl
