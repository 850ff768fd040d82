#include "engine/old_runs.hpp"

#include <algorithm>
#include <set>

#include "domain/event_types.hpp"
#include "engine/run_events.hpp"

namespace pawl {
namespace {

/// Returns whether the item has failed or is unfinished, so that it may run again.
bool may_run_again(const RunState& state, const Json& data) {
  const StepRecord* map = state.find(text_in(data, "step"));
  if (map == nullptr || !map->map) return false;
  const auto index = data.value("index", UINT64_MAX);
  return map->map->failed.contains(index) || !map->map->done.contains(index);
}

}  // namespace

Result<void> add_failed_items(Store& store, const RunId& run, RunState& state) {
  const bool has_maps =
      std::ranges::any_of(state.steps, [](const auto& entry) { return entry.second.map.has_value(); });
  if (state.records > 0 || !has_maps) return {};
  std::set<std::string, std::less<>> known;
  for (const auto& [path, record] : state.steps) known.insert(path);
  for (std::uint64_t after = 0;;) {
    PAWL_TRY_ASSIGN(const std::vector<Event> events, store.events(run, after, kEventsPage));
    if (events.empty()) return {};
    after = events.back().number;
    for (const Event& event : events) {
      if (event.type != event_type::kItemFailed) continue;
      const Json data = Json::parse(event.data, nullptr, false);
      if (!data.is_object() || !data.contains("steps") || !data["steps"].is_object()) continue;
      if (!may_run_again(state, data)) continue;
      for (const auto& [path, value] : data["steps"].items()) {
        PAWL_TRY_ASSIGN(StepRecord record, StepRecord::from_json(value));
        if (known.insert(path).second) state.steps.emplace_back(path, std::move(record));
      }
    }
  }
}

}  // namespace pawl
