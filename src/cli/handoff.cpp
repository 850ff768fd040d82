#include "cli/handoff.hpp"

#include <algorithm>

#include "cli/terminal_text.hpp"

namespace pawl::cli {
namespace {

constexpr std::size_t kEventsPerPage = 10'000;
constexpr std::size_t kRunsLookedAt = 100'000;
constexpr std::size_t kShort = 240;  // columns of a recorded value
constexpr std::size_t kLong = 1'000;

std::string one_line_of(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return printable(line);
}

std::string text_in(const Json& data, const char* key) {
  const auto found = data.is_object() ? data.find(key) : data.end();
  if (!data.is_object() || found == data.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : compact(*found);
}

std::string first_in(const Json& data, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (std::string text = text_in(data, key); !text.empty()) return text;
  }
  return {};
}

std::string value_text(const Json& value) { return value.is_string() ? value.get<std::string>() : compact(value); }

std::string shortened(std::string_view text, std::size_t columns) { return cut_to_columns(one_line_of(text), columns); }

std::string money(const Usage& usage) {
  std::string text = fmt::format("{} tokens", usage.tokens);
  if (usage.usd > 0) text += fmt::format(", {:.2f} USD", usage.usd);
  if (usage.api_calls > 0) text += fmt::format(", {} API calls", usage.api_calls);
  return text;
}

void newest_first(BriefingPart& part) {
  std::ranges::reverse(part.entries);
  std::ranges::reverse(part.lines);
}

/// What the run's events say, newest first.
struct Told {
  BriefingPart decisions{.key = "decisions", .title = "Decisions", .more = {}};
  BriefingPart blockers{.key = "blockers", .title = "Blockers", .more = {}};
  BriefingPart confidence{.key = "confidence_history", .title = "Confidence", .more = {}};
  std::optional<double> context_usage;
  Json context_by_step = Json::object();
};

void add_decision(const Event& event, const Json& data, Told& told) {
  const std::string what = first_in(data, {"description", "decision", "what", "choice", "title"});
  const std::string why = first_in(data, {"reason", "reasoning", "rationale", "why", "because"});
  Json entry = {{"at", event.created.text()}, {"step", text_in(data, "step")}, {"decision", what.empty() ? compact(data) : what}, {"reason", why}};
  for (const char* key : {"agent", "confidence", "alternatives"}) {
    if (data.contains(key)) entry[key] = data[key];
  }
  std::string line = fmt::format("{}: {}", markdown_text(text_in(data, "step")), markdown_text(shortened(value_text(entry["decision"]), kLong)));
  line += why.empty() ? " (no reason recorded)" : fmt::format(" — because {}", markdown_text(shortened(why, kLong)));
  if (entry.contains("agent")) line += fmt::format(" (by {})", markdown_text(shortened(value_text(entry["agent"]), kShort)));
  told.decisions.entries.push_back(std::move(entry));
  told.decisions.lines.push_back(std::move(line));
}

void add_blocker(const Event& event, const Json& data, const RunReport& report, Told& told) {
  const std::string step = text_in(data, "step");
  const StepRecord* record = report.standing.state.find(step);
  const bool done = record != nullptr && record->status == StepStatus::completed;
  const std::string what = text_in(data, "description");
  told.blockers.entries.push_back({{"at", event.created.text()}, {"step", step}, {"blocker", what}, {"step_completed_since", done}});
  told.blockers.lines.push_back(fmt::format("{}: {}{}", markdown_text(step), markdown_text(shortened(what, kLong)), done ? " (the step was completed since)" : ""));
}

void add_confidence(const Event& event, const Json& data, Told& told) {
  const Json value = data.contains("value") ? data["value"] : data.value("confidence", Json());
  if (!value.is_number()) return;
  told.confidence.entries.push_back({{"at", event.created.text()}, {"step", text_in(data, "step")}, {"confidence", value}});
  told.confidence.lines.push_back(fmt::format("{:.2f} after {} ({})", value.get<double>(), markdown_text(text_in(data, "step")), event.created.text()));
}

Result<Told> what_was_told(Store& store, const RunReport& report) {
  Told told;
  std::uint64_t after = 0;
  while (true) {
    PAWL_TRY_ASSIGN(const std::vector<Event> events, store.events(report.info.id, after, kEventsPerPage));
    if (events.empty()) break;
    after = events.back().number;
    for (const Event& event : events) {
      const bool wanted = event.type == "decision" || event.type == "blocker" || event.type.starts_with("confidence") || event.type == "context_usage";
      if (!wanted) continue;
      const Json data = Json::parse(event.data, nullptr, false);
      if (!data.is_object()) continue;
      if (event.type == "decision") add_decision(event, data, told);
      if (event.type == "blocker") add_blocker(event, data, report, told);
      if (event.type.starts_with("confidence")) add_confidence(event, data, told);
      if (event.type == "context_usage" && data.contains("share") && data["share"].is_number()) {
        told.context_usage = data["share"].get<double>();
        told.context_by_step[text_in(data, "step")] = data["share"];
      }
    }
  }
  for (BriefingPart* part : {&told.decisions, &told.blockers, &told.confidence}) newest_first(*part);
  return told;
}

struct StepParts {
  BriefingPart done{.key = "done", .title = "Done", .more = {}};
  BriefingPart open{.key = "open", .title = "Open", .more = {}};
};

Result<StepParts> step_parts(Store& store, const RunReport& report) {
  StepParts parts;
  for (const ReportedStep& step : report.steps) {
    const StepRecord& record = step.record;
    const std::string_view status = to_text(record.status);
    Json entry = {{"step", step.path}, {"status", status}};
    std::string line = markdown_code(one_line_of(step.path));
    if (record.status == StepStatus::completed || record.status == StepStatus::skipped) {
      PAWL_TRY_ASSIGN(const Json output, step_output(store, report.info.id, record));
      if (record.status == StepStatus::skipped) line += fmt::format(" skipped: {}", markdown_text(shortened(record.reason, kShort)));
      if (record.map) line += fmt::format(" {} items, {} failed", record.map->done.count(), record.map->failed.count());
      if (!output.is_null()) {
        entry["output"] = shortened(value_text(output), kShort);
        line += fmt::format(": {}", markdown_code(shortened(value_text(output), kShort)));
      }
      parts.done.entries.push_back(std::move(entry));
      parts.done.lines.push_back(std::move(line));
      continue;
    }
    line += fmt::format(" {}", status);
    if (record.map) line += fmt::format(", {} of {} items", record.map->done.count(), record.map->total);
    if (!record.error.empty()) {
      entry["error"] = record.error;
      line += fmt::format(": {}", markdown_text(shortened(record.error, kLong)));
    }
    if (!record.reason.empty()) {
      entry["waits_for"] = record.reason;
      line += fmt::format(", waits for: {}", markdown_text(shortened(record.reason, kShort)));
    }
    if (!record.partial.is_null()) {
      entry["progress"] = shortened(compact(record.partial), kShort);
      line += fmt::format(", so far: {}", markdown_code(shortened(compact(record.partial), kShort)));
    }
    parts.open.entries.push_back(std::move(entry));
    parts.open.lines.push_back(std::move(line));
  }
  newest_first(parts.done);  // what was done last is what the next one needs first
  return parts;
}

void add_goal(Briefing& briefing, const RunReport& report) {
  const RunState& state = report.standing.state;
  const std::string description = report.workflow ? report.workflow->description : std::string();
  briefing.head["goal"] = {{"workflow", state.workflow_name}, {"description", description}, {"vars", state.vars}};
  briefing.head_lines.push_back("## Goal");
  briefing.head_lines.push_back(fmt::format("{}{}", markdown_text(one_line_of(state.workflow_name)), description.empty() ? "" : ": " + markdown_text(shortened(description, kLong))));
  for (const auto& [name, value] : state.vars.items())
    briefing.head_lines.push_back(fmt::format("- {} = {}", markdown_code(one_line_of(name)), markdown_code(shortened(value_text(value), kShort))));
}

void add_status(Briefing& briefing, const RunReport& report, const Told& told) {
  const RunState& state = report.standing.state;
  const std::string status(to_text(report.standing.status));
  Json head = {{"status", status}, {"started", report.info.created.text()}, {"updated", report.info.updated.text()}, {"checkpoint", report.latest.sequence.value},
               {"resumes", state.resumes}, {"error", state.error}, {"owner", report.standing.owner ? Json(*report.standing.owner) : Json()}};
  head["confidence"] = state.confidence ? Json(*state.confidence) : Json();
  head["usage"] = {{"tokens", state.usage.tokens}, {"usd", state.usage.usd}, {"api_calls", state.usage.api_calls}};
  head["context_usage"] = told.context_usage ? Json(*told.context_usage) : Json();
  head["context_usage_by_step"] = told.context_by_step;
  briefing.head.update(head);
  std::vector<std::string>& lines = briefing.head_lines;
  lines.push_back("## Status");
  lines.push_back(fmt::format("- {}, started {}, last saved {} (checkpoint {})", status, report.info.created.text(), report.info.updated.text(), report.latest.sequence.value));
  if (report.standing.owner) lines.push_back(fmt::format("- at work: {}", markdown_text(one_line_of(*report.standing.owner))));
  if (!state.error.empty()) lines.push_back(fmt::format("- error: {}", markdown_text(shortened(state.error, kLong))));
  if (state.resumes > 0) lines.push_back(fmt::format("- resumed {} times", state.resumes));
  lines.push_back(fmt::format("- used: {}", money(state.usage)));
  if (told.context_usage) lines.push_back(fmt::format("- context window: {:.0f} % full at the last report", *told.context_usage * 100));
  if (state.confidence) lines.push_back(fmt::format("- confidence: {:.2f}", *state.confidence));
}

Result<void> add_files(Store& store, Briefing& briefing, const RunReport& report, const std::string& store_uri) {
  PAWL_TRY_ASSIGN(const std::string logs, store.local_folder(report.info.id));
  const RunState& state = report.standing.state;
  Json files = {{"store", store_uri}, {"workflow", state.workflow_file}, {"working_folder", state.working_dir}, {"logs", logs}};
  const auto isolated = [](const Step& step) { return step.isolation == Isolation::worktree; };
  if (report.workflow && std::ranges::any_of(report.workflow->steps, isolated)) files["worktrees"] = logs + "/worktrees";
  briefing.head_lines.push_back("## Files");
  for (const auto& [name, path] : files.items()) {
    std::string title = name;
    std::ranges::replace(title, '_', ' ');
    if (!path.get_ref<const std::string&>().empty()) briefing.head_lines.push_back(fmt::format("- {}: {}", title, markdown_code(one_line_of(path.get<std::string>()))));
  }
  briefing.head["files"] = std::move(files);
  return {};
}

/// A failed step is a blocker, whether or not somebody called it one.
void add_failures(const RunReport& report, BriefingPart& blockers) {
  for (const ReportedStep& step : report.steps) {
    if (step.record.status != StepStatus::failed) continue;
    Json entry = {{"at", step.record.ended.text()}, {"step", step.path}, {"blocker", step.record.error}, {"step_completed_since", false}};
    blockers.entries.insert(blockers.entries.begin(), std::move(entry));
    blockers.lines.insert(blockers.lines.begin(), fmt::format("{} failed: {}", markdown_text(step.path), markdown_text(shortened(step.record.error, kLong))));
  }
  for (const WaitingFor& wait : report.waiting_for) {
    Json entry = {{"step", wait.step}, {"blocker", fmt::format("waits for {}", to_text(wait.what))}, {"detail", wait.detail}};
    blockers.entries.insert(blockers.entries.begin(), std::move(entry));
    blockers.lines.insert(blockers.lines.begin(), fmt::format("{} waits for {}: {}", markdown_text(wait.step.empty() ? "the run" : wait.step), to_text(wait.what), markdown_text(shortened(wait.detail, kShort))));
  }
}

/// A run without a workflow: its newest checkpoint is all that is known.
Result<Briefing> brief_saves(Store& store, const RunId& run, const std::string& store_uri) {
  PAWL_TRY_ASSIGN(const RunInfo info, store.run(run));
  PAWL_TRY_ASSIGN(const CheckpointInfo latest, store.checkpoint(run, {}));
  Briefing briefing;
  briefing.title = run.text();
  briefing.head = {{"run", run.text()}, {"uuid", info.uuid.text()}, {"session", info.session}, {"status", to_text(info.status)}, {"started", info.created.text()},
                   {"updated", info.updated.text()}, {"checkpoint", latest.sequence.value}, {"metadata", Json::parse(latest.metadata.empty() ? "null" : latest.metadata, nullptr, false)},
                   {"files", {{"store", store_uri}}}};
  briefing.head_lines = {"## Status", fmt::format("- {}, started {}, last saved {} (checkpoint {}, {})", to_text(info.status), info.created.text(), info.updated.text(), latest.sequence.value, size_text(latest.state_bytes))};
  if (!latest.metadata.empty()) briefing.head_lines.push_back(fmt::format("- metadata: {}", markdown_code(shortened(latest.metadata, kShort))));
  briefing.head_lines.push_back("## Files");
  briefing.head_lines.push_back(fmt::format("- store: {}", markdown_code(one_line_of(store_uri))));
  briefing.next = {fmt::format("pawl restore {}", run.text()), fmt::format("pawl show {} --checkpoints", run.text())};
  return briefing;
}

}  // namespace

Result<Briefing> brief_run(Store& store, const RunId& run, const std::string& store_uri, Timestamp now) {
  Result<RunReport> reported = report_run(store, run, Detail::state);
  if (!reported && reported.error().code == Code::not_a_workflow_run) return brief_saves(store, run, store_uri);
  PAWL_TRY_ASSIGN(const RunReport report, std::move(reported));
  PAWL_TRY_ASSIGN(Told told, what_was_told(store, report));
  PAWL_TRY_ASSIGN(StepParts steps, step_parts(store, report));
  Briefing briefing;
  briefing.title = run.text();
  briefing.head = {{"run", run.text()}, {"uuid", report.info.uuid.text()}, {"session", report.info.session}, {"made", now.text()}};
  add_goal(briefing, report);
  add_status(briefing, report, told);
  PAWL_TRY(add_files(store, briefing, report, store_uri));
  add_failures(report, told.blockers);
  briefing.next = next_commands(report);
  if (briefing.next.empty()) briefing.next.push_back(fmt::format("pawl show {}", run.text()));
  steps.done.more = steps.open.more = fmt::format("pawl show {} --all", run.text());
  told.decisions.more = told.blockers.more = told.confidence.more = fmt::format("pawl show {} --events", run.text());
  briefing.parts = {std::move(told.blockers), std::move(steps.open), std::move(told.decisions), std::move(steps.done), std::move(told.confidence)};
  return briefing;
}

Result<Briefing> brief_session(Store& store, const std::string& session, Timestamp now) {
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> runs, store.runs(kRunsLookedAt));
  BriefingPart part{.key = "runs", .title = "Runs of the session", .more = fmt::format("pawl list --session {}", session)};
  bool resumable = false;
  for (const RunInfo& run : runs) {
    if (run.session != session) continue;
    const std::string status = status_word(store, run);
    resumable |= !run.workflow.empty() && status != "completed" && status != "cancelled" && status != "running";
    part.entries.push_back({{"run", run.id.text()}, {"status", status}, {"workflow", run.workflow}, {"updated", run.updated.text()}});
    part.lines.push_back(fmt::format("{} {}, last saved {}", markdown_code(run.id.text()), status, run.updated.text()));
  }
  if (part.entries.empty())
    return fail(Error{Code::run_not_found, fmt::format("there is no run of session '{}' in this store", session), {}, "`pawl list` shows the runs and `pawl run --session NAME` starts one in a session", 0});
  Briefing briefing;
  briefing.title = "session " + session;
  briefing.head = {{"session", session}, {"made", now.text()}};
  if (resumable) briefing.next.push_back(fmt::format("pawl resume --session {}", session));
  briefing.next.push_back(fmt::format("pawl handoff {}", part.entries.front()["run"].get<std::string>()));
  briefing.parts.push_back(std::move(part));
  return briefing;
}

}  // namespace pawl::cli
