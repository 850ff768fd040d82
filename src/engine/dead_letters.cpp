#include "engine/dead_letters.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "domain/event_types.hpp"
#include "engine/open_run.hpp"
#include "engine/resume_facts.hpp"
#include "engine/run_events.hpp"
#include "engine/state_edit.hpp"

namespace pawl {
namespace {

using Records = std::vector<std::pair<std::string, StepRecord>>;

std::vector<std::uint64_t> listed(const IndexRanges& ranges) {
  std::vector<std::uint64_t> out;
  for (const auto& [first, last] : ranges.ranges()) {
    for (std::uint64_t index = first; index <= last; ++index) out.push_back(index);
  }
  return out;
}

std::string join_paths(const std::vector<std::string>& paths) { return paths.empty() ? "none" : joined_list(paths); }

std::vector<std::string> maps_of(const RunState& state) {
  std::vector<std::string> paths;
  for (const auto& [path, record] : state.steps) {
    if (record.map) paths.push_back(path);
  }
  return paths;
}

Result<void> refuse_unknown_map(const RunState& state, const RunId& run, const std::string& step) {
  const StepRecord* record = state.find(step);
  if (record != nullptr && record->map) return {};
  return fail(Error{Code::step_not_found,
                    fmt::format("run '{}' has no started map '{}'", run.text(), step),
                    {},
                    fmt::format("its maps: {}", join_paths(maps_of(state))),
                    0});
}

bool within(std::string_view path, std::string_view owner) {
  if (!path.starts_with(owner)) return false;
  return path.size() == owner.size() || path[owner.size()] == '.' || path[owner.size()] == '[';
}

/// Returns the selected map, among those with dead letters.
Result<std::string> choose_map(const RunState& state, const RunId& run, const std::string& step) {
  if (!step.empty()) {
    PAWL_TRY(refuse_unknown_map(state, run, step));
    return step;
  }
  std::vector<std::string> paths;
  for (const auto& [path, record] : state.steps) {
    if (!record.map || record.map->failed.empty()) continue;
    // A map inside a failed item is tried again with that item.
    const bool is_inside =
        std::ranges::any_of(paths, [&](const std::string& outer) { return path != outer && within(path, outer); });
    if (!is_inside) paths.push_back(path);
  }
  if (paths.size() == 1) return paths.front();
  if (paths.empty())
    return fail(Error{Code::not_waiting,
                      fmt::format("run '{}' has no failed items", run.text()),
                      {},
                      {},
                      0,
                      Advice::show_run,
                      {.run = run.text()}});
  return fail(Error{Code::usage,
                    fmt::format("several maps have failed items; name one: {}", joined_list(paths)),
                    {},
                    {},
                    0,
                    Advice::list_dead_letters,
                    {.run = run.text(), .step = paths.front()}});
}

Result<std::vector<std::uint64_t>> choose_indices(const MapProgress& map, const RunId& run, const std::string& step,
                                                  const LetterChoice& choice) {
  const Subject subject{.run = run.text(), .step = step};
  if (choice.scope == LetterChoice::Scope::all) {
    if (map.failed.empty())
      return fail(Error{Code::not_waiting,
                        fmt::format("map '{}' of run '{}' has no failed items", step, run.text()),
                        {},
                        {},
                        0,
                        Advice::list_dead_letters,
                        subject});
    return listed(map.failed);
  }
  const auto not_failed = [&](std::string message) {
    return fail(Error{Code::not_waiting, std::move(message), {}, {}, 0, Advice::list_dead_letters, subject});
  };
  IndexRanges chosen = choice.indices;
  for (const std::uint64_t index : listed(choice.indices)) {
    if (!map.failed.contains(index)) return not_failed(fmt::format("item {} of '{}' has not failed", index, step));
  }
  for (const auto& [first, last] : choice.ranges) {
    bool any = false;
    for (const std::uint64_t index : listed(map.failed)) {
      if (index < first || index > last) continue;
      chosen.add(index);
      any = true;
    }
    if (!any) return not_failed(fmt::format("no item of '{}' in {}-{} has failed", step, first, last));
  }
  return listed(chosen);
}

/// Removes records and corrects the counters.
void forget(RunState& state, const std::function<bool(const std::string& path)>& wanted) {
  Records kept;
  for (auto& entry : state.steps) {
    if (!wanted(entry.first)) {
      kept.push_back(std::move(entry));
      continue;
    }
    std::uint64_t counted = entry.second.status == StepStatus::completed ? 1 : 0;
    if (entry.second.map) counted += entry.second.map->succeeded_count();
    state.completed_steps -= std::min(state.completed_steps, counted);
  }
  state.steps = std::move(kept);
}

/// Resets the map as if these items had not run. Everything computed from its results must run again.
void reopen(RunState& state, const std::string& step, const std::vector<std::uint64_t>& indices) {
  const auto found = std::ranges::find(state.steps, step, &Records::value_type::first);
  StepRecord& record = found->second;
  for (const std::uint64_t index : indices) {
    record.map->done.remove(index);
    record.map->failed.remove(index);
  }
  record.map->trips = 0;
  if (record.status == StepStatus::completed && state.completed_steps > 0) --state.completed_steps;
  record.status = StepStatus::interrupted;
  record.output = Json();
  record.output_event = 0;
  record.error.clear();
  record.clear_reason();
  record.ended = {};
  record.spent = 0;
  // What an item has completed stays completed; the resume opens what failed in it.
  forget(state, [&](const std::string& path) {
    if (path == step || !within(path, step)) return false;
    const std::string_view rest = std::string_view(path).substr(step.size());
    return within(rest, ".reduce") || within(rest, ".on_failure") || within(rest, ".then");
  });
}

const Steps* scope_of(const Workflow& workflow, const std::string& path, std::string& prefix) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string::npos) return &workflow.steps;
  prefix = path.substr(0, dot + 1);
  const Step* owner = find_step(workflow, path.substr(0, dot));
  if (owner == nullptr) return nullptr;
  if (const auto* loop = std::get_if<Loop>(&owner->work)) return loop->steps.get();
  if (const auto* map = std::get_if<Map>(&owner->work)) return map->steps.get();
  return nullptr;
}

/// Adds steps that were added at run time after one of `later`. Returns whether there were any.
bool grow_by_added(const RunState& state, std::set<std::string>& later) {
  const std::size_t before = later.size();
  for (const AddedSteps& added : state.added) {
    bool follows = later.contains(added.after);
    for (const Json& step : added.steps) {
      if (!step.is_object() || !step.contains("id") || !step["id"].is_string()) continue;
      if (const auto needs = step.find("needs"); needs != step.end() && needs->is_array()) {
        for (const Json& need : *needs)
          follows = follows || (need.is_string() && later.contains(need.get<std::string>()));
      }
      if (follows) later.insert(step["id"].get<std::string>());
    }
  }
  return later.size() > before;
}

}  // namespace

std::vector<std::string> later_records(const RunState& state, const Workflow& workflow, const std::string& path) {
  std::string prefix;
  const Steps* scope = scope_of(workflow, path, prefix);
  if (scope == nullptr) return {};
  std::set<std::string> later{path.substr(prefix.size())};  // ids; includes the step itself until the end
  for (bool more = true; more;) {
    more = prefix.empty() && grow_by_added(state, later);
    for (const Step& step : *scope) {
      const bool follows =
          std::ranges::any_of(step.after, [&](std::size_t before) { return later.contains((*scope)[before].id); });
      if (follows && later.insert(step.id).second) more = true;
    }
  }
  later.erase(path.substr(prefix.size()));
  std::vector<std::string> out;
  for (const auto& [other, record] : state.steps) {
    if (std::ranges::any_of(later, [&](const std::string& id) { return within(other, prefix + id); }))
      out.push_back(other);
  }
  return out;
}

namespace {

using Letters = std::map<std::pair<std::string, std::uint64_t>, DeadLetter>;

std::string last_line_of(std::string_view text) {
  while (text.ends_with('\n') || text.ends_with('\r') || text.ends_with(' ')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));  // npos + 1 is 0
}

/// An attempt of item 17 of `pages` is one of `pages[17]` or of a step inside: `pages[17].write`.
void note_last_line(const Event& event, Letters& letters) {
  const Json data = Json::parse(event.data, nullptr, false);
  if (!data.is_object()) return;
  const std::string path = text_in(data, "step");
  for (std::size_t open = path.find('['); open != std::string::npos; open = path.find('[', open + 1)) {
    std::uint64_t index = 0;
    const auto [end, error] = std::from_chars(path.data() + open + 1, path.data() + path.size(), index);
    if (error != std::errc{}) continue;
    const auto found = letters.find({path.substr(0, open), index});
    if (found != letters.end()) found->second.last_line = last_line_of(text_in(data, "log"));
  }
}

}  // namespace

Result<std::vector<DeadLetter>> dead_letters(Store& store, const RunId& run, const std::string& step) {
  PAWL_TRY_ASSIGN(const RunState state, load_state(store, run));
  if (!step.empty()) PAWL_TRY(refuse_unknown_map(state, run, step));
  Letters letters;
  for (const auto& [path, record] : state.steps) {
    if (!record.map || record.map->failed.empty() || (!step.empty() && path != step)) continue;
    for (const std::uint64_t index : listed(record.map->failed))
      letters[{path, index}] = {.step = path, .index = index};
  }
  for (std::uint64_t after = 0; !letters.empty();) {
    PAWL_TRY_ASSIGN(const std::vector<Event> events, store.events(run, after, kEventsPage));
    if (events.empty()) break;
    after = events.back().number;
    for (const Event& event : events) {
      if (event.type == event_type::kAttemptFailed) note_last_line(event, letters);
      if (event.type != event_type::kItemFailed) continue;
      const Json data = Json::parse(event.data, nullptr, false);
      if (!data.is_object() || !data.contains("index") || !data["index"].is_number_unsigned()) continue;
      const auto found = letters.find({text_in(data, "step"), data["index"].get<std::uint64_t>()});
      if (found == letters.end()) continue;
      DeadLetter& letter = found->second;
      letter.item = data.value("item", Json());
      letter.error = text_in(data, "error");
      const auto attempts = data.find("attempts");
      letter.attempts = attempts != data.end() && attempts->is_number_unsigned() ? attempts->get<std::uint64_t>() : 0;
      letter.at = event.created;
    }
  }
  std::vector<DeadLetter> out;
  for (auto& [key, letter] : letters) out.push_back(std::move(letter));
  return out;
}

ItemCounts count_items(Store& store, const Records& records) {
  ItemCounts counts;
  for (const auto& [path, record] : records) {
    if (record.map) {
      counts.failed += record.map->failed_count();
      counts.succeeded += record.map->succeeded_count();
    }
    if (record.child_run.empty()) continue;
    const Result<RunId> child = RunId::parse(record.child_run);
    const Result<RunState> state = child ? load_state(store, *child) : fail(child.error());
    if (!state) continue;
    const ItemCounts inner = count_items(store, state->steps);
    counts.succeeded += inner.succeeded;
    counts.failed += inner.failed;
  }
  return counts;
}

Result<ChangedLetters> retry_letters(Store& store, const RunId& run, const LetterChoice& choice, Dependents dependents,
                                     const WorkflowLoader& load, std::uint64_t state_bytes_max) {
  PAWL_TRY_ASSIGN(StateEdit edit, StateEdit::open(store, run));
  RunState& state = edit.state;
  if (state.status == RunStatus::cancelled)
    return fail(Error{Code::run_ended, fmt::format("run '{}' was cancelled", run.text()), {}, "start a new run", 0});
  ChangedLetters changed;
  PAWL_TRY_ASSIGN(changed.step, choose_map(state, run, choice.step));
  PAWL_TRY_ASSIGN(changed.indices, choose_indices(*state.find(changed.step)->map, run, changed.step, choice));
  if (dependents == Dependents::rerun) {
    PAWL_TRY_ASSIGN(const Workflow workflow, load(state.workflow_file));
    if (workflow.hash != state.workflow_hash)
      return fail(Error{
          Code::workflow_changed,
          "the workflow differs from the one that the run was started with, so the dependents of the map are unknown",
          state.workflow_file, "restore the workflow file, or retry without --rerun-dependents", 0});
    changed.dependents = later_records(state, workflow, changed.step);
    const std::set<std::string> gone(changed.dependents.begin(), changed.dependents.end());
    forget(state, [&](const std::string& path) { return gone.contains(path); });
    std::erase_if(state.added, [&](const AddedSteps& added) { return gone.contains(added.after); });
  }
  reopen(state, changed.step, changed.indices);
  state.status = RunStatus::interrupted;
  // on_failure runs again if the workflow fails again.
  std::erase_if(state.steps, [](const auto& entry) { return entry.first.starts_with("on_failure."); });
  state.error.clear();
  PAWL_TRY(edit.save(Kind::interrupted, Reason::manual, event_type::kDlqRetried,
                     {{"step", changed.step}, {"indices", changed.indices}, {"dependents", changed.dependents}},
                     state_bytes_max));
  return changed;
}

Result<ChangedLetters> drop_letters(Store& store, const RunId& run, const LetterChoice& choice,
                                    std::uint64_t state_bytes_max) {
  PAWL_TRY_ASSIGN(StateEdit edit, StateEdit::open(store, run));
  ChangedLetters changed;
  PAWL_TRY_ASSIGN(changed.step, choose_map(edit.state, run, choice.step));
  const auto found = std::ranges::find(edit.state.steps, changed.step, &Records::value_type::first);
  MapProgress& map = *found->second.map;
  PAWL_TRY_ASSIGN(changed.indices, choose_indices(map, run, changed.step, choice));
  for (const std::uint64_t index : changed.indices) {
    map.failed.remove(index);
    map.dropped.add(index);
  }
  // The status of the run does not change, so the new checkpoint keeps the kind of the last one.
  PAWL_TRY(edit.save(edit.before().kind, Reason::manual, event_type::kDlqDropped,
                     {{"step", changed.step}, {"indices", changed.indices}}, state_bytes_max));
  return changed;
}

}  // namespace pawl
