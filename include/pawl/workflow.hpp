// Work in C++ that goes on where it stopped: single steps of a program, and whole workflows with handlers.
//
//   auto pawl = pawl::Pawl::open(".pawl");
//   auto run = pawl->durable("nightly");
//   auto page = run->step("fetch", [] { return fetch(); });   // done before: its recorded result, not called
//
//   pawl::HandlerRegistry handlers;
//   handlers.add("square", [](const pawl::HandlerCall& call) -> pawl::Result<pawl::HandlerResult> { ... });
//   pawl::WorkflowEngine engine(*pawl, handlers);
//   auto summary = engine.run_text("job-1", yaml);
//   ... after a crash: engine.resume("job-1", {.workflow_text = yaml});
//
// Nothing throws; every call that can fail returns a Result.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <pawl/handlers.hpp>
#include <pawl/pawl.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

/// Steps of a program, recorded under their names in the run's ledger: the same one that `pawl step` uses, so
/// scripts and programs can share a run. Thread-safe. Must be destroyed before its Pawl.
class DurableRun {
 public:
  DurableRun(DurableRun&&) noexcept;
  DurableRun& operator=(DurableRun&&) noexcept;
  ~DurableRun();

  using Function = std::function<Result<std::string>()>;
  /// The recorded result where the step is done; else calls `fn` and gives its result when that is durable. A
  /// result is JSON (invalid_json otherwise, and the step is not done). An error of `fn` is recorded as a failed
  /// attempt and returned; the next call calls `fn` again. The same name at the same time: step_busy.
  /// What a command of `pawl step` printed comes back as it is, be it JSON or not.
  Result<std::string> step(std::string_view name, const Function& fn);

  using ItemFunction = std::function<Result<std::string>(std::string_view item, std::uint64_t index)>;
  /// Calls `fn` for each item (JSON) that has no recorded result, from `parallel` threads, and gives all results
  /// in the items' order. Each result is recorded exactly once, and a call in which nothing is left to do calls
  /// nothing. The first error stops new items, lets running ones finish and is returned; what is recorded stays
  /// so. Other items than those of the first call under this name: items_changed.
  Result<std::vector<std::string>> map(std::string_view name, std::span<const std::string> items,
                                       const ItemFunction& fn, std::size_t parallel = 1);

  /// The same in all attempts at the step, and different in every run: for services that take one.
  [[nodiscard]] std::string idempotency_key(std::string_view name) const;

 private:
  friend class Pawl;
  struct Parts;
  explicit DurableRun(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// What happened in a run, told when it is durable.
struct RunEventView {
  std::string_view run;
  std::string_view type;  // step_started, step_completed, item_completed, run_completed, ...
  std::string_view step;  // its path; empty where the event is the run's
  Timestamp at;
  std::string_view data;  // a JSON object
};

struct WorkflowOptions {
  std::function<void(const RunEventView& event)> observer = {};  // by the thread that called run or resume
  std::size_t handler_threads = 8;
};

enum class WorkflowStatus : std::uint8_t { completed, failed, waiting, interrupted, cancelled };
[[nodiscard]] std::string_view to_text(WorkflowStatus status);

/// How an execution ended.
struct WorkflowSummary {
  WorkflowStatus status = WorkflowStatus::completed;
  std::string error = {};               // why it failed, or what it waits for
  std::string outputs = "{}";           // JSON: the workflow's `outputs:`
  std::uint64_t steps_completed = 0;    // steps and items, over all executions
  std::uint64_t steps_kept = 0;         // of them, those that this execution did not have to do again
  std::vector<std::string> notes = {};  // for people: what a resume found changed
};

enum class ChangedWorkflow : std::uint8_t { refuse, accept };
/// An automatic resume is refused with retries_exhausted after so many in a row (`retries_max`); one that a
/// person asked for gives the run a fresh budget.
enum class ResumeBy : std::uint8_t { person, automatic };

struct ResumeOptions {
  std::string workflow_file = {};  // empty: the recorded one
  std::string workflow_text = {};  // of a run that was started from a text: the store's copy is never executed
  ChangedWorkflow changed = ChangedWorkflow::refuse;
  ResumeBy by = ResumeBy::person;
  std::uint32_t retries_max = 3;
  std::map<std::string, Handler> handlers_override = {};  // by name, instead of the registered ones, this time
};

/// Runs workflows in this process. `handlers` and `pawl` must outlive it. Several runs may be executed at the same
/// time, each by a thread of its own.
class WorkflowEngine {
 public:
  WorkflowEngine(Pawl& pawl, const HandlerRegistry& handlers, WorkflowOptions options = {});
  WorkflowEngine(const WorkflowEngine&) = delete;
  WorkflowEngine& operator=(const WorkflowEngine&) = delete;
  ~WorkflowEngine();

  /// Returns when the run has ended or waits. Errors are refusals and storage trouble; a failed run is a summary.
  /// `vars` is a JSON object.
  Result<WorkflowSummary> run_file(std::string_view run, const std::string& file, std::string_view vars = "{}");
  Result<WorkflowSummary> run_text(std::string_view run, std::string_view yaml, std::string_view vars = "{}");

  /// Goes on with a run whose process has died, or that failed, was interrupted or waits. Each refusal has its own
  /// code, looked at in this order: checkpoint_not_found, recover_completed, recovery_in_progress or run_busy,
  /// retries_exhausted, chain_broken, handler_not_registered; then those of changes (workflow_changed, ...).
  Result<WorkflowSummary> resume(std::string_view run, const ResumeOptions& options = {});

  /// From any thread or observer: running steps get their grace time, and the executions end as interrupted.
  void interrupt();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl
