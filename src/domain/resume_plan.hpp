// What a resume will do, as a pure function of the run's state, its events and the workflow.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "domain/run_state.hpp"
#include "domain/workflow.hpp"

namespace pawl {

/// What becomes of one step.
struct StepPlan {
  enum class Action : std::uint8_t {
    keep,     // completed or skipped: not done again
    run,      // has not begun
    again,    // was running or interrupted: executed again, with the same key
    retry,    // has failed: executed again, with a fresh budget of attempts (an automatic resume: with what is left)
    go_on,    // a loop, map or child workflow: goes on where it was
    wait,     // goes on waiting for a person, a signal or its time
    stop,     // has failed for good: rejected, or no attempts are left
    changed,  // completed, but its definition is another one now: done again where changes are accepted
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
    changed,  // the workflow is another one: only when told to
    stopped,  // a step has failed for good
  };
  Verdict verdict = Verdict::go;
  std::vector<StepPlan> steps;  // of the workflow's own list, in its order, then inner ones that have begun
  std::uint64_t kept_steps = 0;
  std::uint64_t kept_ms = 0;
  Usage kept_usage;
};

enum class ResumedBy : std::uint8_t { person, automatic };

/// `completed_in_events`: paths that events know as completed; an older checkpoint does not forget them.
[[nodiscard]] ResumePlan plan_resume(const RunState& state, std::span<const std::string> completed_in_events,
                                     const Workflow& workflow, ResumedBy by);

}  // namespace pawl
