#include "service/recovery.hpp"

#include "service/run_status.hpp"

namespace pawl {

Result<CrashedRuns> crashed_runs(Store& store, const RecoverySettings& settings, Timestamp now) {
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> runs, resumable_runs(store));
  const Timestamp oldest{now.us - std::chrono::microseconds(settings.within).count()};
  CrashedRuns crashed;
  for (const RunInfo& run : runs) {
    if (run.updated < oldest) continue;
    // The state still says `running`, but no process executes the run.
    const Result<RunState> state = load_state(store, run.id);
    if (!state || state->status != RunStatus::running) continue;
    if (state->automatic_resumes >= settings.attempts_max)
      crashed.given_up.push_back({run.id, state->automatic_resumes + 1});
    else
      crashed.to_resume.push_back(run.id);
  }
  return crashed;
}

Result<void> resume_crashed(
    const std::vector<RunId>& runs, const RecoverySettings& settings,
    const std::function<Result<void>(const ResumeRequest& request, const std::function<void()>& on_timeout)>& resume,
    const std::function<void(const RecoveryNews& news)>& tell) {
  for (const RunId& id : runs) {
    tell({RecoveryNews::What::resuming, id});
    ResumeRequest request{.id = id};
    request.by = ResumedBy::automatic;
    request.automatic_max = settings.attempts_max;
    bool too_long = false;
    const Result<void> ended = resume(request, [&too_long] { too_long = true; });
    if (ended) continue;
    if (too_long) {
      tell({RecoveryNews::What::timed_out, id});
      continue;
    }
    if (ended.error().code == Code::run_interrupted) return ended;  // the person wants to stop
    tell({RecoveryNews::What::failed, id, ended.error()});
  }
  return {};
}

}  // namespace pawl
