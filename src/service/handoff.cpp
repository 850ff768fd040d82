#include "service/handoff.hpp"

#include <algorithm>

#include "service/handoff_told.hpp"
#include "service/run_summary.hpp"
#include "text/display.hpp"

namespace pawl {
namespace {

constexpr std::size_t kRunsSearched = 100'000;
constexpr std::size_t kStateBytes = 2'048;
constexpr std::size_t kShort = kBriefShort;
constexpr std::size_t kLong = kBriefLong;

std::string money(const Usage& usage, const Budget& limits = {}) {
  std::string text = used_text(usage.usd, usage.tokens, limits.usd, limits.tokens);
  if (usage.api_calls > 0) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} API call{}", grouped_number(usage.api_calls), usage.api_calls == 1 ? "" : "s");
  }
  return text.empty() ? "nothing reported" : text;
}

/// For a failed step: its log may contain the reason.
std::vector<std::string> printed_last(const Told& told, const ReportedStep& step) {
  const auto found = told.last_words.find(step.path);
  if (step.record.status != StepStatus::failed || found == told.last_words.end()) return {};
  return last_lines(found->second);
}

enum class MadeBy : std::uint8_t { workflow, script };

struct StepParts {
  BriefingPart done{.key = "done", .title = "Done"};
  BriefingPart open{.key = "open", .title = "Open"};
};

/// Returns the output of a step. Bytes of a script's step that are not text are left out.
Result<Json> brief_output(Store& store, const RunId& run, const StepRecord& record, MadeBy made_by) {
  PAWL_TRY_ASSIGN(Json output, step_output(store, run, record));
  if (made_by == MadeBy::workflow || !output.is_object()) return output;
  if (output.contains("result")) return output["result"];
  const std::string text = text_in(output, "text");
  return text.empty() ? Json() : Json(text);
}

Result<StepParts> step_parts(Store& store, const RunId& run, const std::vector<ReportedStep>& steps, const Told& told,
                             MadeBy made_by) {
  StepParts parts;
  for (const ReportedStep& step : steps) {
    const StepRecord& record = step.record;
    const std::string_view status = to_text(record.status);
    Json entry = {{"step", step.path}, {"status", status}};
    std::string line = markdown_code(step.path);
    if (record.status == StepStatus::completed || record.status == StepStatus::skipped) {
      PAWL_TRY_ASSIGN(const Json output, brief_output(store, run, record, made_by));
      if (record.status == StepStatus::skipped)
        line += fmt::format(" skipped: {}", markdown_text(brief_text(record.reason_text(), kShort)));
      if (record.map) line += fmt::format(" {} items, {} failed", record.map->done.count(), record.map->failed_count());
      if (!output.is_null()) {
        entry["output"] = brief_text(value_text(output), kShort);
        line += fmt::format(": {}", markdown_code(brief_text(value_text(output), kShort)));
      }
      parts.done.entries.push_back(std::move(entry));
      parts.done.lines.push_back(std::move(line));
      continue;
    }
    line += fmt::format(" {}", status);
    if (record.map) line += fmt::format(", {} of {} items", record.map->done.count(), record.map->total);
    if (!record.error.empty()) {
      entry["error"] = record.error;
      line += fmt::format(": {}", markdown_text(brief_text(record.error, kLong)));
    }
    if (const std::vector<std::string> printed = printed_last(told, step); !printed.empty()) entry["log"] = printed;
    if (const std::string reason = record.reason_text(); record.status == StepStatus::waiting && !reason.empty()) {
      entry["waits_for"] = reason;
      line += fmt::format(", waits for: {}", markdown_text(brief_text(reason, kShort)));
    }
    if (!record.partial.is_null()) {
      entry["progress"] = brief_text(compact(record.partial), kShort);
      line += fmt::format(", so far: {}", markdown_code(brief_text(compact(record.partial), kShort)));
    }
    parts.open.entries.push_back(std::move(entry));
    parts.open.lines.push_back(std::move(line));
  }
  newest_first(parts.done);  // whoever continues needs the latest work first
  return parts;
}

void add_goal(Briefing& briefing, const RunReport& report) {
  const RunState& state = report.standing.state;
  const std::string description = report.workflow ? report.workflow->description : std::string();
  briefing.head["goal"] = {{"workflow", state.workflow_name}, {"description", description}, {"vars", state.vars}};
  briefing.head_lines.push_back("## Goal");
  briefing.head_lines.push_back(
      fmt::format("{}{}", markdown_text(state.workflow_name),
                  description.empty() ? "" : ": " + markdown_text(brief_text(description, kLong))));
  for (const auto& [name, value] : state.vars.items())
    briefing.head_lines.push_back(
        fmt::format("- {} = {}", markdown_code(name), markdown_code(brief_text(value_text(value), kShort))));
}

