#include "service/run_report.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "domain/event_types.hpp"
#include "engine/resume_facts.hpp"
#include "workflow/parse_workflow.hpp"

namespace pawl {
namespace {

constexpr std::size_t kEventsPage = 4'096;

std::uint64_t number_in(const Json& data, const char* key) {
  const auto found = data.find(key);
  return found != data.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

/// Returns the top-level step that a path belongs to.
std::string root_of(std::string_view path) { return std::string(path.substr(0, path.find_first_of(".["))); }

template <class Use>
Result<void> for_each_event(Store& store, const RunId& id, const Use& use) {
  std::uint64_t after = 0;
  while (true) {
    PAWL_TRY_ASSIGN(const std::vector<Event> events, store.events(id, after, kEventsPage));
    if (events.empty()) return {};
    after = events.back().number;
    for (const Event& event : events) use(event);
  }
}

/// Steps according to the events, in the order in which they first appear.
class EventSteps {
 public:
  void take(const Event& event) {
    const bool item = event.type == event_type::kItemCompleted || event.type == event_type::kItemFailed;
    const bool start = event.type == event_type::kStepStarted;
    const bool end = event.type == event_type::kStepCompleted || event.type == event_type::kStepFailed ||
                     event.type == event_type::kStepSkipped;
    if (!item && !start && !end) return;
    const Json data = Json::parse(event.data, nullptr, false);
    if (!data.is_object()) return;
    std::string path = text_in(data, "step");
    if (item) path += fmt::format("[{}]", number_in(data, "index"));
    StepRecord& record = at(path);
    if (start) {
      record.status = StepStatus::running;
      if (record.started.us == 0) record.started = event.created;
      return;
    }
    record.status = parse_step_status(text_in(data, "status")).value_or(StepStatus::completed);
    record.attempts = static_cast<std::uint32_t>(number_in(data, "attempts"));
    record.duration_ms = number_in(data, "ms");
    record.error = text_in(data, "error");
    if (record.status == StepStatus::skipped) record.set_reason(StepReason::skipped, text_in(data, "reason"));
    record.ended = event.created;
    if (record.started.us == 0)
      record.started.us = event.created.us - static_cast<std::int64_t>(record.duration_ms) * 1000;
    if (data.contains("output")) record.output_event = event.number;
  }

  [[nodiscard]] std::vector<ReportedStep>& steps() { return steps_; }

 private:
  StepRecord& at(const std::string& path) {
    const auto [place, fresh] = places_.try_emplace(path, steps_.size());
    if (fresh) steps_.push_back({path, {}});
    return steps_[place->second].record;
  }
  std::vector<ReportedStep> steps_;
  std::unordered_map<std::string, std::size_t> places_;
};

/// Returns the ids of the workflow's own steps, with added ones last.
std::vector<std::string> listed_ids(const RunReport& report) {
  std::vector<std::string> ids;
  if (report.workflow) {
    for (const Step& step : report.workflow->steps) ids.push_back(step.id);
  }
  for (const AddedSteps& added : report.standing.state.added) {
    if (!added.steps.is_array()) continue;
    for (const Json& step : added.steps) {
      if (step.is_object() && !text_in(step, "id").empty()) ids.push_back(text_in(step, "id"));
    }
  }
  return ids;
}

/// Sorts the known steps by the order of the workflow. Steps that it does not list come last.
std::vector<ReportedStep> in_order(const std::vector<std::string>& ids, std::vector<ReportedStep> known) {
  std::unordered_map<std::string, std::vector<std::size_t>> by_root;
  std::unordered_set<std::string> paths;
  for (std::size_t i = 0; i < known.size(); ++i) {
    by_root[root_of(known[i].path)].push_back(i);
    paths.insert(known[i].path);
  }
  std::vector<ReportedStep> ordered;
  std::vector<bool> taken(known.size(), false);
  for (const std::string& id : ids) {
    if (!paths.contains(id)) ordered.push_back({id, {}});
    const std::vector<std::size_t>& group = by_root[id];
    const auto take = [&](std::size_t i) {
      if (taken[i]) return;
      taken[i] = true;
      ordered.push_back(std::move(known[i]));
    };
    // The step itself, then its inner steps in their order.
    const auto itself = std::ranges::find_if(group, [&](std::size_t i) { return known[i].path == id; });
    if (itself != group.end()) take(*itself);
    std::ranges::for_each(group, take);
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (!taken[i]) ordered.push_back(std::move(known[i]));
  }
  return ordered;
}

/// Returns the time between the end of each execution and the next resume. An execution that crashed ended with its
/// last event.
Result<std::int64_t> time_between_executions(Store& store, const RunInfo& info) {
  std::int64_t paused_us = 0;
  Timestamp left = info.created;
  bool executing = false;
  PAWL_TRY(for_each_event(store, info.id, [&](const Event& event) {
    if (event.created < info.created) return;  // of the run that this one was forked from
    if (event.type == event_type::kRunResumed) {
      paused_us += std::max<std::int64_t>(event.created.us - left.us, 0);
      executing = true;
    }
    if (event.type == event_type::kRunStarted) executing = true;
    if (executing) left = event.created;
    if (status_of_event(event.type)) executing = false;
  }));
  return paused_us / 1000;
}

/// No step waits, so the run has exceeded its budget or stopped after a step.
WaitingFor wait_of_run(const RunState& state, const std::optional<Workflow>& workflow) {
  const bool budget = limits_of(state, workflow).reached(state.usage);
  return {.what = budget ? WaitingFor::What::budget : WaitingFor::What::breakpoint, .step = {}, .detail = {}};
}

/// A step whose child waits is recorded as running.
bool waits_for_child(RunStatus run, const StepRecord& record) {
  return run == RunStatus::waiting && record.status == StepStatus::running && !record.child_run.empty();
}

std::optional<WaitingFor> wait_of(const std::string& path, const StepRecord& record) {
  if (record.status != StepStatus::waiting) return std::nullopt;
  WaitingFor wait{.what = WaitingFor::What::timer, .step = path, .detail = record.detail, .due = record.due};
  if (record.reason == StepReason::breakpoint) {
    wait.what = WaitingFor::What::breakpoint;
    wait.detail = "before";
  } else if (record.reason == StepReason::approval) {
    wait.what = WaitingFor::What::approval;
  } else if (record.reason == StepReason::signal) {
    wait.what = WaitingFor::What::signal;
  } else if (!record.child_run.empty()) {
    wait.what = WaitingFor::What::run;
    wait.detail = record.child_run;
  }
  return wait;
}

std::vector<WaitingFor> waits_of(const RunReport& report) {
  std::vector<WaitingFor> waits;
  for (const ReportedStep& step : report.steps) {
    if (std::optional<WaitingFor> wait = wait_of(step.path, step.record)) waits.push_back(std::move(*wait));
  }
  if (waits.empty() && report.standing.status == RunStatus::waiting)
    waits.push_back(wait_of_run(report.standing.state, report.workflow));
  return waits;
}

std::optional<Workflow> parsed(std::string text, const std::string& file) {
  if (text.empty()) return std::nullopt;
  auto workflow = parse_workflow({.text = std::move(text), .file = file, .begun = true});
  return workflow ? std::optional<Workflow>(std::move(*workflow)) : std::nullopt;
}

}  // namespace

std::string_view to_text(WaitingFor::What what) {
  switch (what) {
    case WaitingFor::What::approval: return "approval";
    case WaitingFor::What::signal: return "signal";
    case WaitingFor::What::timer: return "timer";
    case WaitingFor::What::run: return "run";
    case WaitingFor::What::budget: return "budget";
    case WaitingFor::What::breakpoint: return "breakpoint";
  }
  return "?";
}

Budget limits_of(const RunState& state, const std::optional<Workflow>& workflow) {
  if (state.limits != Budget{}) return state.limits;
  return (workflow ? workflow->budget : Budget{}).raised(state.budget);
}

std::vector<WaitingFor> waits_of(const RunState& state, const std::optional<Workflow>& workflow) {
  std::vector<WaitingFor> waits;
  for (const auto& [path, known] : state.steps) {
    StepRecord record = known;
    if (waits_for_child(state.status, record)) record.status = StepStatus::waiting;
    if (std::optional<WaitingFor> wait = wait_of(path, record)) waits.push_back(std::move(*wait));
  }
  if (waits.empty() && state.status == RunStatus::waiting) waits.push_back(wait_of_run(state, workflow));
  return waits;
}

std::optional<Workflow> recorded_workflow(Store& store, const RunId& id, const RunState& state) {
  std::optional<Workflow> workflow = parsed(recorded_text(store, id), state.workflow_file);
  if (workflow && workflow->hash == state.workflow_hash) return workflow;
  // Changes were accepted at a resume; the last one counts.
  std::string text;
  const Result<void> read = for_each_event(store, id, [&](const Event& event) {
    if (event.type != event_type::kWorkflowChanged) return;
    const Json data = Json::parse(event.data, nullptr, false);
    if (data.is_object() && data.contains("workflow") && data["workflow"].is_object())
      text = text_in(data["workflow"], "text");
  });
  std::optional<Workflow> changed = read ? parsed(text, state.workflow_file) : std::nullopt;
  return changed ? std::move(changed) : std::move(workflow);
}

Result<RunReport> report_run(Store& store, const RunId& id, Detail detail) {
  PAWL_TRY_ASSIGN(StandingRun standing, standing_run(store, id));
  PAWL_TRY_ASSIGN(RunInfo info, store.run(id));
  PAWL_TRY_ASSIGN(CheckpointInfo latest, store.checkpoint(id, {}));
  RunReport report{.info = std::move(info),
                   .latest = std::move(latest),
                   .standing = std::move(standing),
                   .workflow = {},
                   .steps = {},
                   .waiting_for = {}};
  const RunState& state = report.standing.state;
  report.workflow = recorded_workflow(store, id, state);
  if (state.resumes > 0) {
    PAWL_TRY_ASSIGN(report.paused_ms, time_between_executions(store, report.info));
  }
  std::vector<ReportedStep> known;
  std::unordered_map<std::string_view, const StepRecord*> in_state;
  for (const auto& [path, record] : state.steps) in_state.emplace(path, &record);
  if (detail == Detail::events) {
    EventSteps told;
    KeptBranches branches;
    PAWL_TRY(for_each_event(store, id, [&](const Event& event) {
      told.take(event);
      branches.take(event);
    }));
    report.branches = branches.all();
    for (ReportedStep& step : told.steps()) {
      if (!in_state.contains(step.path)) known.push_back(std::move(step));
    }
  }
  for (const auto& [path, record] : state.steps) known.push_back({path, record});
  const bool nobody = !report.standing.owner;
  for (ReportedStep& step : known) {
    if (waits_for_child(state.status, step.record)) step.record.status = StepStatus::waiting;
    if (nobody && step.record.status == StepStatus::running) step.record.status = StepStatus::interrupted;
  }
  report.steps = in_order(listed_ids(report), std::move(known));
  report.waiting_for = waits_of(report);
  return report;
}

Result<Json> step_output(Store& store, const RunId& id, const StepRecord& record) {
  if (record.output_event == 0) return record.output;
  PAWL_TRY_ASSIGN(const std::vector<Event> events, store.events(id, record.output_event - 1, 1));
  if (events.empty()) return Json();
  const Json data = Json::parse(events.front().data, nullptr, false);
  return data.is_object() && data.contains("output") ? data["output"] : Json();
}

std::int64_t step_ms(const StepRecord& record, Timestamp now) {
  const bool goes_on = record.status == StepStatus::running || record.status == StepStatus::waiting;
  if (record.duration_ms > 0 && !goes_on) return static_cast<std::int64_t>(record.duration_ms);
  const Timestamp end = goes_on ? now : record.ended;
  if (record.started.us == 0 || end.us == 0) return 0;
  return std::max<std::int64_t>((end.us - record.started.us) / 1000, 0);
}

std::int64_t elapsed_ms(const RunReport& report, Timestamp now) {
  const bool goes_on = report.standing.owner.has_value();
  const std::int64_t since_start_us = (goes_on ? now.us : report.info.updated.us) - report.info.created.us;
  return std::max<std::int64_t>(since_start_us / 1000 - report.paused_ms, 0);
}

void KeptBranches::take(const Event& event) {
  if (event.type != event_type::kBranchesKept) return;
  const Json data = Json::parse(event.data, nullptr, false);
  if (!data.is_object() || !data.contains("branches") || !data["branches"].is_array()) return;
  for (const Json& name : data["branches"]) {
    if (name.is_string() && names_.insert(name.get<std::string>()).second)
      branches_.push_back({name.get<std::string>(), text_in(data, "step")});
  }
}

std::vector<NextAction> next_actions(const RunReport& report) {
  const std::string run = report.info.id.text();
  std::vector<NextAction> actions;
  const RunStatus status = report.standing.status;
  for (const WaitingFor& wait : report.waiting_for) {
    switch (wait.what) {
      case WaitingFor::What::approval: actions.push_back({Advice::approve, {.run = run, .step = wait.step}}); break;
      case WaitingFor::What::signal:
        actions.push_back({Advice::send_signal, {.run = run, .value = wait.detail}});
        break;
      case WaitingFor::What::run: actions.push_back({Advice::show_run, {.run = wait.detail}}); break;
      case WaitingFor::What::budget: actions.push_back({Advice::raise_budget, {.run = run}}); break;
      case WaitingFor::What::timer:
      case WaitingFor::What::breakpoint: break;
    }
  }
  if (status == RunStatus::failed) {
    const auto failed = std::ranges::find(report.steps, StepStatus::failed,
                                          [](const ReportedStep& step) { return step.record.status; });
    actions.push_back({Advice::show_logs, {.run = run, .step = failed == report.steps.end() ? "" : failed->path}});
  }
  const bool dead_letters = std::ranges::any_of(
      report.steps, [](const ReportedStep& step) { return step.record.map && !step.record.map->failed.empty(); });
  if (dead_letters && !report.standing.owner) actions.push_back({Advice::list_dead_letters, {.run = run}});
  const bool budget = !report.waiting_for.empty() && report.waiting_for.front().what == WaitingFor::What::budget;
  const bool resumable = (status == RunStatus::failed && !was_rejected(report.standing.state)) ||
                         status == RunStatus::interrupted || status == RunStatus::waiting;
  const std::string top = report.standing.state.parent_run.empty() ? run : report.standing.state.parent_run;
  const bool exhausted = status == RunStatus::failed && was_exhausted(report.standing.state);
  const Advice onward = exhausted ? Advice::raise_loop_max : Advice::resume;
  if (resumable && !budget && !report.standing.owner) actions.push_back({onward, {.run = top}});
  return actions;
}

Result<std::vector<Event>> some_events(Store& store, const RunReport& report, const EventsWanted& wanted) {
  const std::uint64_t last = report.standing.events;
  const std::uint64_t newest = last > wanted.limit ? last - wanted.limit : 0;
  return store.events(report.info.id, wanted.after.value_or(newest), wanted.limit);
}

}  // namespace pawl
