// What a resume will do, as a pure function of the run's state, its events and the workflow.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "domain/run_state.hpp"
#include "domain/workflow.hpp"

namespace pawl {

/// What will happen to one step.
struct StepPlan {
  enum class Action : std::uint8_t {
    keep,     // completed or skipped: not run again
    run,      // not started yet
    again,    // was running or interrupted: runs again, with the same key
    retry,    // failed: runs again, with a new budget of attempts (automatic resume: with the remaining ones)
    go_on,    // a loop, map or child workflow: continues where it stopped
    wait,     // keeps waiting for a person, a signal or its time
    stop,     // failed permanently: rejected, or no attempts are left
    changed,  // completed, but its definition has changed: runs again if changes are accepted
  };
  std::string path;
  Action action = Action::run;
  std::string why;
};
[[nodiscard]] std::string_view to_text(StepPlan::Action action);

struct ResumePlan {
  enum class Verdict : std::uint8_t {
    go,       // there is something to do
    nothing,  // the run is completed or cancelled
    changed,  // the workflow has changed: resumes only if that is accepted
    stopped,  // a step has failed permanently
  };
  Verdict verdict = Verdict::go;
  std::vector<StepPlan> steps;  // the workflow's own steps in order, then inner ones that have started
  std::uint64_t kept_steps = 0;
  std::uint64_t kept_ms = 0;
  Usage kept_usage;
};

enum class ResumedBy : std::uint8_t { person, automatic };

/// `completed_in_events` are paths that events report as completed, even if the checkpoint is older.
[[nodiscard]] ResumePlan plan_resume(const RunState& state, std::span<const std::string> completed_in_events,
                                     const Workflow& workflow, ResumedBy by);

}  // namespace pawl
