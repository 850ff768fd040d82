#include "engine/durable_steps.hpp"

#include <algorithm>
#include <thread>

#include "base/error_line.hpp"
#include "base/hash.hpp"
#include "base/mutex.hpp"
#include "codec/json_check.hpp"
#include "domain/event_types.hpp"
#include "engine/run_events.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kStepResultBytesMax = 3ULL << 20;  // as text in an event it may need twice the space
constexpr std::uint64_t kBatchBytesMax = 8ULL << 20;       // of results that share one save

/// Turns an exception of the program's function into its error.
Result<std::string> call_guarded(const std::function<Result<std::string>()>& fn) {
  try {
    Result<std::string> result = fn();
    if (!result) return result;
    if (const Result<void> checked = check_json(*result, kStepResultBytesMax); !checked) return fail(checked.error());
    return result;
  } catch (const std::exception& thrown) {
    return fail(Code::step_failed, "exception: {}", thrown.what());
  } catch (...) {
    return fail(Code::step_failed, "exception of an unknown type");
  }
}

std::string items_hash(std::span<const std::string> items) {
  Sha256Stream hash;
  for (const std::string& item : items) {
    hash.add(std::to_string(item.size()) + ":");
    hash.add(item);
  }
  return "sha256:" + to_hex(hash.finish());
}

struct ItemResult {
  std::uint64_t index = 0;
  std::string text;
};

/// The remaining items, the threads that process them, and results that are not yet in the ledger.
class ItemPool {
 public:
  ItemPool(std::span<const std::string> items, const DurableSteps::ItemFunction& fn, const IndexRanges& done)
      : items_(items), fn_(fn), done_(done), next_(done.next_missing(0)) {}
  ItemPool(const ItemPool&) = delete;
  ItemPool& operator=(const ItemPool&) = delete;
  ~ItemPool() {
    stop();
    for (std::thread& thread : threads_) thread.join();
  }

  void start(std::size_t parallel) {
    {
      const Lock lock(mutex_);
      working_ = parallel;
    }
    for (std::size_t i = 0; i < parallel; ++i) threads_.emplace_back([this] { work(); });
  }

  /// Returns the results since the last call; empty when there will be no more.
  std::vector<ItemResult> take() {
    Lock lock(mutex_);
    while (results_.empty() && working_ > 0) changed_.wait(lock);
    bytes_ = 0;
    room_.notify_all();
    return std::exchange(results_, {});
  }
  void stop() {
    const Lock lock(mutex_);
    stopped_ = true;
    room_.notify_all();
  }
  [[nodiscard]] std::optional<Error> error() {
    const Lock lock(mutex_);
    return error_;
  }

 private:
  void work() {
    Lock lock(mutex_);
    while (true) {
      while (bytes_ > kBatchBytesMax && !stopped_) room_.wait(lock);
      if (stopped_ || next_ >= items_.size()) break;
      const std::uint64_t index = next_;
      next_ = done_.next_missing(index + 1);
      lock.unlock();
      Result<std::string> result = call_guarded([&] { return fn_(items_[index], index); });
      lock.lock();
      if (!result) {
        stopped_ = true;
        if (!error_) error_ = at(result.error(), fmt::format("item {}", index));
        break;
      }
      bytes_ += result->size();
      results_.push_back({index, std::move(*result)});
      changed_.notify_one();
    }
    --working_;
    changed_.notify_one();
  }

  const std::span<const std::string> items_;
  const DurableSteps::ItemFunction& fn_;
  const IndexRanges& done_;
  Mutex mutex_;
  Condition changed_;
  Condition room_;
  std::uint64_t next_ PAWL_GUARDED_BY(mutex_);
  std::vector<ItemResult> results_ PAWL_GUARDED_BY(mutex_);
  std::uint64_t bytes_ PAWL_GUARDED_BY(mutex_) = 0;
  std::size_t working_ PAWL_GUARDED_BY(mutex_) = 0;
  bool stopped_ PAWL_GUARDED_BY(mutex_) = false;
  std::optional<Error> error_ PAWL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

Result<void> record_items(StepLedger& ledger, const std::string& name, std::span<const ItemResult> results) {
  return ledger.update([&](LedgerState& state, LedgerChange& change) -> Result<void> {
    StepRecord& record = state.at(name);
    if (!record.map) return fail(Code::state_reconstruction_failed, "map '{}' is missing in the ledger", name);
    change.step = name;
    for (const ItemResult& result : results) {
      record.map->done.add(result.index);
      change.events.push_back(
          {event_type::kItemCompleted,
           compact({{"step", name}, {"index", result.index}, {"output", {{"text", result.text}}}})});
    }
    return {};
  });
}

}  // namespace

Result<DurableSteps> DurableSteps::open(const DurableServices& services, const RunId& run) {
  StepLedger ledger(services.store, services.clock, run);
  PAWL_TRY_ASSIGN(const Uuid uuid, ledger.open());
  PAWL_TRY(ledger.load());
  PAWL_TRY_ASSIGN(std::string folder, services.store.local_folder(run));
  return DurableSteps(services, run, uuid, std::move(folder));
}

Result<std::unique_ptr<StepLock>> DurableSteps::lock(const std::string& name) const {
  Result<std::unique_ptr<StepLock>> held = services_.lock(fmt::format("{}/step-{}.lock", folder_, name));
  if (!held && held.error().code == Code::step_busy) return fail(busy_step(held.error(), run_, name));
  return held;
}

Result<std::string> DurableSteps::recorded(const std::string& name, const StepRecord& record) const {
  std::string text;
  PAWL_TRY(ledger().replay(name, record, services_.files, [&](std::string_view bytes) { text += bytes; }));
  return text;
}

Result<std::string> DurableSteps::step(const std::string& name, const std::function<Result<std::string>()>& fn) {
  PAWL_TRY(check_step_name(name));
  PAWL_TRY_ASSIGN(LedgerState state, ledger().load());
  const auto done = [&] {
    const StepRecord* record = state.find(name);
    return record != nullptr && record->status == StepStatus::completed;
  };
  if (done()) return recorded(name, *state.find(name));
  PAWL_TRY_ASSIGN(const std::unique_ptr<StepLock> held, lock(name));
  PAWL_TRY_ASSIGN(state, ledger().load());
  if (done()) return recorded(name, *state.find(name));  // by the previous holder of the lock
  const std::int64_t began_us = services_.clock.monotonic_us();
  if (const StepRecord* known = state.find(name); known != nullptr && known->map)
    return fail(Error{Code::items_changed,
                      fmt::format("'{}' is a map of this run, not a step", name),
                      {},
                      "choose another name for the step",
                      0});
  Result<std::string> result = call_guarded(fn);
  if (!result) result = fail(at(result.error(), "step " + name));
  PAWL_TRY(record(name, result, services_.clock.monotonic_us() - began_us));
  return result;
}

Result<void> DurableSteps::record(const std::string& name, const Result<std::string>& result,
                                  std::int64_t took_us) const {
  return ledger().update([&](LedgerState& state, LedgerChange& change) -> Result<void> {
    StepRecord& record = state.at(name);
    const std::uint32_t attempt = record.attempts + 1;
    const std::uint64_t earlier_ms = record.duration_ms;
    record = StepRecord();
    record.attempts = record.starts = record.spent = attempt;
    record.status = result ? StepStatus::completed : StepStatus::failed;
    record.ended = services_.clock.now();
    record.duration_ms = earlier_ms + static_cast<std::uint64_t>(took_us / 1000);
    change.step = name;
    Json data = {{"step", name}, {"attempt", record.attempts}, {"ms", record.duration_ms}};
    if (result) {
      place_output(state, change, record, output_json(*result), std::move(data), event_type::kStepCompleted);
      return {};
    }
    record.error = describe_in_line(result.error());
    data["error"] = record.error;
    change.kind = Kind::error;
    change.reason = Reason::step_failed;
    change.events.push_back({event_type::kAttemptFailed, compact(data)});
    return {};
  });
}