void add_status(Briefing& briefing, const RunReport& report, const Told& told) {
  const RunState& state = report.standing.state;
  const std::string status(to_text(report.standing.status));
  Json head = {{"status", status},
               {"started", report.info.created.text()},
               {"updated", report.info.updated.text()},
               {"checkpoint", report.latest.sequence.value},
               {"resumes", state.resumes},
               {"error", state.error},
               {"owner", report.standing.owner ? Json(*report.standing.owner) : Json()}};
  head["confidence"] = state.confidence ? Json(*state.confidence) : Json();
  head["usage"] = state.usage.document();
  head["context_usage"] = told.context_usage ? Json(*told.context_usage) : Json();
  head["context_usage_by_step"] = told.context_by_step;
  briefing.head.update(head);
  std::vector<std::string>& lines = briefing.head_lines;
  lines.push_back("## Status");
  lines.push_back(fmt::format("- {}, started {}, last saved {} (checkpoint {})", status, report.info.created.text(),
                              report.info.updated.text(), report.latest.sequence.value));
  if (report.standing.owner) lines.push_back(fmt::format("- at work: {}", markdown_text(*report.standing.owner)));
  if (!state.error.empty()) lines.push_back(fmt::format("- error: {}", markdown_text(brief_text(state.error, kLong))));
  if (!report.info.session.empty())
    lines.push_back(fmt::format("- session: {}", markdown_text(brief_text(report.info.session, kShort))));
  if (state.resumes > 0) lines.push_back(fmt::format("- resumed {} times", state.resumes));
  lines.push_back(fmt::format("- used: {}", money(state.usage, limits_of(state, report.workflow))));
  if (told.context_usage)
    lines.push_back(fmt::format("- context window: {:.0f} % full at the last report", *told.context_usage * 100));
  if (state.confidence) lines.push_back(fmt::format("- confidence: {:.2f}", *state.confidence));
}

Result<void> add_files(Store& store, Briefing& briefing, const RunReport& report, const std::string& store_uri) {
  PAWL_TRY_ASSIGN(const std::string logs, store.local_folder(report.info.id));
  const RunState& state = report.standing.state;
  Json files = {
      {"store", store_uri}, {"workflow", state.workflow_file}, {"working_folder", state.working_dir}, {"logs", logs}};
  const auto isolated = [](const Step& step) { return step.isolation == Isolation::worktree; };
  if (report.workflow && std::ranges::any_of(report.workflow->steps, isolated))
    files["worktrees"] = logs + "/worktrees";
  briefing.head_lines.push_back("## Files");
  for (const auto& [name, path] : files.items()) {
    std::string title = name;
    std::ranges::replace(title, '_', ' ');
    if (!path.get_ref<const std::string&>().empty())
      briefing.head_lines.push_back(fmt::format("- {}: {}", title, markdown_code(path.get<std::string>())));
  }
  briefing.head["files"] = std::move(files);
  return {};
}

/// A failed step is a blocker, even if nobody reported it as one.
void add_failures(const std::vector<ReportedStep>& steps, const std::vector<WaitingFor>& waits, Told& told) {
  BriefingPart& blockers = told.blockers;
  for (const ReportedStep& step : steps) {
    if (step.record.status != StepStatus::failed) continue;
    Json entry = {{"at", step.record.ended.text()},
                  {"step", step.path},
                  {"blocker", step.record.error},
                  {"step_completed_since", false}};
    std::string line =
        fmt::format("{} failed: {}", markdown_text(step.path), markdown_text(brief_text(step.record.error, kLong)));
    const std::vector<std::string> printed = printed_last(told, step);
    if (!printed.empty()) entry["log"] = printed;
    for (const std::string& text : printed)
      line += fmt::format("\n  - printed: {}", markdown_code(brief_text(text, kShort)));
    blockers.entries.insert(blockers.entries.begin(), std::move(entry));
    blockers.lines.insert(blockers.lines.begin(), std::move(line));
  }
  for (const WaitingFor& wait : waits) {
    Json entry = {
        {"step", wait.step}, {"blocker", fmt::format("waits for {}", to_text(wait.what))}, {"detail", wait.detail}};
    blockers.entries.insert(blockers.entries.begin(), std::move(entry));
    blockers.lines.insert(blockers.lines.begin(),
                          fmt::format("{} waits for {}: {}", markdown_text(wait.step.empty() ? "the run" : wait.step),
                                      to_text(wait.what), markdown_text(brief_text(wait.detail, kShort))));
  }
}

