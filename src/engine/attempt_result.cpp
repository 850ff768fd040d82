#include "engine/attempt_result.hpp"

#include <cstring>

#include "base/error_line.hpp"
#include "codec/json_check.hpp"
#include "text/utf8.hpp"

namespace pawl {
namespace {

Json lines_of(std::string text) {
  Json lines = Json::array();
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.erase(0, end == std::string::npos ? text.size() : end + 1);
  }
  return lines;
}

Result<Json> captured_output(const Capture& capture, ProcessResult& result) {
  if (result.printed_bytes > kCaptureBytesMax)
    return fail(Code::step_failed, "it printed {} bytes; at most {} can be captured", result.printed_bytes,
                kCaptureBytesMax);
  std::string text = std::move(result.captured);
  if (!is_valid_utf8(text)) return fail(Code::step_failed, "can't capture its output: not valid UTF-8");
  if (capture.format == CaptureFormat::json) {
    const Result<void> checked = check_json(text, kCaptureBytesMax);
    if (!checked)
      return fail(Code::step_failed, "`capture` requires JSON, but its output is not: {}",
                  describe_in_line(checked.error()));
    return parse_json(text);
  }
  if (text.ends_with('\n')) text.pop_back();
  if (capture.format == CaptureFormat::text) return Json(std::move(text));
  return lines_of(std::move(text));
}

/// Returns the captured output of a failed command, for later steps. Null if it is not in the format of `capture`.
Json output_of_failure(const Capture& capture, ProcessResult& result) {
  if (capture.format == CaptureFormat::none) return {};
  return captured_output(capture, result).value_or(Json());
}

}  // namespace

machine::Report report_of(const StepReport& report) {
  return {.usage = report.usage,
          .progress = report.progress.value_or(Json()),
          .confidence = report.confidence,
          .evaluations = report.evaluations.size()};
}

void evaluate(const Capture& capture, ProcessResult result, machine::fact::AttemptEnded& ended) {
  ended.report = report_of(result.report);
  if (result.end.how == ProcessEnd::How::killed) {
    ended.error = fmt::format("killed by signal {} ({})", result.end.signal, strsignal(result.end.signal));
    ended.exit_code = 128 + result.end.signal;
    ended.output = output_of_failure(capture, result);
    return;
  }
  ended.exit_code = result.end.exit_code;
  if (result.end.exit_code != 0) {
    ended.error = fmt::format("exit status {}", result.end.exit_code);
    ended.output = output_of_failure(capture, result);
    return;
  }
  if (!result.report_error.empty()) {  // its result is unknown
    ended.error = std::move(result.report_error);
    return;
  }
  if (result.report.add_steps) ended.add_steps = std::move(*result.report.add_steps);
  if (result.report.output) {
    ended.output = std::move(*result.report.output);
    return;
  }
  if (capture.format == CaptureFormat::none) return;
  Result<Json> output = captured_output(capture, result);
  if (output) {
    ended.output = std::move(*output);
  } else {
    ended.error = output.error().message;
  }
}

std::string readable_tail(std::string text) {
  if (text.size() >= kTailBytes) {
    const std::size_t line = text.find('\n');
    if (line != std::string::npos && line + 1 < text.size()) text.erase(0, line + 1);
  }
  std::string out = valid_utf8(text);
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace pawl
