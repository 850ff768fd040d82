#include "cli/show_workflow.hpp"

#include <algorithm>

#include "cli/hints.hpp"
#include "cli/json_out.hpp"
#include "cli/lineage_text.hpp"
#include "cli/terminal_text.hpp"
#include "cli/wrap_text.hpp"
#include "engine/resume_facts.hpp"

namespace pawl::cli {
namespace {

constexpr std::size_t kInnerShown = 12;       // lines below one step, for example running items
constexpr std::size_t kLabelColumnsMax = 40;  // unless the terminal is wide
constexpr std::size_t kEventValueColumns = 60;
constexpr std::size_t kLabelColumns = 11;  // of the header and what is next

/// `output` is null where there is none.
Json step_json(const ReportedStep& step, const Json& output, Timestamp now) {
  const StepRecord& record = step.record;
  Json out = {
      {"step", step.path}, {"id", step.path}, {"status", to_text(record.status)}, {"attempts", record.attempts}};
  // The end has milliseconds, so a short step seems to end before it starts.
  const Timestamp started = record.ended.us == 0 ? record.started : std::min(record.started, record.ended);
  out["started"] = started.us == 0 ? Json() : Json(started.text());
  out["ended"] = record.ended.us == 0 ? Json() : Json(record.ended.text());
  out["ms"] = step_ms(record, now);
  if (!output.is_null()) out["output"] = output;
  if (!record.error.empty()) out["error"] = record.error;
  if (record.exit_code != 0) out["exit_code"] = record.exit_code;
  if (const std::string reason = record.reason_text(); !reason.empty()) out["reason"] = reason;
  if (record.due.us != 0) out["due"] = record.due.text();
  if (record.iteration != 0) out["iteration"] = record.iteration;
  if (record.confidence) out["confidence"] = *record.confidence;
  if (!record.child_run.empty()) out["run"] = record.child_run;
  if (record.usage != Usage{}) out["usage"] = record.usage.document();
  if (record.map) {
    out["total"] = record.map->total;
    out["succeeded"] = record.map->succeeded_count();
    out["failed"] = record.map->failed_count();
  }
  return out;
}

/// Uses the names of `run --json` (event, run, at, step) and the older ones.
Json event_json(const std::string& run, const Event& event) {
  Json data = Json::parse(event.data, nullptr, false);
  Json out = {{"event", event.type},
              {"run", run},
              {"at", event.created.text()},
              {"number", event.number},
              {"sequence", event.sequence.value},
              {"created", event.created.text()},
              {"type", event.type}};
  if (data.is_object() && data.contains("step")) out["step"] = data["step"];
  out["data"] = std::move(data);
  return out;
}

Json waiting_json(const RunReport& report) {
  Json waits = Json::array();
  for (const WaitingFor& wait : report.waiting_for) {
    Json entry = {{"what", to_text(wait.what)}};
    if (!wait.step.empty()) entry["step"] = wait.step;
    if (!wait.detail.empty())
      entry[wait.what == WaitingFor::What::approval ? "prompt" : std::string(to_text(wait.what))] = wait.detail;
    if (wait.due.us != 0) entry["due"] = wait.due.text();
    waits.push_back(std::move(entry));
  }
  return waits;
}

Json workflow_run_json(const WorkflowRunDetails& details, Timestamp now) {
  const RunReport& report = details.report;
  const RunState& state = report.standing.state;
  Json out = Json::parse(run_object(report.info, to_text(report.standing.status)).done(), nullptr, false);
  out["workflow"] = state.workflow_name;
  out["workflow_name"] = state.workflow_name;
  out["workflow_file"] = state.workflow_file;
  out["progress"] = {{"done", details.progress.done}, {"total", details.progress.total}};
  out["sequence"] = report.latest.sequence.value;
  out["elapsed_ms"] = elapsed_ms(report, now);
  out["owner"] = report.standing.owner ? Json(*report.standing.owner) : Json();
  out["error"] = state.error.empty() ? Json() : Json(state.error);
  out["vars"] = state.vars;
  out["usage"] = state.usage.document();
  out["budget"] = limits_of(state, report.workflow).document();
  out["masked"] = state.masked;
  if (!state.outputs.empty()) out["outputs"] = state.outputs;
  out["confidence"] = state.confidence ? Json(*state.confidence) : Json();
  out["resumes"] = state.resumes;
  JsonObject lineage;
  add_lineage(lineage, details.lineage);
  out.update(Json::parse(lineage.done(), nullptr, false));
  if (!state.parent_run.empty()) out["parent"] = {{"run", state.parent_run}, {"step", state.parent_step}};
  out["waiting_for"] = waiting_json(report);
  Json& steps = out["steps"] = Json::array();
  for (std::size_t i = 0; i < report.steps.size(); ++i)
    steps.push_back(step_json(report.steps[i], details.outputs[i], now));
  for (const KeptBranch& branch : report.branches)
    out["branches"].push_back({{"branch", branch.name}, {"step", branch.step}});
  for (const Event& event : details.events) out["events"].push_back(event_json(report.info.id.text(), event));
  out["latest"] = Json::parse(checkpoint_object(report.info.id.text(), report.latest).done(), nullptr, false);
  return out;
}

struct Look {
  Colour colour = Colour::none;
  std::string_view mark;
};

Look look_of(const StepRecord& record) {
  switch (record.status) {
    case StepStatus::completed: return {Colour::green, "✓"};
    case StepStatus::failed: return {Colour::red, "✗"};
    case StepStatus::skipped: return {Colour::dim, "–"};
    case StepStatus::running: return {Colour::none, "▸"};
    case StepStatus::waiting: return record.binding.empty() ? Look{Colour::none, "◷"} : Look{Colour::yellow, "?"};
    case StepStatus::interrupted:
    case StepStatus::cancelled: return {Colour::yellow, "‖"};
    case StepStatus::pending: break;
  }
  return {Colour::dim, "·"};
}

/// Returns who decided an approval; empty if the step is none. A rejection says so in its error.
std::string decision_text(const StepRecord& record) {
  const Json& output = record.output;
  const bool decided = record.status == StepStatus::completed && output.is_object() && output.contains("approved");
  if (!decided) return {};
  if (output.value("timed_out", Json()) == true) return "no decision in time";
  const std::string comment = text_in(output, "comment");
  return fmt::format("approved by {}{}", text_in(output, "by"), comment.empty() ? "" : ": " + summary_line(comment));
}

/// Returns what is shown about a step besides its time.
std::string remark(const ReportedStep& step, const std::optional<Workflow>& workflow, Timestamp now) {
  const StepRecord& record = step.record;
  const Step* const known = workflow ? find_step(*workflow, step.path) : nullptr;
  std::vector<std::string> parts;
  if (known != nullptr && std::holds_alternative<Approve>(known->work)) {
    if (std::string decision = decision_text(record); !decision.empty()) parts.push_back(std::move(decision));
  }
  if (record.map) {
    const std::uint64_t done = record.map->done.count();
    const std::uint64_t failed = record.map->failed_count();
    if (failed == 0) {
      parts.push_back(fmt::format("{} of {} items", done, record.map->total));
    } else {
      parts.push_back(fmt::format("{} succeeded, {} failed ({} items)", done - failed, failed, record.map->total));
    }
  }
  if (record.iteration > 0) parts.push_back(fmt::format("iteration {}", record.iteration));
  if (record.attempts > 1) parts.push_back(fmt::format("{} attempts", record.attempts));
  if (!record.child_run.empty()) parts.push_back("run " + record.child_run);
  switch (record.status) {
    case StepStatus::waiting:
      if (record.reason == StepReason::approval) {
        parts.push_back("needs approval: " + summary_line(record.detail));
      } else if (record.reason == StepReason::breakpoint) {
        parts.emplace_back("breakpoint");
      } else if (record.reason == StepReason::signal) {
        parts.push_back("waits for " + record.reason_text());
      } else if (record.child_run.empty()) {
        parts.emplace_back("sleeps");
      }
      if (record.due.us != 0)
        parts.push_back(record.due > now ? elapsed_text((record.due.us - now.us) / 1000) + " left" : "due");
      break;
    case StepStatus::skipped: parts.push_back("skipped: " + record.detail); break;
    case StepStatus::interrupted:
    case StepStatus::cancelled:
    case StepStatus::pending: parts.emplace_back(to_text(record.status)); break;
    default: break;
  }
  if (!record.error.empty() && record.status != StepStatus::completed) parts.push_back(record.error);
  if (std::string used = used_text(record.usage.usd, record.usage.tokens); !used.empty())
    parts.push_back(std::move(used));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string step_line(const ReportedStep& step, const std::optional<Workflow>& workflow, std::size_t label_columns,
                      const Style& style, Timestamp now) {
  const Look look = look_of(step.record);
  TerminalLine line;
  line.add(look.colour, look.mark).add(" ");
  line.add(look.colour == Colour::green ? Colour::none : look.colour,
           cut_in_middle(printable(step.path), label_columns));
  const StepStatus status = step.record.status;
  const bool timed = (step.record.started.us != 0 || step.record.duration_ms > 0) && status != StepStatus::skipped &&
                     status != StepStatus::waiting;
  const std::int64_t ms = step_ms(step.record, now);
  const bool unknown = ms == 0 && status == StepStatus::interrupted;  // its process died
  const std::string time = timed && !unknown ? elapsed_text(ms) : "";
  const std::string said = printable(remark(step, workflow, now));
  if (!time.empty() || !said.empty()) line.pad_to(std::max(label_columns + 2, line.columns()) + 2);
  line.add(time);
  if (!time.empty() && !said.empty()) line.add("  ");
  return line.add(look.colour == Colour::green ? Colour::none : look.colour, said).text(style) + "\n";
}

std::string timeline(const RunReport& report, const Style& style, const ShowWorkflow& options, Timestamp now,
                     std::optional<std::size_t> width) {
  std::size_t label_columns = 0;
  for (const ReportedStep& step : report.steps)
    label_columns = std::max(label_columns, display_columns(printable(step.path)));
  if (width) label_columns = std::min(label_columns, std::max(kLabelColumnsMax, *width / 2));
  std::string out;
  std::size_t inner = 0;
  std::size_t left_out = 0;
  const auto note_left_out = [&] {
    if (left_out > 0)
      out += style(Colour::dim, fmt::format("  … and {} more (use --all to see them)", left_out)) + "\n";
    inner = left_out = 0;
  };
  for (const ReportedStep& step : report.steps) {
    const bool is_inner = step.path.find_first_of(".[") != std::string::npos;
    if (!is_inner) note_left_out();
    if (is_inner && !options.all && inner++ >= kInnerShown) {
      ++left_out;
      continue;
    }
    out += step_line(step, report.workflow, label_columns, style, now);
  }
  note_left_out();
  return out;
}

/// `3 secrets (2 github-token, 1 jwt)`.
std::string masked_text(const RunState& state) {
  std::uint64_t sum = 0;
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : state.masked) {
    sum += count;
    kinds.push_back(fmt::format("{} {}", count, kind));
  }
  if (sum == 0) return {};
  return fmt::format("{} secret{} ({})", sum, sum == 1 ? "" : "s", fmt::join(kinds, ", "));
}

std::string header(const Invocation& invocation, const WorkflowRunDetails& details) {
  const RunReport& report = details.report;
  const Timestamp now = invocation.context().clock.now();
  const RunState& state = report.standing.state;
  std::string out;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    out += fmt::format("{:<{}}{}\n", fmt::format("{}:", name), kLabelColumns,
                       wrap_beside(kLabelColumns, printable(value), invocation.table_width()));
  };
  add("Run", report.info.id.text());
  add("Workflow", state.workflow_file.empty() ? state.workflow_name
                                              : fmt::format("{} ({})", state.workflow_name, state.workflow_file));
  std::string status(to_text(report.standing.status));
  if (report.standing.owner) status += fmt::format(", by {}", *report.standing.owner);
  if (report.standing.status != state.status) status += " (process died)";
  add("Status", status);
  add("Error", state.error);
  add("Reason", state.origin);
  add("Started", invocation.long_time_text(report.info.created));
  add("Elapsed", elapsed_text(elapsed_ms(report, now)));
  const Budget limits = limits_of(state, report.workflow);
  add("Used", used_text(state.usage.usd, state.usage.tokens, limits.usd, limits.tokens));
  add("Masked", masked_text(state));
  if (state.resumes > 0) add("Resumes", std::to_string(state.resumes));
  add("Session", report.info.session);
  if (details.lineage.fork_of) add("Fork of", fork_text(*details.lineage.fork_of));
  add("Forks", forks_text(details.lineage));
  if (!state.parent_run.empty()) add("Child of", fmt::format("{}, step {}", state.parent_run, state.parent_step));
  return out;
}

/// Returns the questions that the list of steps shortens, whole.
std::string long_questions(const RunReport& report) {
  std::string out;
  for (const WaitingFor& wait : report.waiting_for) {
    if (wait.what != WaitingFor::What::approval || is_one_line(wait.detail)) continue;
    out += fmt::format("\n{} asks:\n{}", printable(wait.step), indented_lines(wait.detail, "    "));
  }
  return out;
}

/// Returns the commands to type next, one line each.
std::string next_steps(const Invocation& invocation, const RunReport& report) {
  std::string out;
  for (const std::string& command : commands_of(next_actions(report))) {
    out += fmt::format("{:<{}}{}\n", out.empty() ? "Next:" : "", kLabelColumns,
                       wrap_beside(kLabelColumns, printable(command), invocation.table_width()));
  }
  return out;
}

/// Lists the branches with changes to review, one per line.
std::string branches_text(const RunReport& report) {
  std::string out;
  for (const KeptBranch& branch : report.branches)
    out += fmt::format("{:<{}}{}\n", out.empty() ? "Review:" : "", kLabelColumns, printable(branch.name));
  return out;
}

/// Shortens each value, so that one long value (the text of a workflow, an output) does not hide the others.
Json with_short_values(Json data) {
  if (!data.is_object()) return data;
  for (auto& [key, value] : data.items()) {
    if (value.is_string()) {
      value = cut_to_columns(printable(value.get_ref<const std::string&>()), kEventValueColumns);
    } else if (const std::string text = compact(value); display_columns(text) > kEventValueColumns) {
      value = value.is_object() ? with_short_values(value) : Json(cut_to_columns(printable(text), kEventValueColumns));
    }
  }
  return data;
}

/// Ages would be the same for all events of a long run, so a terminal shows the time since its start.
std::string event_time(const Invocation& invocation, const RunInfo& run, const Event& event) {
  const bool relative = invocation.table_width() && !invocation.utc() && event.created >= run.created;
  if (!relative) return invocation.time_text(event.created);
  return exact_elapsed_text((event.created.us - run.created.us) / 1000);
}

std::string events_text(const Invocation& invocation, const RunInfo& run, const std::vector<Event>& events) {
  const bool relative = invocation.table_width() && !invocation.utc();
  Table table({{.name = "EVENT"},
               {.name = relative ? "AFTER" : "TIME", .rank = 2},
               {.name = "TYPE"},
               {.name = "STEP", .cut = Cut::middle, .rank = 1, .least = 12},
               {.name = "DATA", .cut = Cut::end, .rank = 3, .least = 12}});
  for (const Event& event : events) {
    Json data = Json::parse(event.data, nullptr, false);
    std::string step;
    if (data.is_object() && data.contains("step") && data["step"].is_string()) {
      step = data["step"].get<std::string>();
      data.erase("step");
    }
    table.add({std::to_string(event.number), event_time(invocation, run, event), printable(event.type), printable(step),
               printable(compact(with_short_values(std::move(data))))});
  }
  return table.text(invocation.style(), invocation.table_width());
}

}  // namespace

void show_workflow_run(const Invocation& invocation, const WorkflowRunDetails& details, const ShowWorkflow& options) {
  const Timestamp now = invocation.context().clock.now();
  if (invocation.json()) return invocation.print(compact(workflow_run_json(details, now)) + "\n");
  const RunReport& report = details.report;
  invocation.print(header(invocation, details) + "\n" +
                   timeline(report, invocation.style(), options, now, invocation.table_width()) +
                   long_questions(report));
  if (const std::string branches = branches_text(report); !branches.empty()) invocation.print("\n" + branches);
  if (options.events) invocation.print("\n" + events_text(invocation, report.info, details.events));
  if (const std::string next = next_steps(invocation, report); !next.empty()) invocation.print("\n" + next);
}

}  // namespace pawl::cli
