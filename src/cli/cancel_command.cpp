#include "base/error_line.hpp"
#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/workflow_session.hpp"
#include "engine/control.hpp"
#include "engine/open_run.hpp"
#include "engine/run_session.hpp"
#include "service/workflow_world.hpp"

namespace pawl::cli {
namespace {

constexpr std::int64_t kWait_us = 30'000'000;
constexpr std::int64_t kPoll_us = 100'000;
constexpr std::uint64_t kLeftWait_ms = 5'000;
constexpr std::size_t kRunDepthMax = 64;  // of runs within runs; only a damaged store has more

struct CancelArguments {
  std::string run;
  std::string reason = "cancelled by request";
  bool no_wait = false;
};

/// Returns false if the run still has an owner at the deadline.
Result<bool> wait_for_owner(const Invocation& invocation, Store& store, const RunId& run, std::int64_t deadline_us) {
  Clock& clock = invocation.context().clock;
  while (true) {
    PAWL_TRY_ASSIGN(const std::optional<std::string> owner, store.owner(run));
    if (!owner) return true;
    if (clock.monotonic_us() >= deadline_us) return false;
    clock.sleep_us(kPoll_us);
  }
}

struct Ending {
  Cancelled cancelled;
  bool over = true;
};

/// Returns whether the workflow of the run does something at the end of every run. One that can't be read does not.
bool has_ending(const Invocation& invocation, const RunState& state) {
  if (invocation.context().workflows == nullptr || state.workflow_file.empty()) return false;
  const Result<Workflow> workflow = load_workflow(invocation.context(), state.workflow_file, LoadFor::begun_run);
  return workflow && (workflow->finally != nullptr || workflow->notify);
}

/// Executes the endings of a run that no process executes, and of its children first. What this leaves is cancelled
/// without them.
void end_in_order(const Invocation& invocation, Store& store, const RunId& run, const std::string& reason,
                  std::vector<std::string>& ended, std::size_t depth = 0) {
  const Result<RunState> state = load_state(store, run);
  if (!state || is_ended(state->status) || depth == kRunDepthMax) return;
  if (const auto owner = store.owner(run); !owner || *owner) return;
  for (const auto& [path, record] : state->steps) {
    if (record.child_run.empty() || is_settled(record.status)) continue;
    if (const Result<RunId> child = RunId::parse(record.child_run))
      end_in_order(invocation, store, *child, reason, ended, depth + 1);
  }
  if (!has_ending(invocation, *state)) return;
  const Result<void> done = end_workflow(invocation, run, reason);
  if (done || done.error().code == Code::run_cancelled) {
    ended.push_back(run.text());
  } else {
    invocation.note(fmt::format("{}: {}", run.text(), describe_in_line(done.error())));
  }
}

/// If the owner exits before it sees the message, the run is cancelled here.
Result<Ending> cancel_and_wait(const Invocation& invocation, Store& store, const RunId& run,
                               const CancelArguments& arguments) {
  Cancelled in_order;
  end_in_order(invocation, store, run, arguments.reason, in_order.runs);
  PAWL_TRY_ASSIGN(const RunState now, load_state(store, run));
  if (!in_order.runs.empty() && now.status == RunStatus::cancelled) return Ending{std::move(in_order), true};
  const std::int64_t deadline_us = invocation.context().clock.monotonic_us() + kWait_us;
  while (true) {
    PAWL_TRY_ASSIGN(Cancelled cancelled,
                    cancel_run(store, invocation.context().clock, run, arguments.reason, invocation.state_bytes_max()));
    if (!cancelled.asked) return Ending{std::move(cancelled), true};
    if (arguments.no_wait) return Ending{std::move(cancelled), false};
    PAWL_TRY_ASSIGN(const bool gone, wait_for_owner(invocation, store, run, deadline_us));
    if (!gone) return Ending{std::move(cancelled), false};
    PAWL_TRY_ASSIGN(const RunState state, load_state(store, run));
    if (state.status == RunStatus::cancelled) return Ending{std::move(cancelled), true};
  }
}

/// Kills processes that a dead execution left behind.
void end_processes(const Invocation& invocation, Store& store, const RunId& run) {
  const WorkflowWorld* world = invocation.context().workflows;
  const Result<RunState> state = load_state(store, run);
  const Result<RunInfo> info = store.run(run);
  const Result<std::string> logs = store.local_folder(run);
  if (world == nullptr || !world->start_processes || !state || !state->parent_run.empty() || !info || !logs) return;
  const Result<std::unique_ptr<ProcessRunner>> processes = world->start_processes(*logs + "/../reaper");
  if (!processes) return;
  for (const LeftProcess& left : (*processes)->end_all(mark_of_processes(info->uuid, **processes), kLeftWait_ms))
    invocation.note(fmt::format("a process of the run is still running: {} {}", left.pid, left.command));
}

Result<void> cancel(const Invocation& invocation, const CancelArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const Ending ending, cancel_and_wait(invocation, *store, run, arguments));
  if (!ending.cancelled.asked) end_processes(invocation, *store, run);
  if (invocation.json()) {
    JsonObject document;
    document.text("run", run.text())
        .text("status", ending.over ? "cancelled" : "cancelling")
        .text("reason", arguments.reason);
    invocation.print(document.done() + "\n");
    return {};
  }
  if (ending.over) {
    invocation.print(fmt::format("{}: cancelled\n", run.text()));
    for (const std::string& child : ending.cancelled.runs) {
      if (child != run.text()) invocation.print(fmt::format("{}: cancelled\n", child));
    }
    return {};
  }
  invocation.print(fmt::format("{}: cancel requested\n", run.text()));
  invocation.note(fmt::format("{} is stopping its steps", ending.cancelled.owner));
  return {};
}

}  // namespace

Command add_cancel(Options& root) {
  const auto arguments = std::make_shared<CancelArguments>();
  Options& app = root.command("cancel", "Cancel a run with its steps and child runs; it can't be resumed");
  app.group(kWorkflowGroup);
  app.text("RUN", arguments->run, "Run id").required();
  app.text("--reason", arguments->reason, "Reason to record with the run (default: none)").value("TEXT");
  app.flag("--no-wait", arguments->no_wait, "Return at once (default: wait up to 30 s for steps to stop)");
  app.footer(
      "Examples:\n"
      "  pawl cancel notes-k3f9 --reason 'wrong topic'\n"
      "\n"
      "A cancelled run can't be resumed. To pause a run, press Ctrl-C where it runs\n"
      "or send it SIGTERM.");
  return {&app, [arguments](const Invocation& invocation) { return cancel(invocation, *arguments); }};
}

}  // namespace pawl::cli
