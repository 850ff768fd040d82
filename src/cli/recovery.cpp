#include "cli/recovery.hpp"

#include "cli/run_status.hpp"
#include "cli/workflow_session.hpp"
#include "text/duration.hpp"

namespace pawl::cli {
namespace {

/// Those whose process died while they were running: they say so still, and nobody has them.
Result<std::vector<RunId>> crashed_runs(const Invocation& invocation, const RecoverySettings& settings) {
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> runs, resumable_runs(*store));
  const Timestamp oldest{invocation.context().clock.now().us - std::chrono::microseconds(settings.within).count()};
  std::vector<RunId> crashed;
  for (const RunInfo& run : runs) {
    if (run.updated < oldest) continue;
    const Result<RunState> state = load_state(*store, run.id);
    if (!state || state->status != RunStatus::running) continue;
    if (state->automatic_resumes >= settings.attempts_max) {
      invocation.note(fmt::format("run {} has crashed {} times in a row; `pawl resume {}` tries it again",
                                  run.id.text(), state->automatic_resumes + 1, run.id.text()));
      continue;
    }
    crashed.push_back(run.id);
  }
  return crashed;
}

}  // namespace

Result<void> recover_crashed_runs(const Invocation& invocation) {
  PAWL_TRY_ASSIGN(const Config* const config, invocation.config());
  const RecoverySettings& settings = config->settings.recovery;
  if (!settings.automatic || !config->settings.checkpoint.enabled) return {};
  const Result<std::vector<RunId>> crashed = crashed_runs(invocation, settings);
  if (!crashed) return {};  // no store yet, or one that the run itself will complain about
  for (const RunId& id : *crashed) {
    invocation.note(fmt::format("resuming {}, which crashed", id.text()));
    ResumeRequest request{.id = id};
    request.by = ResumedBy::automatic;
    request.automatic_max = settings.attempts_max;
    bool too_long = false;
    SessionOptions options{.timeout = settings.timeout};
    options.on_timeout = [&too_long] { too_long = true; };
    const Result<void> ended = resume_workflow(invocation, request, options);
    if (!ended && too_long) {
      invocation.note(
          fmt::format("run {}: not completed within {} (recovery.recovery_timeout_seconds); `pawl resume {}` goes on",
                      id.text(), duration_text(settings.timeout), id.text()));
      continue;
    }
    if (!ended && ended.error().code == Code::run_interrupted) return ended;  // the person wants to stop
    if (!ended) invocation.note(fmt::format("run {}: {}", id.text(), ended.error().message));
  }
  return {};
}

}  // namespace pawl::cli
