// Maps over many items: streaming, dead letters, circuit breaker, reduce.
#include <algorithm>

#include "base/error_line.hpp"
#include "base/hash.hpp"
#include "codec/json_check.hpp"
#include "domain/event_types.hpp"
#include "engine/execution_parts.hpp"
#include "engine/run_events.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kItemBytesMax = 8ULL << 20;
constexpr std::uint64_t kUnsavedMax = 8'192;  // maximum number of results in one save
constexpr std::uint64_t kMapOutputBytesMax = 64ULL << 20;

std::string item_hash(const Json& item) { return to_hex(sha256(compact(item))).substr(0, 16); }

}  // namespace

Result<void> Execution::read_items(MapRun& map, const std::string& path) {
  // Reads the whole file once to count its lines and to detect changes; then it is streamed.
  PAWL_TRY_ASSIGN(const std::unique_ptr<LineSource> lines, services_.files.lines(path, kItemBytesMax));
  std::string hash;  // of the hash so far and the next line
  std::uint64_t count = 0;
  while (true) {
    PAWL_TRY_ASSIGN(const std::optional<std::string> line, lines->next());
    if (!line) break;
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    const Result<void> checked = check_json(*line, kItemBytesMax);
    if (!checked) {
      Error error = checked.error();
      error.where = fmt::format("{}, item {}", path, count + 1);
      return fail(error);
    }
    hash = to_hex(sha256(hash, *line));
    ++count;
  }
  map.path = path;
  map.items = Json();
  map.line = 0;
  PAWL_TRY_ASSIGN(map.lines, services_.files.lines(path, kItemBytesMax));
  map.total = count;
  map.hash = "sha256:" + hash;
  return {};
}

Result<void> Execution::open_items(Node& node) {
  MapRun& run = *node.map;
  const NodeNames names(*this, *node.scope, &node);
  if (run.map->items_from) {
    PAWL_TRY_ASSIGN(const std::string file, run.map->items_from->render(names));
    PAWL_TRY(read_items(run, services_.files.absolute(file, state_.working_dir)));
  } else {
    PAWL_TRY_ASSIGN(run.items, run.map->items->evaluate(names));
    if (!run.items.is_array())
      return fail(Code::invalid_expression, "`items` is {}, not an array", run.items.type_name());
    run.total = run.items.size();
    run.hash = "sha256:" + to_hex(sha256(compact(run.items)));
  }
  std::optional<MapProgress>& progress = node.record.map;
  if (!progress) {
    progress = MapProgress{.total = run.total, .items_hash = run.hash, .done = {}, .failed = {}, .trips = 0};
  } else if (progress->items_hash != run.hash) {
    return fail(Error{Code::items_changed,
                      fmt::format("the items of '{}' have changed since it started ({} now, {} then)", node.path,
                                  run.total, progress->total),
                      {},
                      "restore the old items, or start a new run",
                      0});
  }
  return {};
}

void Execution::begin_map(Node& node) {
  node.map = std::make_unique<MapRun>();
  node.map->map = &std::get<Map>(node.step->work);
  const bool fresh = !node.record.map;
  if (!fresh && node.retries_items) {  // the map failed, so its failed items run again
    MapProgress& progress = *node.record.map;
    for (const auto& [first, last] : progress.failed.ranges()) {
      for (std::uint64_t index = first; index <= last; ++index) progress.done.remove(index);
    }
    progress.failed = {};
    progress.trips = 0;
  }
  const Result<void> opened = open_items(node);
  if (!opened) {
    if (opened.error().code == Code::items_changed) refusal_ = opened.error();
    return settle_failed(node, describe_in_line(opened.error()), false);
  }
  if (!fresh && node.map->map->steps->size() > 1) {
    if (const Result<void> loaded = load_failed_items(node); !loaded)
      return settle_failed(node, describe_in_line(loaded.error()), true);
  }
  touch(node);
  if (fresh) tell(event_type::kMapStarted, &node, {{"items", node.map->total}, {"parallel", node.map->map->parallel}});
  whisper(event_type::kMapProgress, &node,
          {{"total", node.map->total},
           {"done", node.record.map->done.count()},
           {"failed", node.record.map->failed.count()}});
  persist(Kind::step_start, Reason::before_step, &node);
  if (node.map->map->max_failures && node.record.map->failed.count() > *node.map->map->max_failures)
    node.map->stopped = true;
  when_durable([this, &node] { start_items(node); });
}

