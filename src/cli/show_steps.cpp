#include "cli/show_steps.hpp"

#include <algorithm>

#include "cli/json_out.hpp"
#include "cli/lineage_text.hpp"
#include "cli/terminal_text.hpp"

namespace pawl::cli {
namespace {

struct StepMark {
  Colour colour = Colour::none;
  std::string_view mark;
};

StepMark mark_of(StepStatus status) {
  switch (status) {
    case StepStatus::completed: return {Colour::green, "✓"};
    case StepStatus::failed: return {Colour::red, "✗"};
    case StepStatus::running: return {Colour::yellow, "▸"};
    default: return {Colour::yellow, "–"};
  }
}

std::string step_words(const StepRecord& record, Timestamp now) {
  std::string text;
  if (record.status == StepStatus::running) {
    text = fmt::format("running for {}", elapsed_text((now.us - record.started.us) / 1000));
  } else if (record.status == StepStatus::completed || record.status == StepStatus::failed) {
    text = elapsed_text(static_cast<std::int64_t>(record.duration_ms));
  } else {
    text = std::string(to_text(record.status));
  }
  if (!record.error.empty()) text += "  " + printable(record.error);
  if (record.attempts > 1) text += fmt::format("  ({} attempts)", record.attempts);
  if (const std::string usage = used_text(record.usage.usd, record.usage.tokens); !usage.empty()) text += "  " + usage;
  return text;
}

Json steps_document(const StepsRunDetails& details) {
  const StepsStatus& steps = details.steps;
  JsonObject document = run_object(details.info, to_text(steps.status));
  document.raw("latest", checkpoint_object(details.info.id.text(), details.latest).done());
  add_lineage(document, details.lineage);
  Json out = Json::parse(document.done(), nullptr, false);
  const RunProgress progress = progress_of(steps);
  const std::string error = error_of(steps);
  out["progress"] = {{"done", progress.done}, {"total", progress.total}};
  out["usage"] = steps.usage.document();
  out["error"] = error.empty() ? Json() : Json(error);
  Json& list = out["steps"] = Json::array();
  for (const auto& [name, record] : steps.ledger.steps) {
    Json step = {{"step", name}, {"id", name}, {"status", to_text(record.status)}, {"attempts", record.attempts}};
    step["started"] = record.started.us == 0 ? Json() : Json(record.started.text());
    step["ended"] = record.ended.us == 0 ? Json() : Json(record.ended.text());
    step["ms"] = record.duration_ms;
    if (record.exit_code != 0) step["exit_code"] = record.exit_code;
    if (!record.error.empty()) step["error"] = record.error;
    if (record.confidence) step["confidence"] = *record.confidence;
    if (record.output.is_object() && record.output.contains("result")) step["output"] = record.output["result"];
    if (record.usage != Usage{}) step["usage"] = record.usage.document();
    list.push_back(std::move(step));
  }
  return out;
}

}  // namespace

void show_steps_run(const Invocation& invocation, const StepsRunDetails& details) {
  if (invocation.json()) return invocation.print(compact(steps_document(details)) + "\n");
  const RunInfo& info = details.info;
  const StepsStatus& steps = details.steps;
  const Timestamp now = invocation.context().clock.now();
  const RunProgress progress = progress_of(steps);
  std::string text = fmt::format("{}  {}  {} of {} steps completed, updated {}", info.id.text(), to_text(steps.status),
                                 progress.done, progress.total, age(info.updated, now));
  if (const std::string usage = used_text(steps.usage.usd, steps.usage.tokens); !usage.empty()) text += ", " + usage;
  text += "\n\n";
  std::size_t width = 0;
  for (const auto& [name, record] : steps.ledger.steps) width = std::max(width, name.size());
  const Style style = invocation.style();
  std::string failed;
  for (const auto& [name, record] : steps.ledger.steps) {
    const StepMark mark = mark_of(record.status);
    text += fmt::format("{} {:<{}}  {}\n", style(mark.colour, mark.mark), name, width, step_words(record, now));
    if (record.status == StepStatus::failed) failed = name;
  }
  if (steps.status == RunStatus::failed || steps.status == RunStatus::interrupted)
    text += "\nNext:      run the script again; completed steps are not run again\n";
  invocation.print(text);
  if (!failed.empty())
    invocation.note(fmt::format("to see what it printed, run: pawl logs {} {}", info.id.text(), failed));
}

}  // namespace pawl::cli