/// Returns the newest state in at most kStateBytes bytes; the complete value only if it fits.
void add_state(Briefing& briefing, const std::string& state) {
  const Json value = Json::parse(state, nullptr, false);
  const std::string text = value.is_discarded() ? state : compact(value);
  const bool fits = text.size() <= kStateBytes && !value.is_discarded();
  std::string shown = text.substr(0, kStateBytes * 4);  // so that a large state is not read completely
  for (std::size_t columns = kStateBytes; shown.size() > kStateBytes && columns >= 64; columns -= 64)
    shown = brief_text(shown, columns);
  briefing.head["state"] = fits ? value : Json();
  briefing.head["state_text"] = shown;
  briefing.head_lines.push_back("## State");
  briefing.head_lines.push_back(fmt::format("- {}", markdown_code(shown)));
}

/// For a run without a workflow, only its newest checkpoint and entries added by people are known.
Result<Briefing> brief_saves(Store& store, const RunId& run, const std::string& store_uri) {
  PAWL_TRY_ASSIGN(const RunInfo info, store.run(run));
  PAWL_TRY_ASSIGN(const Restored newest, store.restore(run, {}));
  PAWL_TRY_ASSIGN(Told told, what_was_told(store, run, {}));
  const CheckpointInfo& latest = newest.info;
  const std::string status = status_word(store, info);
  Briefing briefing;
  briefing.title = run.text();
  briefing.head = {{"run", run.text()},
                   {"uuid", info.uuid.text()},
                   {"session", info.session},
                   {"status", status},
                   {"started", info.created.text()},
                   {"updated", info.updated.text()},
                   {"checkpoint", latest.sequence.value},
                   {"metadata", Json::parse(latest.metadata.empty() ? "null" : latest.metadata, nullptr, false)},
                   {"files", {{"store", store_uri}}}};
  briefing.head_lines = {"## Status",
                         fmt::format("- {}, started {}, last saved {} (checkpoint {}, {})", status, info.created.text(),
                                     info.updated.text(), latest.sequence.value, size_text(latest.state_bytes))};
  if (!info.session.empty())
    briefing.head_lines.push_back(fmt::format("- session: {}", markdown_text(brief_text(info.session, kShort))));
  if (!latest.metadata.empty())
    briefing.head_lines.push_back(fmt::format("- metadata: {}", markdown_code(brief_text(latest.metadata, kShort))));
  briefing.head_lines.push_back("## Files");
  briefing.head_lines.push_back(fmt::format("- store: {}", markdown_code(store_uri)));
  add_state(briefing, newest.state);
  briefing.next = {{Advice::show_state, {.run = run.text()}}, {Advice::list_checkpoints, {.run = run.text()}}};
  briefing.parts = {std::move(told.blockers), std::move(told.notes), std::move(told.recoveries)};
  return briefing;
}

/// A run whose steps a script calls.
Result<Briefing> brief_steps(Store& store, const RunId& run, const std::string& store_uri, Timestamp now) {
  PAWL_TRY_ASSIGN(const RunInfo info, store.run(run));
  PAWL_TRY_ASSIGN(const StepsStatus standing, steps_status(store, run));
  PAWL_TRY_ASSIGN(const std::string logs, store.local_folder(run));
  RunState state;
  state.steps = standing.ledger.steps;
  PAWL_TRY_ASSIGN(Told told, what_was_told(store, run, state));
  std::vector<ReportedStep> reported;
  for (const auto& [name, record] : standing.ledger.steps) reported.push_back({name, record});
  PAWL_TRY_ASSIGN(StepParts steps, step_parts(store, run, reported, told, MadeBy::script));
  const RunProgress progress = progress_of(standing);
  const std::string error = error_of(standing);
  Briefing briefing;
  briefing.title = run.text();
  briefing.head = {{"run", run.text()},
                   {"uuid", info.uuid.text()},
                   {"session", info.session},
                   {"made", now.text()},
                   {"status", to_text(standing.status)},
                   {"started", info.created.text()},
                   {"updated", info.updated.text()},
                   {"checkpoint", info.latest.value},
                   {"error", error},
                   {"usage", standing.usage.document()},
                   {"context_usage", told.context_usage ? Json(*told.context_usage) : Json()},
                   {"context_usage_by_step", told.context_by_step},
                   {"files", {{"store", store_uri}, {"logs", logs}}}};
  std::vector<std::string>& lines = briefing.head_lines;
  lines = {"## Status", fmt::format("- {}, {} of {} steps completed, started {}, last saved {} (checkpoint {})",
                                    to_text(standing.status), progress.done, progress.total, info.created.text(),
                                    info.updated.text(), info.latest.value)};
  if (!error.empty()) lines.push_back(fmt::format("- error: {}", markdown_text(brief_text(error, kLong))));
  if (!info.session.empty())
    lines.push_back(fmt::format("- session: {}", markdown_text(brief_text(info.session, kShort))));
  lines.push_back(fmt::format("- used: {}", money(standing.usage)));
  if (standing.status == RunStatus::failed || standing.status == RunStatus::interrupted)
    lines.emplace_back("- to continue, run the script again; completed steps are not run again");
  lines.insert(lines.end(), {"## Files", fmt::format("- store: {}", markdown_code(store_uri)),
                             fmt::format("- logs: {}", markdown_code(logs))});
  add_failures(reported, {}, told);
  for (const ReportedStep& step : reported) {
    if (step.record.status == StepStatus::failed)
      briefing.next = {{Advice::show_logs, {.run = run.text(), .step = step.path}}};
  }
  briefing.next.push_back({Advice::show_run, {.run = run.text()}});
  steps.done.more = steps.open.more = {Advice::show_run, {.run = run.text()}};
  briefing.parts = {std::move(told.blockers),  std::move(told.notes),      std::move(steps.open),
                    std::move(told.decisions), std::move(told.recoveries), std::move(steps.done),
                    std::move(told.confidence)};
  return briefing;
}

}  // namespace

