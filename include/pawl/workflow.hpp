// C++ programs that continue where they stopped: durable steps, and workflows whose steps are handlers.
//
//   auto pawl = pawl::Pawl::open(".pawl");
//   auto run = pawl->durable("nightly");
//   auto page = run->step("fetch", [] { return fetch(); });   // returns the recorded result if the step has completed
//
//   pawl::HandlerRegistry handlers;
//   handlers.add("square", [](const pawl::HandlerCall& call) -> pawl::Result<pawl::HandlerResult> { ... });
//   pawl::WorkflowEngine engine(*pawl, handlers);
//   auto summary = engine.run_text("job-1", yaml);
//   ... after a crash: engine.resume("job-1", {.workflow_text = yaml});
//
// No function throws. Functions that can fail return a Result.
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

/// A run whose steps are functions of this program. Results are recorded by step name, in the same ledger that
/// `pawl step` uses, so scripts and programs can share a run. Step names match `[A-Za-z0-9_][A-Za-z0-9._-]*` and have
/// at most 128 characters; other names fail with invalid_label. Thread-safe. Must be destroyed before its Pawl.
///
/// Holds the run open for writing while it is used, and for up to 200 ms after that. `pawl step` and other DurableRuns
/// get it within about 50 ms in between; other writers can fail with run_busy.
class DurableRun {
 public:
  DurableRun(DurableRun&&) noexcept;
  DurableRun& operator=(DurableRun&&) noexcept;
  ~DurableRun();

  using Function = std::function<Result<std::string>()>;
  /// Returns the recorded result if the step has completed. Otherwise calls `fn`, and returns its result once that is
  /// durable. The result of `fn` must be JSON of at most 3 MiB; otherwise the attempt fails with invalid_json,
  /// state_too_large or another error of the JSON check. If `fn` returns an error, it is recorded as a failed attempt
  /// and returned, and the next call runs `fn` again. An exception of `fn` becomes step_failed. Fails with step_busy
  /// while another thread or process runs the same step, and with items_changed if the name belongs to a map. The
  /// output of a command recorded by `pawl step` is returned unchanged, even if it is not JSON.
  Result<std::string> step(std::string_view name, const Function& fn);

  using ItemFunction = std::function<Result<std::string>(std::string_view item, std::uint64_t index)>;
  /// Calls `fn` on at most `parallel` threads for each item that has no recorded result yet, and returns the results of
  /// all items in the order of the items. Results must be JSON, as for `step`, and are durable when `map` returns. Each
  /// result is recorded once; `fn` runs again only for items whose result was not recorded before a crash or an error.
  /// After the first error no new items start, running items finish, their results are recorded, and the error is
  /// returned. Fails with items_changed if the items differ from those of the first call with this name, or if the name
  /// belongs to a step, and with step_busy while another thread or process runs the same map.
  Result<std::vector<std::string>> map(std::string_view name, std::span<const std::string> items,
                                       const ItemFunction& fn, std::size_t parallel = 1);

  /// Returns a key for services that support idempotent requests. It is the same in all attempts at the step and
  /// different for every step and run.
  [[nodiscard]] std::string idempotency_key(std::string_view name) const;

 private:
  friend class Pawl;
  struct Parts;
  explicit DurableRun(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// An event of a run, as passed to the observer. Recorded events are passed once they are durable. Progress and storage
/// errors (attempt_started, item_started, map_progress, storage_trouble, inbox_trouble) are passed at once and may
/// never be stored. The views are valid only during the call.
struct RunEventView {
  std::string_view run;   // ID of the run
  std::string_view type;  // step_started, step_completed, item_completed, run_completed, ...
  std::string_view step;  // path of the step; empty for events of the run itself
  Timestamp at;
  std::string_view data;  // the text of a JSON object
};

struct WorkflowOptions {
  /// Called for each event, on the thread that called run_file, run_text or resume. Must not block for long. May be
  /// empty.
  std::function<void(const RunEventView& event)> observer = {};
  std::size_t handler_threads = 8;  // maximum number of handlers that run at the same time
};

enum class WorkflowStatus : std::uint8_t { completed, failed, waiting, interrupted, cancelled };
/// Returns the name of the status, for example `completed`.
[[nodiscard]] std::string_view to_text(WorkflowStatus status);

/// The result of an execution.
struct WorkflowSummary {
  WorkflowStatus status = WorkflowStatus::completed;
  std::string error = {};               // why it failed or stopped, or what it is waiting for; may be empty
  std::string outputs = "{}";           // JSON object: the `outputs:` of the workflow
  std::uint64_t steps_completed = 0;    // number of completed steps and items, over all executions
  std::uint64_t steps_kept = 0;         // how many of these had completed before this execution
  std::vector<std::string> notes = {};  // what a resume found changed, as text for people
};

/// Whether a run may be resumed with a workflow that has changed since it started. `refuse` fails with
/// workflow_changed.
enum class ChangedWorkflow : std::uint8_t { refuse, accept };
/// Who resumes a run. An automatic resume fails with retries_exhausted after `retries_max` consecutive automatic
/// resumes of a run that had crashed or failed. A resume by a person resets that count and the retries of unfinished
/// steps.
enum class ResumeBy : std::uint8_t { person, automatic };

struct ResumeOptions {
  std::string workflow_file = {};  // empty: the file that is recorded in the run
  /// The workflow of a run that was started with run_text. It is required for such a run, because a copy of the
  /// workflow in the store is never executed.
  std::string workflow_text = {};
  ChangedWorkflow changed = ChangedWorkflow::refuse;
  ResumeBy by = ResumeBy::person;
  std::uint32_t retries_max = 3;                          // for ResumeBy::automatic
  std::map<std::string, Handler> handlers_override = {};  // by name; replace registered ones in this resume only
};

/// Runs workflows in this process. `pawl` and `handlers` must outlive it. Thread-safe: several threads may each execute
/// a different run at the same time.
class WorkflowEngine {
 public:
  WorkflowEngine(Pawl& pawl, const HandlerRegistry& handlers, WorkflowOptions options = {});
  WorkflowEngine(const WorkflowEngine&) = delete;
  WorkflowEngine& operator=(const WorkflowEngine&) = delete;
  ~WorkflowEngine();

  /// Starts a new run and returns when it has completed, failed, been interrupted or cancelled, or waits for something.
  /// A run that fails returns a summary. An error means that the run could not start or continue: for example
  /// invalid_workflow, invalid_variable, handler_not_registered, run_exists, run_busy, or a storage error.
  /// `vars` is a JSON object of at most 8 MiB.
  Result<WorkflowSummary> run_file(std::string_view run, const std::string& file, std::string_view vars = "{}");
  /// The same for a workflow in memory. To resume the run, pass the text again (ResumeOptions::workflow_text).
  Result<WorkflowSummary> run_text(std::string_view run, std::string_view yaml, std::string_view vars = "{}");

  /// Continues a run whose process died, or that failed, was interrupted or waits, and returns like run_file. Completed
  /// steps are not repeated. Refusals are checked in this order: checkpoint_not_found (no such run), an unreadable
  /// state (chain_broken and others), recover_completed, recovery_in_progress or run_busy, retries_exhausted,
  /// handler_not_registered, run_ended (cancelled), and changes (workflow_changed, folder_changed and others).
  Result<WorkflowSummary> resume(std::string_view run, const ResumeOptions& options = {});

  /// Interrupts all executions of this engine and returns immediately. No new steps start. Running commands receive
  /// SIGTERM, and SIGKILL after the grace period of the workflow; running handlers finish. The executions then return
  /// with the status `interrupted`. May be called from any thread and from the observer.
  void interrupt();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl
