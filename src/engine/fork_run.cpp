#include "engine/fork_run.hpp"

#include <algorithm>

#include "domain/event_types.hpp"
#include "engine/resume_facts.hpp"
#include "engine/run_events.hpp"
#include "engine/save.hpp"
#include "engine/state_edit.hpp"

namespace pawl {
namespace {

constexpr std::size_t kMarkWithin = 64;  // bytes at the beginning of a state

bool is_inside(std::string_view path, std::string_view step) {
  return path == step || (path.starts_with(step) && (path[step.size()] == '.' || path[step.size()] == '['));
}

std::string address(const RunId& run, Sequence sequence) { return fmt::format("{}@{}", run.text(), sequence.value); }

Json changes_json(const std::vector<StateChange>& changes) {
  Json all = Json::object();
  for (const StateChange& change : changes) all[change.text()] = change.value;
  return all;
}

Json fork_facts(const ForkRequest& request) {
  Json facts = {{"from", address(request.parent, request.at)}};
  if (!request.from.empty()) facts["step"] = request.from;
  if (!request.changes.empty()) facts["changes"] = changes_json(request.changes);
  if (!request.by.empty()) facts["by"] = request.by;
  return facts;
}

/// Returns the change of a variable, given as `topic` or `vars.topic`.
Result<StateChange> change_of_variable(const RunState& state, StateChange change) {
  if (change.path.front() == "vars" && change.path.size() > 1) change.path.erase(change.path.begin());
  const std::string& name = change.path.front();
  if (state.vars.contains(name)) {
    if (!state.masked_keys.contains(name)) return change;
    return fail(Error{Code::invalid_change,
                      fmt::format("can't set '{}' in a fork: its value is never saved", name),
                      {},
                      fmt::format("pass it when you resume the fork: --var {}=VALUE", name),
                      0});
  }
  std::vector<std::string> names;
  for (const auto& [known, value] : state.vars.items()) names.push_back(known);
  return fail(
      Error{Code::invalid_change,
            fmt::format("the run has no variable '{}'", name),
            {},
            names.empty() ? std::string("its workflow declares none") : fmt::format("it has: {}", joined_list(names)),
            0});
}

bool is_record(const RunState& state, const StateChange& change) {
  const std::string& name = change.path.front();
  if (name == "vars") return change.path.size() == 1;
  return !state.vars.contains(name) && (state.to_json().contains(name) || name == "steps" || name == "consumed" ||
                                        name == "signals" || name == "events");
}

Error protected_record(const StateChange& change) {
  return Error{Code::record_protected,
               fmt::format("can't set '{}': it is recorded by the engine, and a fork must not change what was "
                           "completed or approved",
                           change.text()),
               {},
               "set variables (--set vars.NAME=VALUE), or fork at an earlier checkpoint",
               0};
}

/// Records the attempt in the run, or sends it to the process that holds the run.
void note_refusal(Store& store, const ForkRequest& request, const Error& why, std::uint64_t state_bytes_max) {
  Json facts = fork_facts(request);
  facts["error"] = why.message;
  Result<StateEdit> edit = StateEdit::open(store, request.parent);
  if (edit) {
    static_cast<void>(edit->save(Kind::manual, Reason::manual, event_type::kForkRefused, facts, state_bytes_max));
    return;
  }
  facts["type"] = event_type::kForkRefused;
  static_cast<void>(checked_post(store, request.parent, compact(facts)));
}

Result<void> change_variables(RunState& state, const ForkRequest& request) {
  for (const StateChange& change : request.changes) {
    if (is_record(state, change)) return fail(protected_record(change));
    PAWL_TRY_ASSIGN(const StateChange variable, change_of_variable(state, change));
    PAWL_TRY(apply_change(state.vars, variable, request.missing));
  }
  return {};
}

Result<void> use_workflow(RunState& state, const ForkRequest& request, Forked& forked, std::vector<NewEvent>& events) {
  const std::string before = state.workflow_hash;
  PAWL_TRY_ASSIGN(forked.dropped, change_workflow(state, *request.workflow));
  // Variables that only the new workflow declares have their defaults.
  Json known = Json::object();
  for (const Variable& variable : request.workflow->vars) {
    if (state.vars.contains(variable.name)) known[variable.name] = state.vars[variable.name];
  }
  PAWL_TRY_ASSIGN(state.vars, resolve_vars(*request.workflow, known));
  events.push_back(
      {event_type::kWorkflowChanged,
       compact({{"before", before}, {"workflow", workflow_facts(*request.workflow)}, {"dropped", forked.dropped}})});
  return {};
}

/// A completed step that the fork runs again does not count as reused.
void uncount(RunState& state, const StepRecord& record) {
  if (record.status != StepStatus::completed) return;
  state.completed_steps -= std::min<std::uint64_t>(state.completed_steps, 1);
  if (record.attempts > 0) state.spent_ms -= std::min(state.spent_ms, record.duration_ms);
}

/// A decision counts once and for one run. In a fork every gate must be decided again, because the steps after it run a
/// second time.
void reopen_gates(RunState& state, Forked& forked) {
  std::erase_if(state.steps, [&](const auto& entry) {
    const bool is_gate = !entry.second.binding.empty();
    if (is_gate) {
      forked.reopened.push_back(entry.first);
      uncount(state, entry.second);
    }
    return is_gate;
  });
}

void begin_anew(RunState& state, const ForkRequest& request) {
  if (!request.from.empty()) {
    std::erase_if(state.steps, [&](const auto& entry) {
      const bool begins_anew = is_inside(entry.first, request.from);
      if (begins_anew) uncount(state, entry.second);
      return begins_anew;
    });
  }
  for (auto& [path, record] : state.steps) {
    if (is_settled(record.status)) continue;
    record.child_run.clear();
    record.child_number = 0;
    record.child_usage = {};
  }
  state.cancelled.reset();
  state.parent_run.clear();
  state.parent_step.clear();
  state.outputs = Json();
  state.inherited = state.usage;
  state.status = RunStatus::interrupted;
  state.error.clear();
  state.origin = fmt::format("forked from {}", address(request.parent, request.at));
}

Result<std::string> forked_workflow(const ForkRequest& request, const Json& value, Forked& forked,
                                    std::vector<NewEvent>& events) {
  PAWL_TRY_ASSIGN(RunState state, RunState::from_json(value));
  std::vector<std::string> gates;  // all gates that the run has reached
  for (const auto& [path, record] : state.steps) {
    if (!record.binding.empty()) gates.push_back(path);
  }
  const bool other = request.workflow && request.workflow->hash != state.workflow_hash;
  if (other) PAWL_TRY(use_workflow(state, request, forked, events));
  PAWL_TRY(change_variables(state, request));
  begin_anew(state, request);
  reopen_gates(state, forked);
  if (other) forked.reopened = std::move(gates);
  Json facts = fork_facts(request);
  if (!forked.reopened.empty()) facts["reopened"] = forked.reopened;
  events.insert(events.begin(), {event_type::kForked, compact(facts)});
  Json out = state.to_json();
  out["events"] = value.value("events", std::uint64_t{0}) + events.size();
  return compact(out);
}

Result<std::string> forked_steps(const ForkRequest& request, Json value, std::vector<NewEvent>& events) {
  if (!request.changes.empty()) return fail(protected_record(request.changes.front()));
  events.push_back({event_type::kForked, compact(fork_facts(request))});
  value["events"] = value.value("events", std::uint64_t{0}) + events.size();
  return compact(value);
}

Result<std::string> forked_state(const ForkRequest& request, const std::string& state, Forked& forked,
                                 std::vector<NewEvent>& events) {
  if (request.workflow && forked.kind != RunKind::workflow) {
    return fail(Error{Code::not_a_workflow_run,
                      fmt::format("run '{}' is not a workflow run, so it can't continue with another workflow",
                                  request.parent.text()),
                      {},
                      {},
                      0});
  }
  if (forked.kind == RunKind::plain) {
    events.push_back({event_type::kForked, compact(fork_facts(request))});
    return request.changes.empty() ? state : changed_state(state, request.changes, request.missing);
  }
  Json value = parse_json(state);
  if (forked.kind == RunKind::steps) return forked_steps(request, std::move(value), events);
  return forked_workflow(request, value, forked, events);
}

}  // namespace

RunKind kind_of(const RunInfo& run, std::string_view state) {
  const std::string_view beginning = state.substr(0, kMarkWithin);
  if (beginning.find("\"steps/1\"") != std::string_view::npos) return RunKind::steps;
  const bool marked = beginning.find("\"run/1\"") != std::string_view::npos;
  return marked && !run.workflow.empty() ? RunKind::workflow : RunKind::plain;
}

Result<Forked> fork_run(Store& store, const ForkRequest& request, std::uint64_t state_bytes_max) {
  PAWL_TRY_ASSIGN(const RunInfo parent, store.run(request.parent));
  PAWL_TRY_ASSIGN(const Restored restored,
                  store.restore(request.parent, {.by = Which::By::sequence, .sequence = request.at}));
  Forked forked{
      .origin = {request.parent, parent.uuid, request.at}, .saved = {}, .kind = kind_of(parent, restored.state)};
  std::vector<NewEvent> events;
  const Result<std::string> state = forked_state(request, restored.state, forked, events);
  if (!state) {
    const bool evasive = state.error().code == Code::record_protected || state.error().code == Code::gate_in_the_way;
    if (evasive && forked.kind == RunKind::workflow) note_refusal(store, request, state.error(), state_bytes_max);
    if (state.error().advice == Advice::none || !state.error().subject.run.empty()) return fail(state.error());
    return fail(with_other_advice(state.error(), state.error().advice,
                                  {.run = request.parent.text(), .sequence = request.at.value}));
  }
  RunOptions options;
  if (request.workflow) {
    options.workflow = request.workflow->file.empty() ? request.workflow->name : request.workflow->file;
    options.workflow_hash = request.workflow->hash;
  }
  PAWL_TRY_ASSIGN(const std::unique_ptr<RunWriter> writer, store.fork(request.parent, request.at, request.id, options));
  SaveRequest save;
  save.body = *state;
  save.duplicates = Duplicates::write;
  save.status = Status::active;  // it continues, whatever the status of its parent run
  save.events = std::move(events);
  PAWL_TRY_ASSIGN(forked.saved, checked_save(*writer, save, state_bytes_max));
  PAWL_TRY(writer->flush());
  if (writer->info().fork_of_run != parent.uuid) {  // forked from an ancestor, whose name is unknown here
    PAWL_TRY_ASSIGN(const auto origin, store.origin_of(request.id));
    if (origin) forked.origin = *origin;
  }
  return forked;
}

Result<Sequence> checkpoint_before(Store& store, const RunId& run, const std::string& step) {
  PAWL_TRY_ASSIGN(const Restored latest, store.restore(run, {}));
  PAWL_TRY_ASSIGN(const RunInfo info, store.run(run));
  const RunKind kind = kind_of(info, latest.state);
  if (kind == RunKind::plain) {
    return fail(Error{Code::not_a_workflow_run,
                      fmt::format("run '{}' has no steps", run.text()),
                      {},
                      "name a checkpoint",
                      0,
                      Advice::fork,
                      {.run = run.text()}});
  }
  std::optional<Sequence> found;
  for (std::uint64_t after = 0;;) {
    PAWL_TRY_ASSIGN(const std::vector<Event> events, store.events(run, after, kEventsPage));
    for (const Event& event : events) {
      after = event.number;
      if (event.type == event_type::kRolledBack) found.reset();
      const Json data = parse_json(event.data);
      if (!found && event.type != event_type::kForked && data.is_object() && data.value("step", Json()) == Json(step))
        found = event.sequence;
    }
    if (events.size() < kEventsPage) break;
  }
  // A ledger records a step when it ends, so the checkpoint before that one is before the step.
  if (found && kind == RunKind::steps && found->value > 1) --found->value;
  if (found) return *found;
  return fail(Error{Code::step_not_found,
                    fmt::format("step '{}' of run '{}' has not started", step, run.text()),
                    {},
                    {},
                    0,
                    Advice::show_run,
                    {.run = run.text()}});
}

}  // namespace pawl
