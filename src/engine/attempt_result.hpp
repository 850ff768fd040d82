// Whether an attempt succeeded, and what it says about itself: pure functions of how its process ended.
#pragma once

#include "domain/workflow.hpp"
#include "engine/step_report.hpp"
#include "machine/facts.hpp"
#include "ports/process_runner.hpp"

namespace pawl {

inline constexpr std::uint64_t kCaptureBytesMax = 1'000'000;
inline constexpr std::uint64_t kTailBytes = 2'000;  // of the log, in the event that reports a failure

/// What a process left behind.
struct ProcessResult {
  ProcessEnd end = {};
  StepReport report = {};
  std::string report_error = {};  // the report can't be read
  std::string captured = {};      // the beginning of its output, without secrets
  std::uint64_t printed_bytes = 0;
};

/// Sets error, exit_code, output, add_steps, report, retry_after and retryable of `ended`.
void evaluate(const Capture& capture, ProcessResult result, machine::fact::AttemptEnded& ended);
/// The part of a report that the machine decides about.
[[nodiscard]] machine::Report report_of(const StepReport& report);
/// Returns the end of a log for people: valid UTF-8, starting with a complete line.
[[nodiscard]] std::string readable_tail(std::string text);

}  // namespace pawl