/// Loads the completed steps of failed items that will be retried.
Result<void> Execution::load_failed_items(Node& node) {
  const MapProgress& progress = *node.record.map;
  return for_each_result(node, [&](const Json& data) -> Result<void> {
    const Json steps = data.value("steps", Json());
    if (!steps.is_object() || progress.done.contains(data.value("index", UINT64_MAX))) return {};
    for (const auto& [path, value] : steps.items()) {
      PAWL_TRY_ASSIGN(StepRecord record, StepRecord::from_json(value));
      loaded_.try_emplace(path, std::move(record));  // the state is newer
    }
    return {};
  });
}

Result<std::optional<Json>> Execution::next_item(Node& node, std::uint64_t& index) {
  MapRun& run = *node.map;
  const MapProgress& progress = *node.record.map;
  while (true) {
    index = progress.done.next_missing(run.next);
    if (index >= run.total) return std::nullopt;
    run.next = index + 1;
    if (!run.running.contains(index)) break;
  }
  if (!run.lines) return run.items[index];
  while (true) {
    PAWL_TRY_ASSIGN(const std::optional<std::string> line, run.lines->next());
    if (!line) return fail(Code::items_changed, "the items file became shorter while it was read");
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    if (run.line++ == index) {
      Json item = Json::parse(*line, nullptr, false);
      if (item.is_discarded()) return fail(Code::items_changed, "the items file changed while it was read");
      return item;
    }
  }
}

void Execution::start_items(Node& node) {
  MapRun& run = *node.map;
  if (!node.active || run.reducing) return;
  while (!held() && !run.stopped && !run.open && run.unsaved < kUnsavedMax) {
    const std::size_t places = run.probing ? 1 : run.map->parallel;
    if (run.running.size() >= places || attempts_running_ >= services_.parallel_max) break;
    if (over_budget()) {
      budget_reached_ = true;
      break;
    }
    std::uint64_t index = 0;
    Result<std::optional<Json>> item = next_item(node, index);
    if (!item) {
      run.stopped = true;
      run.error = item.error().message;
      break;
    }
    if (!*item) break;
    start_item(node, index, std::move(**item));
  }
  check_map(node);
}

void Execution::start_item(Node& node, std::uint64_t index, Json item) {
  MapRun& run = *node.map;
  std::unique_ptr<Scope> scope =
      make_scope(node.scope, &node, *run.map->steps, fmt::format("{}[{}]", node.path, index));
  Scope& entered = *scope;
  entered.is_item = true;
  entered.item_index = index;
  entered.item_hash = item_hash(item);
  entered.item = std::move(item);
  entered.when_ended = [this, &node, index] { item_ended(node, index); };
  run.running[index] = std::move(scope);
  whisper(event_type::kItemStarted, &node, {{"index", index}});
  enter(entered);
}

void Execution::item_ended(Node& node, std::uint64_t index) {
  MapRun& run = *node.map;
  const auto found = run.running.find(index);
  Scope& scope = *found->second;
  if (held() && scope.unsettled > 0 && !scope.failed) return;
  MapProgress& progress = *node.record.map;
  Json data = {{"index", index}, {"hash", scope.item_hash}, {"status", scope.failed ? "failed" : "completed"}};
  std::uint32_t attempts = 0;
  for (const auto& inner : scope.nodes) attempts = std::max(attempts, inner->record.attempts);
  data["attempts"] = attempts;
  data["item"] = scope.item;
  if (scope.failed) {
    data["error"] = scope.error;
    // A retry of the item keeps its completed steps.
    for (const auto& inner : scope.nodes) {
      if (inner->record.status == StepStatus::completed) data["steps"][inner->path] = inner->record.to_json();
    }
  } else {
    const Result<Json> output = scope.nodes.empty() ? Result<Json>(Json()) : output_of(*scope.nodes.back());
    data["output"] = output.value_or(Json());
    ++state_.completed_steps;
  }
  progress.done.add(index);
  if (scope.failed) progress.failed.add(index);
  note_time(node);
  touch(node);
  tell(scope.failed ? event_type::kItemFailed : event_type::kItemCompleted, &node, std::move(data));
  persist(Kind::step_complete, Reason::after_step, &node);
  ++run.unsaved;
  const bool failed = scope.failed;
  bury(std::move(found->second));
  run.running.erase(index);
  if (failed) {
    item_failed(node);
  } else {
    run.failures_in_a_row = 0;
    run.probing = false;
  }
  start_items(node);
}

