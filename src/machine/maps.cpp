// Maps over many items.
#include <algorithm>
#include <utility>

#include "base/hash.hpp"
#include "machine/turn.hpp"

namespace pawl::machine {
namespace {

const Map& map_of(const Node& node) { return std::get<Map>(node.step->work); }

std::uint64_t hash_at(const MapState& map, std::uint64_t index) {
  if (map.item_hashes != nullptr) return (*map.item_hashes)[index];
  return hash_of_item((*map.items)[index]);
}

/// Returns the finished items that still exist unchanged.
IndexRanges kept_items(const Node& node, const std::map<std::uint64_t, std::uint64_t>& hashes) {
  IndexRanges kept;
  for (const auto& [index, hash] : hashes) {
    const bool exists = index < node.map->total && node.record.map->done.contains(index);
    if (exists && hash_at(*node.map, index) == hash) kept.add(index);
  }
  return kept;
}

std::optional<std::string> too_many_failed(const Node& node) {
  const Map& map = map_of(node);
  const std::uint64_t failed = node.record.map->failed.count();
  const bool collects = map.on_item_failure == Map::OnItemFailure::dlq;
  const bool limited = map.max_failures || map.max_failures_percent;
  if (failed > map.max_failures.value_or(collects || limited ? UINT64_MAX : 0))
    return fmt::format("{} of {} items failed (max_failures: {})", failed, node.map->total,
                       map.max_failures.value_or(0));
  const double share =
      100.0 * static_cast<double>(failed) / static_cast<double>(std::max<std::uint64_t>(node.map->total, 1));
  if (map.max_failures_percent && share > *map.max_failures_percent)
    return fmt::format("{} of {} items failed (max_failures: {}%)", failed, node.map->total, *map.max_failures_percent);
  return std::nullopt;
}

/// No item starts until the circuit breaker has cooled down, also after a resume.
void cool_down(Turn& t, Node& node) {
  node.map->open = true;
  set_activity(t.s, node, Activity::cooling_down);
  node.wait_timer = set_timer(t, TimerKind::cool_down, node.id, node.record.due);
}

/// Stops the map if too many items have failed. Running items may fail after that and count, too.
void note_failures(Node& node) {
  MapState& map = *node.map;
  if (map.stopped && !map.too_many_failed) return;
  const auto error = too_many_failed(node);
  if (!error) return;
  map.stopped = map.too_many_failed = true;
  map.error = *error;
}

void begin_items(Turn& t, Node& node) {
  MapState& map = *node.map;
  announce_map_progress(t, node);
  map.next = 0;
  set_activity(t.s, node, Activity::inner);
  note_failures(node);
  if (!map.stopped && map_of(node).circuit_breaker && node.record.due > t.now) return cool_down(t, node);
  t.tasks.push_back({Task::What::start_items, node.id, node.scope});
}

void record_opened(Turn& t, Node& node, const IndexRanges& kept) {
  const MapState& map = *node.map;
  const bool known = node.record.map && !node.record.map->items_hash.empty();
  record(t,
         recorded::MapOpened{.path = node.path, .total = map.total, .items_hash = map.items_hash, .kept = kept.text()});
  label(t, Kind::step_start, Reason::before_step, &node);
  if (!known) announce_map(t, node);
  begin_items(t, node);
}

/// The items are known: refuses changed ones, and starts.
void open_map(Turn& t, Node& node, std::string hash) {
  MapState& map = *node.map;
  map.items_hash = std::move(hash);
  const bool known = node.record.map && !node.record.map->items_hash.empty();
  if (known && node.record.map->items_hash == map.items_hash) return begin_items(t, node);
  if (known && !t.s.changes_accepted) {
    return refuse_run(t, Refusal::items,
                      fmt::format("the items of '{}' have changed since it started ({} now, {} then)", node.path,
                                  map.total, node.record.map->total));
  }
  if (!known || node.record.map->done.empty()) return record_opened(t, node, {});
  set_activity(t.s, node, Activity::loading);
  when_durable(t, command::LoadFinished{node.id, node.path});
}

/// Returns the next item to start, or the number of items. A stopped map finishes the items that an earlier execution
/// began, and starts no other.
std::uint64_t next_index(Node& node) {
  MapState& map = *node.map;
  const auto waits = [&](std::uint64_t index) {
    return !node.record.map->done.contains(index) && !map.running.contains(index) && !map.loading.contains(index);
  };
  if (map.stopped) {
    for (const auto& [key, scope] : node.inner) {
      if (key.first == ScopeKind::item && key.second < map.total && waits(key.second)) return key.second;
    }
    return map.total;
  }
  while (true) {
    const std::uint64_t index = node.record.map->done.next_missing(map.next);
    if (index >= map.total) return map.total;
    map.next = index + 1;
    if (waits(index)) return index;
  }
}

void start_item(Turn& t, Node& node, std::uint64_t index, std::uint64_t hash, Json item) {
  Scope& scope = open_scope(t.s, &node, ScopeKind::item, index);
  scope.item_hash = hash;
  scope.item = std::make_shared<const Json>(std::move(item));
  node.map->running.insert(index);
  announce_item(t, node, index);
  enter(t, scope);
}

void reduce(Turn& t, Node& node) {
  if (node.step->isolation == Isolation::worktree && !node.map->merged) {
    set_activity(t.s, node, Activity::merging);
    return when_durable(t, command::MergeItems{node.id});
  }
  node.map->reducing = true;
  announce_ended_items(t, node);
  label(t, Kind::step_complete, Reason::after_step, &node);
  if (map_of(node).reduce == nullptr) return complete(t, node, Json());
  enter(t, open_scope(t.s, &node, ScopeKind::reduce, 0));
}

void check_map(Turn& t, Node& node) {
  MapState& map = *node.map;
  if (!node.active || node.activity != Activity::inner || node.record.aside != Aside::none || map.reducing) return;
  if (!map.running.empty() || !map.loading.empty() || map.open) return;
  if (node.stop == Stop::none && map.stopped && next_index(node) < map.total) return;  // it can't start yet
  if (node.stop == Stop::fail_fast || node.stop == Stop::deadline) return stopped(t, node);
  if (node.stop != Stop::none) return;
  if (map.stopped) return fail_step(t, node, map.error.empty() ? "too many items failed" : map.error, false);
  if (node.record.map->done.count() >= map.total) reduce(t, node);
}

/// Opens the circuit breaker: nothing starts for a while, then one item is tried.
void trip(Turn& t, Node& node) {
  MapState& map = *node.map;
  if (map.open || map.stopped) return;
  const CircuitBreaker& breaker = *map_of(node).circuit_breaker;
  record(t, recorded::CircuitOpened{.path = node.path, .due = after(t, breaker.cool_down)});
  announce_open_circuit(t, node);
  if (node.record.map->trips >= breaker.trips) {
    map.stopped = true;
    map.error = fmt::format("the circuit breaker opened {}",
                            breaker.trips == 1 ? "once" : fmt::format("{} times", node.record.map->trips));
    return;
  }
  cool_down(t, node);
}

void item_failed(Turn& t, Node& node) {
  MapState& map = *node.map;
  note_failures(node);
  ++map.failures_in_a_row;
  const auto& breaker = map_of(node).circuit_breaker;
  if (breaker && (map.probing || map.failures_in_a_row >= breaker->failures)) trip(t, node);
}

}  // namespace

void begin_map(Turn& t, Node& node) {
  const Map& map = map_of(node);
  MapState& state = *node.map;
  const StateNames names(t.s, scope_at(t.s, node.scope), &node);
  if (map.items_from) {
    const Result<std::string> file = map.items_from->render(names);
    if (!file) return fail_step(t, node, file.error().message, false);
    set_activity(t.s, node, Activity::loading);
    t.out.push_back(command::LoadItems{node.id, *file});
    return;
  }
  Result<Json> items = map.items->evaluate(names);
  if (!items) return fail_step(t, node, items.error().message, false);
  if (!items->is_array())
    return fail_step(t, node, fmt::format("`items` is {}, not an array", items->type_name()), false);
  state.total = items->size();
  const std::string hash = "sha256:" + to_hex(sha256(compact(*items)));
  state.items = std::make_shared<const Json>(std::move(*items));
  open_map(t, node, hash);
}

void handle(Turn& t, const fact::ItemsLoaded& f) {
  Node* node = find_node(t.s, f.node);
  if (node == nullptr || node->activity != Activity::loading || !node->map) return;
  set_activity(t.s, *node, Activity::idle);
  if (!f.error.empty()) return fail_step(t, *node, f.error, false);
  node->map->item_hashes = f.item_hashes;
  node->map->total = f.item_hashes->size();
  open_map(t, *node, f.hash);
}

void handle(Turn& t, const fact::FinishedLoaded& f) {
  Node* node = find_node(t.s, f.node);
  if (node == nullptr || node->activity != Activity::loading || !node->map || !node->record.map) return;
  set_activity(t.s, *node, Activity::idle);
  if (!f.error.empty()) return hold_run(t, Hold::machine, f.error);
  record_opened(t, *node, kept_items(*node, *f.hashes));
}

void start_items(Turn& t, Node& node) {
  MapState& map = *node.map;
  if (!node.active || node.activity != Activity::inner || node.record.aside != Aside::none || map.reducing) return;
  const Scope& outer = scope_at(t.s, node.scope);
  while (!map.open && node.stop == Stop::none && may_start(t, outer)) {
    const std::size_t places = map.probing ? 1 : map_of(node).parallel;
    if (map.running.size() + map.loading.size() >= places) break;
    const std::uint64_t index = next_index(node);
    if (index >= map.total) break;
    if (map.items != nullptr) {
      const Json& item = (*map.items)[index];
      start_item(t, node, index, hash_of_item(item), item);
      continue;
    }
    map.loading.insert(index);
    t.out.push_back(command::LoadItem{node.id, index});
  }
  const std::uint64_t begun = node.record.map->done.count() + map.running.size() + map.loading.size();
  if (begun < map.total && !map.open && !map.stopped) announce_budget(t, node);
  check_map(t, node);
}

void handle(Turn& t, const fact::ItemLoaded& f) {
  Node* node = find_node(t.s, f.node);
  if (node == nullptr || !node->map || node->map->loading.erase(f.index) == 0) return;
  MapState& map = *node->map;
  const bool begun = find_scope(t.s, *node, ScopeKind::item, f.index) != nullptr;
  const bool wanted = node->active && (begun || !map.stopped) && node->stop == Stop::none;
  const std::uint64_t hash = wanted && f.error.empty() ? hash_of_item(f.item) : 0;
  if (!f.error.empty() || (wanted && hash != (*map.item_hashes)[f.index])) {
    map.stopped = true;
    map.error = f.error.empty() ? "the items file changed while it was read" : f.error;
  } else if (wanted) {
    start_item(t, *node, f.index, hash, f.item);
  }
  t.tasks.push_back({Task::What::start_items, node->id, node->scope});
}

void handle(Turn& t, const fact::ItemsMerged& f) {
  Node* node = find_node(t.s, f.node);
  if (node == nullptr || node->activity != Activity::merging) return;
  node->map->merged = f.trouble.empty();
  set_activity(t.s, *node, Activity::inner);
  for (const auto& [index, error] : f.conflicts) {
    const Scope* scope = find_scope(t.s, *node, ScopeKind::item, index);
    recorded::ItemEnded ended{
        .path = node->path, .index = index, .hash = hash_at(*node->map, index), .failed = true, .error = error};
    if (node->map->items != nullptr) ended.item = std::make_shared<const Json>((*node->map->items)[index]);
    announce_ended_item(t, *node, scope, ended);
    record(t, std::move(ended));
    label(t, Kind::step_complete, Reason::after_step, node);
    item_failed(t, *node);
  }
  if (node->stop == Stop::interrupt || node->stop == Stop::cancel) return stopped(t, *node);
  if (!f.trouble.empty()) return pause_for_machine(t, *node, f.trouble);
  t.tasks.push_back({Task::What::start_items, node->id, node->scope});
}

void item_ended(Turn& t, Node& node, Scope& scope) {
  MapState& map = *node.map;
  const Node* last = scope.nodes.empty() ? nullptr : &node_at(t.s, scope.nodes.back());
  if (!scope.failed && !scope.stopping && last != nullptr && needs_loading(*last) &&
      last->record.status == StepStatus::completed && !nodes_ready(t, {last->id}, node.id)) {
    scope.ended = false;  // checked again when it is loaded
    return;
  }
  map.running.erase(scope.index);
  t.tasks.push_back({Task::What::start_items, node.id, node.scope});
  if (scope.stopping) {  // it runs again after a resume
    scope.entered = false;
    return;
  }
  recorded::ItemEnded ended{.path = node.path, .index = scope.index, .hash = scope.item_hash, .failed = scope.failed};
  ended.item = scope.item;
  if (scope.failed) {
    ended.error = scope.error;
    scope.entered = false;
  } else if (last != nullptr) {
    ended.output_of = last->record.output_event;
    if (ended.output_of == 0)
      ended.output = last->output != nullptr ? last->output : std::make_shared<const Json>(last->record.output);
  }
  const bool failed = scope.failed;
  announce_ended_item(t, node, &scope, ended);
  record(t, std::move(ended));
  label(t, Kind::step_complete, Reason::after_step, &node);
  if (failed) return item_failed(t, node);
  map.failures_in_a_row = 0;
  map.probing = false;
}

void reduce_ended(Turn& t, Node& node, Scope& scope) {
  if (scope.failed) {
    const StepReason reason = scope.rejected ? StepReason::rejected : StepReason::none;
    return fail_step(t, node, std::string(scope.error), false, reason);
  }
  const Node& last = node_at(t.s, scope.nodes.front());
  complete(t, node, last.record.output_event == 0 ? last.record.output : Json(), last.record.output_event);
}

}  // namespace pawl::machine
