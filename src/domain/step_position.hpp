// Where in a step a checkpoint stands, and what that means for a resume.
#pragma once

#include <cstdint>
#include <pawl/types.hpp>
#include <string>
#include <variant>

namespace pawl {

struct BeforeStep {
  bool operator==(const BeforeStep&) const = default;
};
struct StepCompleted {
  std::string output;
  bool operator==(const StepCompleted&) const = default;
};
struct StepFailed {
  std::string error;
  bool retryable = false;
  bool operator==(const StepFailed&) const = default;
};
/// By a signal: while the step was running (`in_progress`), or after it.
struct StepInterrupted {
  bool in_progress = false;
  bool operator==(const StepInterrupted&) const = default;
};
/// For a person, a signal, a timer or a budget.
struct StepWaiting {
  std::string wait_for;
  bool operator==(const StepWaiting&) const = default;
};

struct StepPosition {
  std::uint64_t step_index = 0;
  std::variant<BeforeStep, StepCompleted, StepFailed, StepInterrupted, StepWaiting> state;
  bool operator==(const StepPosition&) const = default;
};

/// With which step a resume begins, and how.
struct ResumePoint {
  enum class How : std::uint8_t {
    start,  // the step has not been executed
    retry,  // it was being executed, or has failed and may be tried again
    stop,   // it has failed for good: a person has to decide
    wait,   // it goes on waiting
  };
  std::uint64_t step_index = 0;
  How how = How::start;
  bool operator==(const ResumePoint&) const = default;
};

[[nodiscard]] ResumePoint resume_point(const StepPosition& position);

/// The kind of the checkpoint that marks this position.
[[nodiscard]] Kind kind_of(const StepPosition& position);

/// `before_step`, `completed`, `failed`, `interrupted` or `waiting`.
[[nodiscard]] std::string_view to_text(const StepPosition& position);

}  // namespace pawl