void Execution::item_failed(Node& node) {
  MapRun& run = *node.map;
  const std::uint64_t failed = node.record.map->failed.count();
  const bool collects = run.map->on_item_failure == Map::OnItemFailure::dlq;
  const std::uint64_t allowed = run.map->max_failures.value_or(collects ? UINT64_MAX : 0);
  if (failed > allowed && !run.stopped) {
    run.stopped = true;
    run.error = fmt::format("{} of {} items failed (max_failures: {})", failed, run.total, allowed);
  }
  ++run.failures_in_a_row;
  if (run.map->circuit_breaker && (run.probing || run.failures_in_a_row >= run.map->circuit_breaker->failures))
    trip(node);
}

/// Opens the circuit breaker: nothing starts for a while, then one item is tried.
void Execution::trip(Node& node) {
  MapRun& run = *node.map;
  if (run.open || run.stopped) return;
  const CircuitBreaker& breaker = *run.map->circuit_breaker;
  ++node.record.map->trips;
  tell(event_type::kCircuitOpened, &node,
       {{"failures_in_a_row", run.failures_in_a_row}, {"trips", node.record.map->trips}});
  if (node.record.map->trips >= breaker.trips) {
    run.stopped = true;
    run.error = fmt::format("the circuit breaker opened {} times", node.record.map->trips);
    return;
  }
  run.open = true;
  ++timers_;
  node.pausing = true;
  node.pause = loop_.after(std::chrono::microseconds(breaker.cool_down).count(), [this, alive = alive_, &node] {
    if (!*alive || !node.pausing) return;
    node.pausing = false;
    --timers_;
    node.map->open = false;
    node.map->probing = true;
    node.map->failures_in_a_row = 0;
    start_items(node);
  });
}

void Execution::check_map(Node& node) {
  MapRun& run = *node.map;
  if (!node.active || !run.running.empty() || run.open || run.reducing) return;
  const MapProgress& progress = *node.record.map;
  if (run.stopped) return settle_failed(node, run.error.empty() ? "too many items failed" : run.error, false);
  if (progress.done.count() < run.total) return;
  run.reducing = true;
  if (node.step->isolation != Isolation::worktree) return map_items_done(node);
  merge_items(node, 0, [this, &node] {
    if (node.map->stopped) return settle_failed(node, node.map->error, false);
    map_items_done(node);
  });
}

void Execution::map_items_done(Node& node) {
  MapRun& run = *node.map;
  const MapProgress& progress = *node.record.map;
  tell(event_type::kMapCompleted, &node, {{"total", run.total}, {"failed", progress.failed_count()}});
  persist(Kind::step_complete, Reason::after_step, &node);
  // Results are read from events, so the events must be durable first.
  if (!run.map->reduce) {
    return when_durable([this, &node] {
      if (!node.settled) complete(node);
    });
  }
  when_durable([this, &node] { begin_reduce(node); });
}

void Execution::begin_reduce(Node& node) {
  const Result<void> written = write_items_file(node, work_ + "/" + node.path + ".items.jsonl");
  if (!written) return settle_failed(node, describe_in_line(written.error()), true);
  if (!node.map->reduce_steps) node.map->reduce_steps = std::make_unique<Steps>(Steps{*node.map->map->reduce});
  node.inner = make_scope(node.scope, &node, *node.map->reduce_steps, node.path);
  node.inner->is_reduce = true;
  node.inner->when_ended = [this, &node] {
    if (held() && node.inner->unsettled > 0) return;
    node.rejected = node.inner->rejected;
    if (node.inner->failed) return settle_failed(node, node.inner->error, false);
    Result<Json> output = output_of(*node.inner->nodes.front());
    if (!output) return settle_failed(node, output.error().message, false);
    set_output(node, std::move(*output));
    bury(std::move(node.inner));
    services_.files.remove(work_ + "/" + node.path + ".items.jsonl");
    complete(node);
  };
  enter(*node.inner);
}

