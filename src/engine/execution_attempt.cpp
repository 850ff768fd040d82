// Attempts of steps: starts commands and handlers, and evaluates their results.
#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/error_line.hpp"
#include "codec/json_check.hpp"
#include "domain/confidence.hpp"
#include "domain/event_types.hpp"
#include "domain/retry_policy.hpp"
#include "engine/environment_entries.hpp"
#include "engine/execution_parts.hpp"
#include "text/duration.hpp"
#include "text/utf8.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kResultBytesMax = 64ULL << 20;
constexpr double kFailureConfidence = 0.8;  // factor for the run's confidence after a failed step

/// Returns the end of a log for people: valid UTF-8, starting with a complete line.
std::string readable_tail(std::string text) {
  if (text.size() >= kTailBytes) {
    const std::size_t line = text.find('\n');
    if (line != std::string::npos && line + 1 < text.size()) text.erase(0, line + 1);
  }
  std::string out = valid_utf8(text);
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

RetryPolicy policy_of(const RetrySettings& settings) {
  RetryPolicy policy;
  policy.attempts = settings.attempts.value_or(1);
  policy.base_delay_ms = static_cast<std::uint64_t>(settings.backoff.value_or(Milliseconds(1000)).count());
  policy.max_delay_ms = static_cast<std::uint64_t>(settings.max_backoff.value_or(Milliseconds(60'000)).count());
  policy.factor = settings.factor.value_or(2.0);
  policy.jitter = settings.jitter.value_or(false) ? 0.5 : 0.0;
  return policy;
}

}  // namespace

std::string Execution::idempotency_key(const Node& node) const { return uuid_.text() + "/" + node.path; }

std::string Execution::attempt_mark(const Node& node) const {
  const ProcessRunner* processes = loop_.processes();
  return fmt::format("PAWL_ATTEMPT_ID={}#{}@{}", idempotency_key(node), node.record.starts,
                     processes == nullptr ? std::string() : processes->place());
}

RetrySettings Execution::retry_of(const Node& node) const { return node.step->retry; }

/// Items have their own folder, so that a large map does not crowd out other logs.
std::string Execution::stem_in(const std::string& folder, const Node& node) {
  std::string name = node.path;
  const std::size_t bracket = name.find('[');
  if (bracket != std::string::npos) {
    name = fmt::format("{}/{}", name.substr(0, bracket), name.substr(bracket));
  }
  return fmt::format("{}/{}.{}", folder, name, node.record.starts);
}

/// Returns the path of the log files, without extension.
std::string Execution::file_stem(const Node& node) const { return stem_in(logs_, node); }

/// Returns the path of the input and report files, without extension.
std::string Execution::work_stem(const Node& node) const { return stem_in(work_, node); }

void Execution::start_attempt(Node& node) {
  if (held()) return;
  if (attempts_running_ >=
      (workflow_->parallel > 0 ? std::min(workflow_->parallel, services_.parallel_max) : services_.parallel_max)) {
    if (!node.launching) {
      node.launching = true;
      ready_.push_back(&node);
    }
    return;
  }
  node.launching = true;
  ++attempts_running_;
  ++node.record.starts;
  touch(node);
  const bool free = node.scope->is_item && node.index == 0 && node.record.attempts == 0;
  if (free) return launch(node);
  when_durable([this, &node] { launch(node); });
}

void Execution::launch(Node& node) {
  node.launching = false;
  if (held() || node.settled) {
    --attempts_running_;
    --node.record.starts;
    return;
  }
  node.killed.clear();
  node.attempt_began_us = services_.clock.monotonic_us();
  whisper(event_type::kAttemptStarted, &node, {{"attempt", node.record.attempts + 1}});
  if (std::holds_alternative<CallHandler>(node.step->work)) return launch_handler(node);
  prepare_worktree(node, [this, &node] {
    if (!held()) return launch_command(node);
    --attempts_running_;
    --node.record.starts;
  });
}

void Execution::arm_timeouts(Node& node) {
  if (node.step->timeout) {
    node.timeout = loop_.after(std::chrono::microseconds(*node.step->timeout).count(), [this, alive = alive_, &node] {
      if (*alive) time_out(node, fmt::format("timed out after {}", duration_text(*node.step->timeout)));
    });
  }
  if (node.step->total_timeout && node.total_timeout == 0) {
    const Timestamp due{node.record.started.us + std::chrono::microseconds(*node.step->total_timeout).count()};
    node.total_timeout = loop_.at(due, [this, alive = alive_, &node] {
      if (!*alive || node.settled) return;
      node.record.retryable = false;
      time_out(node, fmt::format("all attempts together timed out after {}", duration_text(*node.step->total_timeout)));
    });
  }
}

void Execution::time_out(Node& node, std::string_view what) {
  if (node.settled || !node.active) return;
  if (node.pausing) {  // between two attempts
    loop_.cancel(node.pause);
    node.pausing = false;
    --timers_;
    return settle_failed(node, std::string(what), false);
  }
  kill_node(node, what);
}

void Execution::kill_node(Node& node, std::string_view why) {
  if (node.pausing) {
    loop_.cancel(node.pause);
    node.pausing = false;
    --timers_;
    return;
  }
  if (!node.process && !node.in_handler) return;
  if (node.killed.empty()) node.killed = why;
  if (!node.process) return;
  const ProcessRunner::Number number = *node.process;
  loop_.signal_process(number, SIGTERM);
  loop_.signal_process(number, SIGCONT);
  const std::int64_t grace_us = std::chrono::microseconds(workflow_->grace).count();
  node.grace = loop_.after(grace_us, [this, alive = alive_, &node, number] {
    if (*alive && node.process == number) loop_.signal_process(number, SIGKILL);
  });
}

void Execution::process_ended(Node& node, const ProcessEnd& end) {
  node.process.reset();
  --attempts_running_;
  loop_.cancel(node.timeout);
  loop_.cancel(node.grace);
  // Processes that it started in other sessions must not run concurrently with the next attempt.
  if (!node.killed.empty() && loop_.processes() != nullptr) {
    static_cast<void>(loop_.processes()->end_all(attempt_mark(node), 2'000));
  }
  if (!secret_keys_.empty()) services_.files.remove(work_stem(node) + ".input.json");
  attempt_ended(node, outcome_of(node, end));
}

Result<Json> Execution::captured(const Node& node) const {
  const std::uint64_t size = node.captured->printed_bytes();
  if (size > kCaptureBytesMax)
    return fail(Code::step_failed, "it printed {} bytes; at most {} can be captured", size, kCaptureBytesMax);
  std::string text = masked(node.captured->captured(), secrets_);
  if (!is_valid_utf8(text)) return fail(Code::step_failed, "can't capture its output: not valid UTF-8");
  if (node.step->capture.format == CaptureFormat::json) {
    const Result<void> checked = check_json(text, kCaptureBytesMax);
    if (!checked)
      return fail(Code::step_failed, "`capture` requires JSON, but its output is not: {}",
                  describe_in_line(checked.error()));
    return parse_json(text);
  }
  if (text.ends_with('\n')) text.pop_back();
  if (node.step->capture.format == CaptureFormat::text) return Json(std::move(text));
  Json lines = Json::array();
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.erase(0, end == std::string::npos ? text.size() : end + 1);
  }
  return lines;
}

Execution::Outcome Execution::outcome_of(Node& node, const ProcessEnd& end) {
  Outcome outcome;
  const std::string stem = work_stem(node);
  outcome.memory_peak_bytes = end.memory_peak_bytes;
  const Result<std::optional<std::string>> text = services_.files.read_regular(stem + ".result", kResultBytesMax);
  outcome.reported = !text || text->has_value();
  std::string report_error;
  if (text && *text) {
    outcome.report = parse_report(masked(**text, secrets_),
                                  end.how == ProcessEnd::How::exited ? LastLine::finished : LastLine::may_be_cut);
  } else if (!text) {
    report_error = fmt::format("can't read $PAWL_RESULT: {}", text.error().message);
    outcome.report.faults.push_back(report_error);
  }
  const RetrySettings retry = retry_of(node);
  switch (end.how) {
    case ProcessEnd::How::not_started:
      outcome.error = end.error;
      outcome.exit_code = 127;
      outcome.retryable = false;
      return outcome;
    case ProcessEnd::How::killed:
      outcome.error = node.killed.empty() ? fmt::format("killed by signal {} ({})", end.signal, strsignal(end.signal))
                                          : node.killed;
      outcome.exit_code = 128 + end.signal;
      return outcome;
    case ProcessEnd::How::lost:
      outcome.error = node.killed.empty() ? end.error : node.killed;
      outcome.exit_code = 128 + SIGKILL;
      return outcome;
    case ProcessEnd::How::exited: break;
  }
  outcome.exit_code = end.exit_code;
  if (end.exit_code != 0) {
    outcome.error = node.killed.empty() ? fmt::format("exit status {}", end.exit_code) : node.killed;
    const std::vector<int> codes = retry.no_retry_codes.value_or(std::vector<int>());
    outcome.retryable =
        end.exit_code != 126 && end.exit_code != 127 && std::ranges::find(codes, end.exit_code) == codes.end();
    return outcome;
  }
  if (!node.killed.empty() && hold_ == Hold::none) {  // it handled the signal and exited normally, but had timed out
    outcome.error = node.killed;
    return outcome;
  }
  if (!report_error.empty()) {  // its result is unknown
    outcome.error = report_error;
    return outcome;
  }
  outcome.ok = true;
  if (node.step->capture.format != CaptureFormat::none && !outcome.report.output) {
    Result<Json> output = captured(node);
    if (!output) {
      outcome.ok = false;
      outcome.error = output.error().message;
      return outcome;
    }
    outcome.output = std::move(*output);
  }
  return outcome;
}

/// Saves a decision of the report separately. Returns whether there was one; the attempt ends once it is durable.
bool Execution::save_decision_alone(Node& node, Outcome& outcome) {
  std::vector<Json>& decisions = outcome.report.decisions;
  if (services_.settings.performance.batch_decisions || decisions.empty() || memory_only_ || finishing_) return false;
  tell(event_type::kDecision, &node, decisions.front());
  decisions.erase(decisions.begin());
  ++node.record.decisions;  // so that a crash before the end of the attempt does not repeat it
  touch(node);
  force_save_ = true;
  when_durable([this, alive = alive_, &node, rest = std::make_shared<Outcome>(std::move(outcome))] {
    if (*alive) attempt_ended(node, std::move(*rest));
  });
  save_if_needed();
  return true;
}

void Execution::attempt_ended(Node& node, Outcome outcome) {
  if (save_decision_alone(node, outcome)) return;
  const std::int64_t took_us = services_.clock.monotonic_us() - node.attempt_began_us;
  const auto took_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(took_us, 0)) / 1000;
  node.record.duration_ms += took_ms;
  const std::string result_file = outcome.reported ? work_stem(node) + ".result" : "";
  use_report(node, outcome.report);
  node.record.decisions = 0;
  const bool stopped = hold_ == Hold::interrupt || hold_ == Hold::cancel;
  if (!outcome.ok && (stopped || finishing_)) {
    // Interrupted, not failed: it does not count as an attempt.
    if (outcome.report.progress) node.record.partial = *outcome.report.progress;
    tell(event_type::kAttemptInterrupted, &node, {{"error", outcome.error}});
    touch(node);
  } else {
    ++node.record.attempts;
    ++node.record.spent;
    node.record.exit_code = outcome.exit_code;
    if (outcome.ok) {
      attempt_succeeded(node, outcome);
    } else {
      attempt_failed(node, outcome);
    }
  }
  if (!result_file.empty()) used_files_.push_back(result_file);  // removed once its content is durable
  start_ready();
}

void Execution::start_ready() {
  while (!ready_.empty() && !held()) {
    Node* next = ready_.front();
    const std::size_t waiting = ready_.size();
    ready_.pop_front();
    next->launching = false;
    start_attempt(*next);
    if (ready_.size() >= waiting) break;
  }
}

void Execution::attempt_succeeded(Node& node, Outcome& outcome) {
  node.record.error.clear();
  set_output(node, outcome.report.output ? std::move(*outcome.report.output)
                   : outcome.output      ? std::move(*outcome.output)
                                         : Json());
  node.log.reset();
  node.captured.reset();
  drop_files(node);
  if (outcome.report.add_steps) add_steps(node, *outcome.report.add_steps);
  const Step& step = *node.step;
  if (step.confidence && node.record.confidence && *node.record.confidence < step.confidence->below &&
      step.confidence->then) {
    tell(event_type::kLowConfidence, &node,
         {{"confidence", *node.record.confidence}, {"below", step.confidence->below}});
    return run_aside(node, *step.confidence->then, "then", [this, &node](bool failed) {
      if (!failed) return complete(node);
      settle_failed(node, "the steps under confidence.then failed", false);
    });
  }
  merge_step_worktree(node, [this, &node] { complete(node); });
}

void Execution::complete(Node& node) { settle(node, StepStatus::completed); }

void Execution::attempt_failed(Node& node, Outcome& outcome) {
  StepRecord& record = node.record;
  if (!record.retryable) outcome.retryable = false;  // total timeout
  record.error = outcome.error;
  if (outcome.report.progress) record.partial = *outcome.report.progress;
  const RetryPolicy policy = policy_of(retry_of(node));
  const bool again = outcome.retryable && policy.allows_after(record.spent) && !node.scope->failed;
  Json data = {{"attempt", record.attempts}, {"error", outcome.error}, {"retryable", outcome.retryable}};
  if (node.log != nullptr && !node.log->tail().empty()) data["log"] = readable_tail(std::string(node.log->tail()));
  node.log.reset();
  node.captured.reset();
  if (outcome.memory_peak_bytes > 0) data["memory_peak_bytes"] = outcome.memory_peak_bytes;
  if (!again) {
    tell(event_type::kAttemptFailed, &node, std::move(data));
    record.retryable = outcome.retryable;
    return give_up(node);
  }
  const double chance = static_cast<double>(services_.random.next() >> 11U) * 0x1.0p-53;
  const std::uint64_t delay_ms = policy.delay_ms(record.spent, chance);
  data["again_in_ms"] = delay_ms;
  tell(event_type::kAttemptFailed, &node, std::move(data));
  touch(node);
  persist(Kind::error, Reason::step_failed, &node);
  ++timers_;
  node.pausing = true;
  node.pause = loop_.after(static_cast<std::int64_t>(delay_ms) * 1000, [this, alive = alive_, &node] {
    if (!*alive || !node.pausing) return;
    node.pausing = false;
    --timers_;
    start_attempt(node);
  });
}

/// Handles the failure of the last attempt.
void Execution::give_up(Node& node) {
  if (state_.confidence) {
    state_.confidence = *state_.confidence * kFailureConfidence;
    tell(event_type::kConfidenceAdjusted, &node, {{"confidence", *state_.confidence}});
  }
  const Step& step = *node.step;
  if (!step.on_failure || held()) return settle(node, StepStatus::failed);
  run_aside(node, *step.on_failure, "on_failure", [this, &node](bool failed) {
    const bool rescued = node.step->rescue && !failed;
    if (rescued) tell(event_type::kRescued, &node, {{"error", node.record.error}});
    settle(node, rescued ? StepStatus::completed : StepStatus::failed);
  });
}

/// Counts what a step used in the step itself, in the steps that contain it, and in the run.
void Execution::count_usage(Node& node, const Usage& used) {
  for (Node* at = &node; at != nullptr; at = at->scope->owner) {
    // The record of a step that calls a workflow says what that run used so far, see use_child().
    if (at != &node && std::holds_alternative<CallWorkflow>(at->step->work)) continue;
    at->record.usage.add(used);
    touch(*at);
  }
  state_.usage.add(used);
}

void Execution::use_report(Node& node, const StepReport& report) {
  if (report.usage != Usage{}) {
    count_usage(node, report.usage);
  }
  for (const Json& decision : report.decisions) tell(event_type::kDecision, &node, decision);
  for (const std::string& blocker : report.blockers) tell(event_type::kBlocker, &node, {{"description", blocker}});
  for (const std::string& message : report.messages) tell(event_type::kMessage, &node, {{"text", message}});
  for (const std::string& fault : report.faults) tell(event_type::kReportFault, &node, {{"error", fault}});
  if (report.context_usage) tell(event_type::kContextUsage, &node, {{"share", *report.context_usage}});
  for (const Json& evaluation : report.evaluations) {
    tell(event_type::kEvaluation, &node, {{"evaluation", evaluation}});
    persist(Kind::step_complete, Reason::evaluation_completed, &node);
  }
  if (report.confidence) note_confidence(node, *report.confidence);
}

void Execution::note_confidence(Node& node, double value) {
  const double threshold = node.step->confidence ? node.step->confidence->below : 0.75;
  const Crossing crossed = crossing(node.record.confidence.value_or(threshold), value, threshold);
  node.record.confidence = value;
  state_.confidence = value;
  touch(node);
  tell(event_type::kConfidence, &node, {{"value", value}, {"crossed", crossed != Crossing::none}});
  if (crossed != Crossing::none) persist(Kind::step_complete, Reason::confidence_crossed, &node);
}

/// Reads the report of an attempt that was interrupted with the whole process.
void Execution::harvest(Node& node) {
  const std::string path = work_stem(node) + ".result";
  if (node.record.starts == 0) return;
  const Result<std::optional<std::string>> text = services_.files.read_regular(path, kResultBytesMax);
  if (!text || !*text) return;
  StepReport report = parse_report(**text, LastLine::may_be_cut);
  const auto saved = std::min<std::ptrdiff_t>(std::exchange(node.record.decisions, 0), std::ssize(report.decisions));
  report.decisions.erase(report.decisions.begin(), report.decisions.begin() + saved);
  use_report(node, report);
  if (report.progress) node.record.partial = *report.progress;
  touch(node);
}

/// Removes files of unrecorded attempts, so that the next attempt does not use them. The start of an item is not
/// recorded, and a repeated step counts its attempts from 1. A report exists only until it is recorded.
void Execution::count_forgotten_attempts(Node& node) {
  if (!std::holds_alternative<RunCommand>(node.step->work)) return;
  const auto is_new = [&](const std::string& stem) {
    return make_folder_of(stem).value_or(Folder::was_there) == Folder::is_new;
  };
  if (is_new(file_stem(node)) && is_new(work_stem(node))) return;  // each step starts once in an execution
  StepRecord& record = node.record;
  ++record.starts;
  const auto left_something = [&] {
    const std::string stem = file_stem(node);
    const std::string work = work_stem(node);
    return std::ranges::any_of(
        std::initializer_list<std::string>{work + ".input.json", stem + ".log", stem + ".out", work + ".result"},
        [&](const std::string& path) { return services_.files.exists(path); });
  };
  while (left_something()) {
    harvest(node);
    ++record.starts;
  }
  --record.starts;
}

/// Removes files that the checkpoint already contains. Inputs are kept for the next attempts: creating and removing
/// files dominates the cost of a short step, because ext4 does not reuse an inode soon.
void Execution::drop_files(const Node& node) {
  if (!std::holds_alternative<RunCommand>(node.step->work)) return;
  spare_inputs_.push_back(work_stem(node) + ".input.json");
}

void Execution::take_spare_input(const std::string& path) {
  if (spare_inputs_.empty()) return;
  const std::string spare = std::move(spare_inputs_.back());
  spare_inputs_.pop_back();
  if (!services_.files.rename(spare, path)) services_.files.remove(spare);
}

void Execution::remove_spares() {
  for (const std::string& spare : std::exchange(spare_inputs_, {})) services_.files.remove(spare);
}

void Execution::set_output(Node& node, Json output) {
  node.record.output = Json();
  node.record.output_event = 0;
  node.large_output.reset();
  if (output.is_null()) return;
  if (compact(output).size() <= kOutputInline) {
    node.record.output = std::move(output);
  } else {
    node.large_output = std::move(output);
  }
  touch(node);
}

Result<Json> Execution::output_of(const Node& node) const {
  if (node.record.map && std::holds_alternative<Map>(node.step->work) && !std::get<Map>(node.step->work).reduce)
    return map_output(node);
  if (node.large_output) return *node.large_output;
  if (node.record.output_event == 0) return node.record.output;
  PAWL_TRY_ASSIGN(const std::vector<Event> events, services_.store.events(id_, node.record.output_event - 1, 1));
  if (events.empty())
    return fail(Code::event_replay_failed, "event {} with the output of '{}' is missing", node.record.output_event,
                node.path);
  const Json data = parse_json(events.front().data);
  if (!data.is_object() || !data.contains("output"))
    return fail(Code::event_replay_failed, "event {} does not contain the output of '{}'", node.record.output_event,
                node.path);
  Json output = data["output"];
  unmask_keys(output, key_values_);
  return output;
}

}  // namespace pawl
