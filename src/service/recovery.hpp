// Resuming crashed runs automatically, if the settings allow it.
#pragma once

#include <functional>
#include <vector>

#include "domain/settings.hpp"
#include "engine/open_run.hpp"
#include "ports/store.hpp"

namespace pawl {

/// A run that crashed too often in a row to be resumed automatically.
struct GivenUpRun {
  RunId run;
  std::uint32_t crashes = 0;
};

struct CrashedRuns {
  std::vector<RunId> to_resume;  // newest first
  std::vector<GivenUpRun> given_up;
};

/// Returns the runs whose process died while they were running, within the limits of `settings`.
[[nodiscard]] Result<CrashedRuns> crashed_runs(Store& store, const RecoverySettings& settings, Timestamp now);

/// What happens to one run during a recovery.
struct RecoveryNews {
  enum class What : std::uint8_t { resuming, timed_out, failed };
  What what = What::resuming;
  RunId run;
  Error error = {};  // of `failed`
};

/// Resumes the runs one after the other. `resume` gets the request, and a function to call if the time limit of
/// recoveries is reached. Fails only if a person interrupts; the remaining runs are then not resumed.
[[nodiscard]] Result<void> resume_crashed(
    const std::vector<RunId>& runs, const RecoverySettings& settings,
    const std::function<Result<void>(const ResumeRequest& request, const std::function<void()>& on_timeout)>& resume,
    const std::function<void(const RecoveryNews& news)>& tell);

}  // namespace pawl