Result<void> Execution::for_each_result(const Node& node, const std::function<Result<void>(Json)>& use) const {
  std::uint64_t after = 0;
  while (true) {
    PAWL_TRY_ASSIGN(const std::vector<Event> events, services_.store.events(id_, after, kEventsPage));
    if (events.empty()) return {};
    after = events.back().number;
    for (const Event& event : events) {
      if (event.type != event_type::kItemCompleted && event.type != event_type::kItemFailed) continue;
      Json data = Json::parse(event.data, nullptr, false);
      if (!data.is_object() || data.value("step", std::string()) != node.path) continue;
      unmask_keys(data, key_values_);
      PAWL_TRY(use(std::move(data)));
    }
  }
}

/// Writes results in index order. Keeps the positions of the events in memory, not their contents.
Result<void> Execution::write_items_file(Node& node, const std::string& path) {
  struct Span {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };
  const std::string unsorted = path + ".unsorted";
  services_.files.remove(unsorted);
  std::vector<Span> spans(node.record.map->total);
  std::uint64_t offset = 0;
  bool repeated = false;  // a retried item has several results; the last one counts
  std::string block;
  PAWL_TRY(for_each_result(node, [&](Json data) -> Result<void> {
    const auto index = data.value("index", std::uint64_t{0});
    if (index >= spans.size()) return {};
    const Json line = {{"index", index},
                       {"item", data.value("item", Json())},
                       {"status", data.value("status", "")},
                       {"output", data.value("output", Json())},
                       {"error", data.value("error", Json())}};
    const std::string text = compact(line) + "\n";
    repeated = repeated || spans[index].size != 0;
    spans[index] = {offset, text.size()};
    offset += text.size();
    block += text;
    if (block.size() < (1U << 20)) return {};
    return services_.files.append(unsorted, std::exchange(block, {}));
  }));
  PAWL_TRY(services_.files.append(unsorted, block));
  const bool in_order = !repeated && std::ranges::is_sorted(spans, {}, &Span::offset);
  PAWL_TRY(services_.files.write(path, ""));
  block.clear();
  if (in_order) {
    PAWL_TRY_ASSIGN(const auto lines, services_.files.lines(unsorted, kItemBytesMax * 4));
    while (true) {
      PAWL_TRY_ASSIGN(const std::optional<std::string> line, lines->next());
      if (line) block += *line + "\n";
      if (!line || block.size() > (1U << 20)) PAWL_TRY(services_.files.append(path, std::exchange(block, {})));
      if (!line) break;
    }
  } else {
    for (const Span& span : spans) {
      PAWL_TRY_ASSIGN(const std::string text, services_.files.read_range(unsorted, span.offset, span.size));
      block += text;
      if (block.size() > (1U << 20)) PAWL_TRY(services_.files.append(path, std::exchange(block, {})));
    }
    PAWL_TRY(services_.files.append(path, block));
  }
  services_.files.remove(unsorted);
  return {};
}

Result<Json> Execution::map_output(const Node& node) const {
  std::map<std::uint64_t, Json> results;
  std::uint64_t bytes = 0;
  PAWL_TRY(for_each_result(node, [&](Json data) -> Result<void> {
    const auto index = data.value("index", std::uint64_t{0});
    Json line = {{"index", index},
                 {"item", data.value("item", Json())},
                 {"status", data.value("status", "")},
                 {"output", data.value("output", Json())},
                 {"error", data.value("error", Json())}};
    bytes += compact(line).size();
    if (bytes > kMapOutputBytesMax)
      return fail(Error{Code::value_too_large,
                        fmt::format("the results of '{}' have more than {} bytes", node.path, kMapOutputBytesMax),
                        {},
                        "use `reduce`, which receives them as a file",
                        0});
    results[index] = std::move(line);
    return {};
  }));
  Json output = Json::array();
  for (auto& [index, line] : results) output.push_back(std::move(line));
  return output;
}

}  // namespace pawl