/// Records the items of a new map. Returns the indices that already have a result.
Result<IndexRanges> DurableSteps::begin_map(const std::string& name, std::span<const std::string> items) const {
  const std::string hash = items_hash(items);
  PAWL_TRY_ASSIGN(const LedgerState state, ledger().load());
  const StepRecord* known = state.find(name);
  if (known != nullptr) {
    if (!known->map)
      return fail(Error{Code::items_changed,
                        fmt::format("'{}' is a step of this run, not a map", name),
                        {},
                        "choose another name for the map",
                        0});
    if (known->map->items_hash != hash) {
      return fail(Error{Code::items_changed,
                        fmt::format("the items of '{}' have changed since it started ({} now, {} then)", name,
                                    items.size(), known->map->total),
                        {},
                        "restore the old items, or choose another name for the map",
                        0});
    }
    return known->map->done;
  }
  PAWL_TRY(ledger().update([&](LedgerState& fresh, LedgerChange& change) -> Result<void> {
    StepRecord& record = fresh.at(name);
    record.status = StepStatus::running;
    record.started = services_.clock.now();
    record.map = MapProgress{.total = items.size(), .items_hash = hash, .done = {}, .failed = {}, .trips = 0};
    change.kind = Kind::step_start;
    change.reason = Reason::before_step;
    change.step = name;
    change.events.push_back({event_type::kMapStarted, compact({{"step", name}, {"items", items.size()}})});
    return {};
  }));
  return IndexRanges();
}

Result<void> DurableSteps::finish_map(const std::string& name) const {
  return ledger().update([&](LedgerState& state, LedgerChange& change) -> Result<void> {
    StepRecord& record = state.at(name);
    record.status = StepStatus::completed;
    record.ended = services_.clock.now();
    change.step = name;
    change.events.push_back(
        {event_type::kMapCompleted, compact({{"step", name}, {"total", record.map ? record.map->total : 0}})});
    return {};
  });
}

Result<std::vector<std::string>> DurableSteps::map_results(const std::string& name, std::size_t count) const {
  std::vector<std::string> results(count);
  std::vector<bool> seen(count);
  std::uint64_t after = 0;
  while (true) {
    PAWL_TRY_ASSIGN(const std::vector<Event> events, services_.store.events(run_, after, kEventsPage));
    if (events.empty()) break;
    after = events.back().number;
    for (const Event& event : events) {
      if (event.type != event_type::kItemCompleted) continue;
      const Json data = Json::parse(event.data, nullptr, false);
      if (!data.is_object() || data.value("step", Json()) != Json(name)) continue;
      const Json index = data.value("index", Json());
      const Json output = data.value("output", Json());
      if (!index.is_number_unsigned() || index.get<std::uint64_t>() >= count || !output.is_object() ||
          !output.contains("text") || !output["text"].is_string())
        return fail(Code::event_replay_failed, "can't read event {} of map '{}'", event.number, name);
      results[index.get<std::size_t>()] = output["text"].get<std::string>();
      seen[index.get<std::size_t>()] = true;
    }
  }
  if (const auto missing = std::ranges::find(seen, false); missing != seen.end())
    return fail(Code::event_replay_failed, "the result of item {} of '{}' is missing", missing - seen.begin(), name);
  return results;
}

Result<std::vector<std::string>> DurableSteps::map(const std::string& name, std::span<const std::string> items,
                                                   const ItemFunction& fn, std::size_t parallel) {
  PAWL_TRY(check_step_name(name));
  PAWL_TRY_ASSIGN(const std::unique_ptr<StepLock> held, lock(name));
  PAWL_TRY_ASSIGN(const IndexRanges done, begin_map(name, items));
  if (done.count() < items.size()) {
    StepLedger book = ledger();
    ItemPool pool(items, fn, done);
    pool.start(std::min(std::max<std::size_t>(parallel, 1), items.size()));
    while (true) {
      const std::vector<ItemResult> results = pool.take();
      if (results.empty()) break;
      for (std::size_t at = 0; at < results.size();) {
        std::size_t end = at;
        for (std::uint64_t bytes = 0;
             end < results.size() && (bytes += results[end].text.size() + 64) <= kBatchBytesMax;)
          ++end;
        PAWL_TRY(record_items(book, name, std::span(results).subspan(at, end - at)));
        at = end;
      }
    }
    if (const std::optional<Error> error = pool.error()) return fail(*error);
  }
  PAWL_TRY_ASSIGN(const LedgerState state, ledger().load());
  if (const StepRecord* record = state.find(name); record == nullptr || record->status != StepStatus::completed)
    PAWL_TRY(finish_map(name));
  return map_results(name, items.size());
}

}  // namespace pawl
