#include "domain/run_state.hpp"

#include <algorithm>
#include <array>

#include "domain/event_types.hpp"

namespace pawl {
namespace {

constexpr std::array<std::string_view, 8> kStepStatuses{"pending", "running", "waiting",     "completed",
                                                        "failed",  "skipped", "interrupted", "cancelled"};
constexpr std::array<std::string_view, 6> kRunStatuses{"running", "waiting",     "completed",
                                                       "failed",  "interrupted", "cancelled"};

constexpr std::array<std::string_view, 11> kStepReasons{"none",      "approval",   "signal",   "timer",
                                                        "child_run", "breakpoint", "rejected", "skipped",
                                                        "timed_out", "exhausted",  "stopped"};

template <class Enum, std::size_t n>
std::optional<Enum> parse_word(std::string_view text, const std::array<std::string_view, n>& words) {
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

// Members with their default value are omitted, so that a thousand steps stay small.
void put(Json& out, const char* key, const std::string& value) {
  if (!value.empty()) out[key] = value;
}
void put(Json& out, const char* key, std::uint64_t value) {
  if (value != 0) out[key] = value;
}
void put(Json& out, const char* key, Timestamp value) {
  if (value.us != 0) out[key] = value.text();
}

std::string text_at(const Json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_string() ? found->get<std::string>() : std::string();
}
std::uint64_t number_at(const Json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_number_integer() ? found->get<std::uint64_t>() : 0;
}
double real_at(const Json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_number() ? found->get<double>() : 0.0;
}
Timestamp time_at(const Json& value, const char* key) {
  return Timestamp::parse(text_at(value, key)).value_or(Timestamp{});
}
Json value_at(const Json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() ? *found : Json();
}

Json usage_json(const Usage& usage) {
  Json out = Json::object();
  put(out, "tokens", usage.tokens);
  if (usage.usd != 0.0) out["usd"] = usage.usd;
  put(out, "api_calls", usage.api_calls);
  return out;
}

Usage usage_from(const Json& value) {
  if (!value.is_object()) return {};
  return Usage{number_at(value, "tokens"), real_at(value, "usd"), number_at(value, "api_calls")};
}

Result<MapProgress> map_from(const Json& value) {
  MapProgress map{.total = number_at(value, "total"),
                  .items_hash = text_at(value, "items_hash"),
                  .done = {},
                  .failed = {},
                  .trips = 0};
  const auto done = IndexRanges::parse(text_at(value, "done"));
  const auto failed = IndexRanges::parse(text_at(value, "failed"));
  const auto dropped = IndexRanges::parse(text_at(value, "dropped"));
  if (!done || !failed || !dropped) return fail(Code::state_reconstruction_failed, "can't read the progress of a map");
  map.done = *done;
  map.failed = *failed;
  map.dropped = *dropped;
  map.trips = static_cast<std::uint32_t>(number_at(value, "trips"));
  return map;
}

Json map_json(const MapProgress& map) {
  Json out = {{"total", map.total}, {"items_hash", map.items_hash}, {"done", map.done.text()}};
  put(out, "failed", map.failed.text());
  put(out, "dropped", map.dropped.text());
  put(out, "trips", map.trips);
  return out;
}

/// Returns the members that only the machine needs.
void put_continuation(Json& out, const StepRecord& record) {
  if (record.aside != Aside::none)
    out["aside"] = record.aside == Aside::on_failure ? "on_failure" : event_type::kLowConfidence;
  if (!record.previous.is_null()) out["previous"] = record.previous;
  if (record.passed_breakpoint) out["passed_breakpoint"] = true;
  if (record.no_output) out["no_output"] = true;
  if (record.driven_from_us >= 0) out["driven_from_us"] = record.driven_from_us;
  if (record.counted_start > 0) out["counted"] = {{"start", record.counted_start}};
  if (record.counted != Usage{}) out["counted"]["usage"] = usage_json(record.counted);
  put(out, "child_number", record.child_number);
  put(out, "child_rollbacks", record.child_rollbacks);
  put(out, "child_with", record.child_with);
  if (record.child_usage != Usage{}) out["child_usage"] = usage_json(record.child_usage);
}

void take_continuation(StepRecord& record, const Json& value) {
  const std::string aside = text_at(value, "aside");
  if (aside == "on_failure") record.aside = Aside::on_failure;
  if (aside == event_type::kLowConfidence) record.aside = Aside::low_confidence;
  record.previous = value_at(value, "previous");
  record.passed_breakpoint = value_at(value, "passed_breakpoint") == Json(true);
  record.no_output = value_at(value, "no_output") == Json(true);
  if (const auto from = value.find("driven_from_us"); from != value.end() && from->is_number_integer())
    record.driven_from_us = from->get<std::int64_t>();
  if (const Json counted = value_at(value, "counted"); counted.is_object()) {
    record.counted_start = static_cast<std::uint32_t>(number_at(counted, "start"));
    record.counted = usage_from(value_at(counted, "usage"));
  }
  record.child_number = number_at(value, "child_number");
  record.child_rollbacks = static_cast<std::uint32_t>(number_at(value, "child_rollbacks"));
  record.child_with = text_at(value, "child_with");
  record.child_usage = usage_from(value_at(value, "child_usage"));
}

/// Records of older versions have the reason only as text, which for a gate is the workflow's own prompt. The text is
/// interpreted only if it can't come from a workflow: a step without a binding is not a gate.
void take_old_reason(StepRecord& record, std::string text) {
  constexpr std::string_view kSignal = "signal '";
  const bool says_rejected = record.error == "rejected" || record.error.starts_with("rejected: ");
  if (record.status == StepStatus::skipped) {
    record.set_reason(StepReason::skipped, std::move(text));
  } else if (record.status == StepStatus::failed) {
    if (text == "rejected" && !record.binding.empty() && says_rejected) record.reason = StepReason::rejected;
  } else if (!record.binding.empty()) {
    const bool waits = record.status == StepStatus::waiting;
    if (waits || !text.empty()) record.set_reason(StepReason::approval, std::move(text));
  } else if (!record.child_run.empty()) {
    record.reason = record.status == StepStatus::waiting ? StepReason::child_run : StepReason::none;
  } else if (text == "breakpoint") {
    record.reason = StepReason::breakpoint;
  } else if (text.starts_with(kSignal) && text.size() > kSignal.size()) {
    record.set_reason(StepReason::signal, text.substr(kSignal.size(), text.size() - kSignal.size() - 1));
  } else if (record.status == StepStatus::waiting && record.due.us != 0) {
    record.reason = StepReason::timer;
  }
}

/// Returns whether the text of the reason is the detail itself.
constexpr bool is_the_detail(StepReason reason) {
  return reason == StepReason::approval || reason == StepReason::skipped;
}

/// The member `reason` is for people and for older versions. It also contains the detail if that is the same text.
void put_reason(Json& out, const StepRecord& record) {
  if (record.reason == StepReason::none) return;
  const std::string text = record.reason_text();
  if (!text.empty()) out["reason"] = text;
  if (record.status != StepStatus::skipped) out["why"] = to_text(record.reason);
  if (!is_the_detail(record.reason) && !record.detail.empty()) out["detail"] = record.detail;
}

Result<void> take_continuation(RunState& state, const Json& value) {
  state.events = number_at(value, "events");
  state.records = number_at(value, "records");
  const auto lost = IndexRanges::parse(text_at(value, "lost"));
  if (!lost) return fail(Code::state_reconstruction_failed, "can't read which events were taken back");
  state.lost = *lost;
  if (const Json starts = value_at(value, "starts"); starts.is_object()) {
    for (const auto& [path, count] : starts.items()) {
      if (count.is_number_unsigned()) state.starts[path] = count.get<std::uint32_t>();
    }
  }
  for (const Json& phase : value.value("phases", Json::array())) {
    if (phase.is_string()) state.phases.insert(phase.get<std::string>());
  }
  if (value.contains("cancelled")) state.cancelled = text_at(value, "cancelled");
  state.finally_number = static_cast<std::uint32_t>(number_at(value, "finally"));
  for (const Json& gate : value.value("reached_gates", Json::array())) {
    if (gate.is_string()) state.reached_gates.push_back(gate.get<std::string>());
  }
  state.worked_since_finally = value_at(value, "worked_since_finally") == Json(true);
  state.driven_us = static_cast<std::int64_t>(number_at(value, "driven_us"));
  state.last_at = time_at(value, "last_at");
  return {};
}

Result<void> take_reason(StepRecord& record, const Json& value) {
  std::string text = text_at(value, "reason");
  if (!value.contains("why")) return take_old_reason(record, std::move(text)), Result<void>();
  const auto parsed = parse_step_reason(text_at(value, "why"));
  if (!parsed) return fail(Code::state_reconstruction_failed, "unknown reason of a step: {}", compact(value["why"]));
  record.reason = *parsed;
  record.detail = is_the_detail(record.reason) ? std::move(text) : text_at(value, "detail");
  return {};
}

}  // namespace

std::string_view to_text(StepReason reason) { return kStepReasons[static_cast<std::size_t>(reason)]; }
std::optional<StepReason> parse_step_reason(std::string_view text) {
  return parse_word<StepReason>(text, kStepReasons);
}
std::string_view to_text(StepStatus status) { return kStepStatuses[static_cast<std::size_t>(status)]; }
std::optional<StepStatus> parse_step_status(std::string_view text) {
  return parse_word<StepStatus>(text, kStepStatuses);
}
std::string_view to_text(RunStatus status) { return kRunStatuses[static_cast<std::size_t>(status)]; }
std::optional<RunStatus> parse_run_status(std::string_view text) { return parse_word<RunStatus>(text, kRunStatuses); }

const char* event_type_of(RunStatus status) {
  switch (status) {
    case RunStatus::waiting: return event_type::kRunWaiting;
    case RunStatus::completed: return event_type::kRunCompleted;
    case RunStatus::failed: return event_type::kRunFailed;
    case RunStatus::interrupted: return event_type::kRunInterrupted;
    case RunStatus::cancelled: return event_type::kRunCancelled;
    case RunStatus::running: break;
  }
  return "";
}

std::optional<RunStatus> status_of_event(std::string_view type) {
  for (const RunStatus status :
       {RunStatus::waiting, RunStatus::completed, RunStatus::failed, RunStatus::interrupted, RunStatus::cancelled}) {
    if (type == event_type_of(status)) return status;
  }
  return std::nullopt;
}

void StepRecord::set_reason(StepReason why, std::string about) {
  reason = why;
  detail = std::move(about);
}

std::string StepRecord::reason_text() const {
  switch (reason) {
    case StepReason::approval:
    case StepReason::skipped: return detail;
    case StepReason::signal: return fmt::format("signal '{}'", detail);
    case StepReason::child_run: return fmt::format("run {}", child_run);
    case StepReason::breakpoint:
    case StepReason::rejected:
    case StepReason::timed_out:
    case StepReason::exhausted:
    case StepReason::stopped: return std::string(to_text(reason));
    case StepReason::timer:
    case StepReason::none: break;
  }
  return {};
}

Json StepRecord::to_json() const {
  Json out = {{"status", to_text(status)}};
  const bool plain = status == StepStatus::completed && attempts == 1;  // true for most steps, so it is omitted
  if (!plain && (attempts != 0 || status == StepStatus::completed)) out["attempts"] = attempts;
  if (starts != attempts) out["starts"] = starts;
  if (spent != attempts) out["spent"] = spent;
  if (!output.is_null()) out["output"] = output;
  put(out, "output_event", output_event);
  put(out, "error", error);
  if (exit_code != 0) out["exit_code"] = exit_code;
  if (!retryable) out["retryable"] = false;
  // The start of a completed step is its end minus its duration, unless it waited between attempts.
  if (!plain) put(out, "started", started);
  if (ended.us != 0) out["ended_ms"] = ended.us / 1000;
  put(out, "ms", duration_ms);
  if (confidence) out["confidence"] = *confidence;
  put_reason(out, *this);
  put(out, "def", definition);
  put(out, "due", due);
  put(out, "binding", binding);
  if (!partial.is_null()) out["partial"] = partial;
  put(out, "decisions", decisions);
  put(out, "iteration", iteration);
  if (map) out["map"] = map_json(*map);
  put(out, "child", child_run);
  if (usage != Usage{}) out["usage"] = usage_json(usage);
  put_continuation(out, *this);
  return out;
}

Result<StepRecord> StepRecord::from_json(const Json& value) {
  const auto parsed = value.is_object() ? parse_step_status(text_at(value, "status")) : std::nullopt;
  if (!parsed) return fail(Code::state_reconstruction_failed, "can't read the record of a step");
  StepRecord record;
  record.status = *parsed;
  record.attempts = record.status == StepStatus::completed && !value.contains("attempts")
                        ? 1
                        : static_cast<std::uint32_t>(number_at(value, "attempts"));
  record.starts = value.contains("starts") ? static_cast<std::uint32_t>(number_at(value, "starts")) : record.attempts;
  record.spent = value.contains("spent") ? static_cast<std::uint32_t>(number_at(value, "spent")) : record.attempts;
  record.output = value_at(value, "output");
  record.output_event = number_at(value, "output_event");
  record.error = text_at(value, "error");
  if (const auto code = value.find("exit_code"); code != value.end() && code->is_number_integer())
    record.exit_code = code->get<int>();
  record.retryable = value_at(value, "retryable") != Json(false);
  record.duration_ms = number_at(value, "ms");
  record.ended = Timestamp{static_cast<std::int64_t>(number_at(value, "ended_ms")) * 1000};
  record.started = value.contains("started")
                       ? time_at(value, "started")
                       : Timestamp{record.ended.us - static_cast<std::int64_t>(record.duration_ms) * 1000};
  if (const auto found = value.find("confidence"); found != value.end() && found->is_number())
    record.confidence = found->get<double>();
  record.definition = text_at(value, "def");
  record.due = time_at(value, "due");
  record.binding = text_at(value, "binding");
  record.partial = value_at(value, "partial");
  record.decisions = static_cast<std::uint32_t>(number_at(value, "decisions"));
  record.iteration = static_cast<std::uint32_t>(number_at(value, "iteration"));
  if (const auto found = value.find("map"); found != value.end()) {
    PAWL_TRY_ASSIGN(record.map, map_from(*found));
  }
  record.child_run = text_at(value, "child");
  record.usage = usage_from(value_at(value, "usage"));
  take_continuation(record, value);
  PAWL_TRY(take_reason(record, value));
  return record;
}

const StepRecord* RunState::find(std::string_view path) const {
  const auto found = std::ranges::find(steps, path, [](const auto& entry) { return std::string_view(entry.first); });
  return found == steps.end() ? nullptr : &found->second;
}

Json RunState::to_json() const {
  Json out = {{"pawl", "run/1"},
              {"status", to_text(status)},
              {"position", position_text(*this)},
              {"workflow", {{"name", workflow_name}, {"file", workflow_file}, {"hash", workflow_hash}}},
              {"working_dir", working_dir},
              {"vars", vars}};
  if (!folder.is_null()) out["folder"] = folder;
  put(out, "error", error);
  put(out, "origin", origin);
  if (!parent_run.empty()) {
    out["parent"] = {{"run", parent_run}, {"step", parent_step}};
    if (depth > 0) out["parent"]["depth"] = depth;
    put(out["parent"], "key", parent_key);
  }
  if (usage != Usage{}) out["usage"] = usage_json(usage);
  if (inherited != Usage{}) out["inherited"] = usage_json(inherited);
  put(out, "spent_ms", spent_ms);
  put(out, "completed_steps", completed_steps);
  if (confidence) out["confidence"] = *confidence;
  put(out, "resumes", resumes);
  put(out, "automatic_resumes", automatic_resumes);
  put(out, "rollbacks", rollbacks);
  if (!consumed.empty()) out["consumed"] = consumed;
  if (!signals.empty()) out["signals"] = signals;
  for (const AddedSteps& entry : added) out["added"].push_back({{"after", entry.after}, {"steps", entry.steps}});
  if (!budget.is_null()) out["budget"] = budget;
  if (limits.usd) out["limits"]["usd"] = *limits.usd;
  if (limits.tokens) out["limits"]["tokens"] = *limits.tokens;
  if (!outputs.is_null()) out["outputs"] = outputs;
  if (!masked.empty()) out["masked"] = masked;
  if (!masked_keys.empty()) out["masked_keys"] = masked_keys;
  put(out, "events", events);
  put(out, "records", this->records);
  put(out, "lost", lost.text());
  if (!starts.empty()) out["starts"] = starts;
  if (!phases.empty()) out["phases"] = phases;
  if (cancelled) out["cancelled"] = *cancelled;
  put(out, "finally", finally_number);
  if (!reached_gates.empty()) out["reached_gates"] = reached_gates;
  if (worked_since_finally) out["worked_since_finally"] = true;
  if (driven_us > 0) out["driven_us"] = driven_us;
  put(out, "last_at", last_at);
  Json& of_steps = out["steps"] = Json::object();
  for (const auto& [path, record] : steps) of_steps[path] = record.to_json();
  return out;
}

Result<RunState> RunState::from_json(const Json& value) {
  if (!value.is_object() || value_at(value, "pawl") != Json("run/1"))
    return fail(Code::not_a_workflow_run, "the state of this run was not written by a workflow");
  RunState state;
  const Json workflow = value_at(value, "workflow");
  const auto status = parse_run_status(text_at(value, "status"));
  const Json records = value_at(value, "steps");
  if (!status || !workflow.is_object() || !records.is_object())
    return fail(Code::state_reconstruction_failed, "can't read the state of the run");
  state.status = *status;
  state.workflow_name = text_at(workflow, "name");
  state.workflow_file = text_at(workflow, "file");
  state.workflow_hash = text_at(workflow, "hash");
  state.working_dir = text_at(value, "working_dir");
  state.folder = value_at(value, "folder");
  state.vars = value.value("vars", Json::object());
  state.error = text_at(value, "error");
  state.origin = text_at(value, "origin");
  if (const Json parent = value_at(value, "parent"); parent.is_object()) {
    state.parent_run = text_at(parent, "run");
    state.depth = number_at(parent, "depth");
    state.parent_step = text_at(parent, "step");
    state.parent_key = text_at(parent, "key");
  }
  state.usage = usage_from(value_at(value, "usage"));
  state.inherited = usage_from(value_at(value, "inherited"));
  state.spent_ms = number_at(value, "spent_ms");
  state.completed_steps = number_at(value, "completed_steps");
  if (const auto found = value.find("confidence"); found != value.end() && found->is_number())
    state.confidence = found->get<double>();
  state.resumes = static_cast<std::uint32_t>(number_at(value, "resumes"));
  state.rollbacks = static_cast<std::uint32_t>(number_at(value, "rollbacks"));
  state.automatic_resumes = static_cast<std::uint32_t>(number_at(value, "automatic_resumes"));
  for (const Json& entry : value.value("consumed", Json::array())) {
    if (entry.is_string()) state.consumed.push_back(entry.get<std::string>());
  }
  for (const Json& entry : value.value("signals", Json::array())) {
    if (entry.is_string()) state.signals.push_back(entry.get<std::string>());
  }
  for (const Json& entry : value.value("added", Json::array())) {
    if (entry.is_object()) state.added.push_back({text_at(entry, "after"), value_at(entry, "steps")});
  }
  state.budget = value_at(value, "budget");
  state.limits = Budget{}.raised(value_at(value, "limits"));
  state.outputs = value_at(value, "outputs");
  for (const Json& key : value.value("masked_keys", Json::array())) {
    if (key.is_string()) state.masked_keys.insert(key.get<std::string>());
  }
  const Json masked = value.value("masked", Json::object());
  for (const auto& [kind, count] : masked.items()) {
    if (count.is_number_unsigned()) state.masked[kind] = count.get<std::uint64_t>();
  }
  PAWL_TRY(take_continuation(state, value));
  for (const auto& [path, record] : records.items()) {
    PAWL_TRY_ASSIGN(StepRecord parsed, StepRecord::from_json(record));
    state.steps.emplace_back(path, std::move(parsed));
  }
  return state;
}

std::string_view position_text(const RunState& state) {
  switch (state.status) {
    case RunStatus::waiting: return "waiting";
    case RunStatus::failed: return "failed";
    case RunStatus::interrupted:
    case RunStatus::cancelled: return "interrupted";
    case RunStatus::completed: return "completed";
    case RunStatus::running: break;
  }
  const bool running =
      std::ranges::any_of(state.steps, [](const auto& entry) { return entry.second.status == StepStatus::running; });
  return running ? "before_step" : "completed";
}

}  // namespace pawl