Result<Briefing> brief_run(Store& store, const RunId& run, const std::string& store_uri, Timestamp now) {
  Result<RunReport> reported = report_run(store, run, Detail::state);
  if (!reported && reported.error().code == Code::not_a_workflow_run)
    return is_steps_run(store, run) ? brief_steps(store, run, store_uri, now) : brief_saves(store, run, store_uri);
  PAWL_TRY_ASSIGN(const RunReport report, std::move(reported));
  PAWL_TRY_ASSIGN(Told told, what_was_told(store, run, report.standing.state));
  PAWL_TRY_ASSIGN(StepParts steps, step_parts(store, run, report.steps, told, MadeBy::workflow));
  Briefing briefing;
  briefing.title = run.text();
  briefing.head = {
      {"run", run.text()}, {"uuid", report.info.uuid.text()}, {"session", report.info.session}, {"made", now.text()}};
  add_goal(briefing, report);
  add_status(briefing, report, told);
  PAWL_TRY(add_files(store, briefing, report, store_uri));
  add_failures(report.steps, report.waiting_for, told);
  briefing.next = next_actions(report);
  if (briefing.next.empty()) briefing.next.push_back({Advice::show_run, {.run = run.text()}});
  steps.done.more = steps.open.more = {Advice::show_everything, {.run = run.text()}};
  briefing.parts = {std::move(told.blockers), std::move(told.notes),     std::move(told.branches),
                    std::move(steps.open),    std::move(told.decisions), std::move(told.recoveries),
                    std::move(steps.done),    std::move(told.confidence)};
  return briefing;
}

Result<Briefing> brief_session(Store& store, const std::string& session, Timestamp now) {
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> runs, store.runs(kRunsSearched));
  BriefingPart part{.key = "runs", .title = "Runs of the session", .more = {Advice::list_runs, {.value = session}}};
  bool resumable = false;
  for (const RunInfo& run : runs) {
    if (run.session != session) continue;
    const std::string status = status_word(store, run);
    resumable |= !run.workflow.empty() && status != "completed" && status != "cancelled" && status != "running";
    part.entries.push_back(
        {{"run", run.id.text()}, {"status", status}, {"workflow", run.workflow}, {"updated", run.updated.text()}});
    part.lines.push_back(fmt::format("{} {}, last saved {}", markdown_code(run.id.text()), status, run.updated.text()));
  }
  if (part.entries.empty())
    return fail(Error{Code::run_not_found,
                      fmt::format("there is no run of session '{}' in this store", session),
                      {},
                      {},
                      0,
                      Advice::list_runs});
  Briefing briefing;
  briefing.title = "session " + session;
  briefing.head = {{"session", session}, {"made", now.text()}};
  if (resumable) briefing.next.push_back({Advice::resume_session, {.value = session}});
  briefing.next.push_back({Advice::brief_run, {.run = part.entries.front()["run"].get<std::string>()}});
  briefing.parts.push_back(std::move(part));
  return briefing;
}

}  // namespace pawl
