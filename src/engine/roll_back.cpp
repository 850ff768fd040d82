#include "engine/roll_back.hpp"

#include <algorithm>
#include <set>

#include "domain/event_types.hpp"
#include "domain/rolled_back.hpp"
#include "engine/fork_run.hpp"
#include "engine/resume_facts.hpp"
#include "engine/run_events.hpp"
#include "engine/save.hpp"
#include "engine/state_edit.hpp"
#include "engine/step_ledger.hpp"

namespace pawl {
namespace {

using StepRecords = std::vector<std::pair<std::string, StepRecord>>;

bool is_completed(const StepRecords& records, std::string_view path) {
  return std::ranges::any_of(
      records, [&](const auto& entry) { return entry.first == path && entry.second.status == StepStatus::completed; });
}

/// Returns the path that the event completes: `pages[17]` for an item, otherwise the step; empty if none.
std::string completed_by(const Event& event) {
  if (event.type != event_type::kStepCompleted && event.type != event_type::kItemCompleted) return {};
  const Json data = parse_json(event.data);
  if (!data.is_object() || !data.contains("step") || !data["step"].is_string()) return {};
  std::string path = data["step"].get<std::string>();
  if (event.type == event_type::kItemCompleted) path += fmt::format("[{}]", data.value("index", std::uint64_t{0}));
  return path;
}

/// Returns what was completed since then, according to the state and the events.
Result<std::vector<std::string>> completed_since(Store& store, const RollbackRequest& request, const StepRecords& then,
                                                 const StepRecords& now, std::uint64_t events_then) {
  std::vector<std::string> found;
  std::set<std::string> seen;
  const auto add = [&](const std::string& path) {
    if (!path.empty() && !is_completed(then, path) && seen.insert(path).second) found.push_back(path);
  };
  for (std::uint64_t after = events_then;;) {
    PAWL_TRY_ASSIGN(const std::vector<Event> events, store.events(request.run, after, kEventsPage));
    for (const Event& event : events) {
      after = event.number;
      if (event.sequence > request.to) add(completed_by(event));
    }
    if (events.size() < kEventsPage) break;
  }
  for (const auto& [path, record] : now) {
    if (record.status == StepStatus::completed) add(path);
  }
  return found;
}

Result<void> refuse_rerun(const RollbackRequest& request, const std::vector<std::string>& rerun) {
  if (rerun.empty() || request.rerun == Rerun::accept) return {};
  return fail(Error{Code::steps_would_rerun,
                    fmt::format("a rollback to {}@{} would run completed steps again: {}", request.run.text(),
                                request.to.value, joined_list(rerun)),
                    {},
                    {},
                    0,
                    Advice::roll_back_or_fork,
                    {.run = request.run.text(), .sequence = request.to.value}});
}

Json rollback_facts(const RollbackRequest& request, const RolledBack& done) {
  Json facts = {{"to", request.to.value}, {"rerun", done.rerun}};
  if (!request.by.empty()) facts["by"] = request.by;
  return facts;
}

Result<RolledBack> roll_back_workflow(Store& store, const RollbackRequest& request, const Restored& target,
                                      std::uint64_t state_bytes_max) {
  const Json value = parse_json(target.state);
  PAWL_TRY_ASSIGN(const RunState then, RunState::from_json(value));
  PAWL_TRY_ASSIGN(StateEdit edit, StateEdit::open(store, request.run));
  if (edit.state.status == RunStatus::cancelled) {
    return fail(Error{Code::run_ended,
                      fmt::format("run '{}' was cancelled", request.run.text()),
                      {},
                      {},
                      0,
                      Advice::fork,
                      {.run = request.run.text(), .sequence = request.to.value}});
  }
  RolledBack done;
  PAWL_TRY_ASSIGN(done.rerun, completed_since(store, request, then.steps, edit.state.steps,
                                              value.value("events", std::uint64_t{0})));
  PAWL_TRY(refuse_rerun(request, done.rerun));
  edit.state = rolled_back(then, edit.state);
  edit.state.origin = fmt::format("rolled back to checkpoint {}", request.to.value);
  PAWL_TRY_ASSIGN(done.saved, edit.save(Kind::manual, Reason::manual, event_type::kRolledBack,
                                        rollback_facts(request, done), state_bytes_max));
  return done;
}

/// Opens the run even if checkpoints after the target are damaged.
Result<std::unique_ptr<RunWriter>> open_behind_damage(Store& store, const RunId& run) {
  auto writer = store.open_run(run, {});
  if (writer || category(writer.error().code) == Category::busy || !is_refusal(writer.error().code)) return writer;
  const auto found = store.recover(run, {});
  if (!found) return writer;
  RunOptions options;
  options.fall_back_to = found->checkpoint.info.sequence;
  return store.open_run(run, options);
}

Result<RolledBack> roll_back_other(Store& store, const RollbackRequest& request, const Restored& target, RunKind kind,
                                   std::uint64_t state_bytes_max) {
  PAWL_TRY_ASSIGN(const std::unique_ptr<RunWriter> writer, open_behind_damage(store, request.run));
  RolledBack done;
  std::string text = target.state;
  if (kind == RunKind::steps) {
    Json value = parse_json(text);
    PAWL_TRY_ASSIGN(const LedgerState then, LedgerState::from_json(value));
    PAWL_TRY_ASSIGN(const LedgerState now, load_ledger(store, request.run));
    PAWL_TRY_ASSIGN(done.rerun, completed_since(store, request, then.steps, now.steps, then.events));
    PAWL_TRY(refuse_rerun(request, done.rerun));
    value["events"] = now.events + 1;
    text = compact(value);
  }
  SaveRequest save;
  save.body = text;
  save.status = target.info.status;
  save.duplicates = Duplicates::write;
  save.events.push_back({event_type::kRolledBack, compact(rollback_facts(request, done))});
  PAWL_TRY_ASSIGN(done.saved, checked_save(*writer, save, state_bytes_max));
  PAWL_TRY(writer->flush());
  return done;
}

}  // namespace

Result<RolledBack> roll_back(Store& store, const RollbackRequest& request, std::uint64_t state_bytes_max) {
  PAWL_TRY_ASSIGN(const RunInfo info, store.run(request.run));
  PAWL_TRY_ASSIGN(const Restored target,
                  store.restore(request.run, {.by = Which::By::sequence, .sequence = request.to}));
  const RunKind kind = kind_of(info, target.state);
  if (kind == RunKind::workflow) return roll_back_workflow(store, request, target, state_bytes_max);
  return roll_back_other(store, request, target, kind, state_bytes_max);
}

}  // namespace pawl
