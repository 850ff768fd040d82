#include "engine/durable_steps.hpp"

#include <algorithm>
#include <thread>

#include "base/error_line.hpp"
#include "base/hash.hpp"
#include "base/thread_name.hpp"
#include "codec/json_check.hpp"
#include "domain/event_types.hpp"
#include "engine/run_events.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kStepResultBytesMax = 3ULL << 20;  // as text in an event it may need twice the space
constexpr std::uint64_t kBatchBytesMax = 8ULL << 20;       // of results that share one save
constexpr std::size_t kChangesMax = 500;                   // that share one save
constexpr std::int64_t kLendLook_us = 20'000;   // how often the lender looks whether somebody waits for the run
constexpr std::int64_t kLendIdle_us = 200'000;  // an unused run is lent after this time
constexpr std::int64_t kLetGoMax_us = 100'000;  // how long whoever was waiting may take to get the run
constexpr std::int64_t kLetGoStep_us = 1'000;

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

}  // namespace

/// An execution of a step or map: nobody else executes it meanwhile.
class DurableSteps::Execution {
 public:
  Execution(DurableSteps& steps, const std::string& name) : steps_(steps), name_(name) {}
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  ~Execution() { steps_.end(name_); }

 private:
  DurableSteps& steps_;
  const std::string& name_;
};

// ---- Holding and lending the run ------------------------------------------------------------------

Result<std::unique_ptr<DurableSteps>> DurableSteps::open(const DurableServices& services, const RunId& run) {
  std::unique_ptr<DurableSteps> steps(new DurableSteps(services, run));
  Lock lock(steps->mutex_);
  const Result<void> held = steps->hold(Wait::no, lock);
  if (held) {
    steps->uuid_ = steps->held_->uuid();
  } else {
    if (held.error().code != Code::run_busy) return fail(held.error());
    PAWL_TRY_ASSIGN(steps->uuid_, steps->ledger_.open());
    PAWL_TRY(steps->ledger_.load());
  }
  PAWL_TRY_ASSIGN(steps->folder_, services.store.local_folder(run));
  lock.unlock();
  return steps;
}

DurableSteps::~DurableSteps() {
  if (process_.is_copy()) {
    if (lender_.joinable()) lender_.detach();
    changed_.forget_waiters();
    lender_wake_.forget_waiters();
    for (auto& [name, file] : running_) static_cast<void>(file.release());  // it would change the parent's file
    return;
  }
  {
    const Lock lock(mutex_);
    stopping_ = true;
    lender_wake_.notify_one();
  }
  if (lender_.joinable()) lender_.join();
}

Result<void> DurableSteps::hold(Wait wait, Lock& lock) {
  while (lending_) changed_.wait(lock);
  used_us_ = services_.clock.monotonic_us();
  if (held_) return {};
  if (std::exchange(was_wanted_, false)) let_others_go_first();
  PAWL_TRY_ASSIGN(std::unique_ptr<RunWriter> writer, wait == Wait::yes
                                                         ? open_ledger_writer(services_.store, services_.clock, run_)
                                                         : services_.store.open_run(run_, {}));
  PAWL_TRY_ASSIGN(held_, HeldLedger::take(std::move(writer), run_));
  used_us_ = services_.clock.monotonic_us();
  if (lender_.joinable()) {
    lender_wake_.notify_one();
  } else {
    lender_ = std::thread([this] { run_lender(); });
  }
  return {};
}

/// Whoever claimed the run looks for it every now and then, and would find it taken again.
void DurableSteps::let_others_go_first() {
  const auto claim = services_.store.claim(run_);
  if (!claim || !*claim) return;
  for (std::int64_t waited_us = 0; waited_us < kLetGoMax_us && (*claim)->has_rivals(); waited_us += kLetGoStep_us)
    services_.clock.sleep_us(kLetGoStep_us);
}

void DurableSteps::run_lender() {
  name_this_thread("pawl-lend");
  Lock lock(mutex_);
  while (!stopping_) {
    if (!held_) {
      lender_wake_.wait(lock);
      continue;
    }
    lender_wake_.wait_us(lock, kLendLook_us);
    if (stopping_ || !held_) continue;
    was_wanted_ = held_->is_wanted();
    if (was_wanted_ || services_.clock.monotonic_us() - used_us_ >= kLendIdle_us) lend(lock);
  }
}

void DurableSteps::lend(Lock& lock) {
  lending_ = true;
  while (saving_) changed_.wait(lock);
  // Whoever has the lock file of a step that executes here would execute it as well.
  if (take_lock_files()) held_.reset();
  lending_ = false;
  changed_.notify_all();
}

bool DurableSteps::take_lock_files() {
  for (auto& [name, file] : running_) {
    if (file) continue;
    Result<std::unique_ptr<StepLock>> taken = lock_file(name);
    if (!taken) return false;
    file = std::move(*taken);
  }
  return true;
}

std::string DurableSteps::lock_path(const std::string& name) const {
  return fmt::format("{}/step-{}.lock", folder_, name);
}

Result<std::unique_ptr<StepLock>> DurableSteps::lock_file(const std::string& name) const {
  Result<std::unique_ptr<StepLock>> held = services_.lock(lock_path(name));
  if (!held && held.error().code == Code::step_busy) return fail(busy_step(held.error(), run_, name));
  return held;
}

// ---- Steps ----------------------------------------------------------------------------------------

Result<std::string> DurableSteps::recorded(const std::string& name, const StepRecord& record) {
  std::string text;
  PAWL_TRY(ledger_.replay(name, record, services_.files, [&](std::string_view bytes) { text += bytes; }));
  return text;
}

Result<std::optional<StepRecord>> DurableSteps::find(const std::string& name, Lock& lock) {
  const auto in = [&](const LedgerState& state) {
    const StepRecord* const record = state.find(name);
    return record == nullptr ? std::nullopt : std::optional(*record);
  };
  const Result<void> held = hold(Wait::no, lock);
  if (held) return in(held_->state());
  if (held.error().code != Code::run_busy) return fail(held.error());
  PAWL_TRY_ASSIGN(const LedgerState state, ledger_.load());
  return in(state);
}

namespace {

bool is_completed(const std::optional<StepRecord>& record) { return record && record->status == StepStatus::completed; }

Error is_another(const std::string& name, std::string_view is, std::string_view is_not) {
  return Error{Code::items_changed,
               fmt::format("'{}' is a {} of this run, not a {}", name, is, is_not),
               {},
               fmt::format("choose another name for the {}", is_not),
               0};
}

Error executes_here(const RunId& run, const std::string& name) {
  return busy_step(Error{Code::step_busy,
                         "already running (in this process)",
                         {},
                         "wait until it finishes; steps that run at the same time need different names",
                         0},
                   run, name);
}

}  // namespace

Result<std::optional<StepRecord>> DurableSteps::begin_step(const std::string& name) {
  Lock lock(mutex_);
  if (running_.contains(name)) return fail(executes_here(run_, name));
  PAWL_TRY_ASSIGN(std::optional<StepRecord> record, find(name, lock));
  if (is_completed(record)) return record;
  if (!held_) {
    PAWL_TRY(hold(Wait::yes, lock));
    PAWL_TRY_ASSIGN(record, find(name, lock));
    if (is_completed(record)) return record;  // by whoever held the run
  }
  std::unique_ptr<StepLock> file;
  if (services_.files.exists(lock_path(name))) {
    PAWL_TRY_ASSIGN(file, lock_file(name));
  }
  if (record && record->map) return fail(is_another(name, "map", "step"));
  // Another thread may have begun it while the run was being lent.
  if (!running_.emplace(name, std::move(file)).second) return fail(executes_here(run_, name));
  return std::optional<StepRecord>();
}

void DurableSteps::end(const std::string& name) {
  const Lock lock(mutex_);
  running_.erase(name);
  used_us_ = services_.clock.monotonic_us();
}

Result<std::string> DurableSteps::step(const std::string& name, const std::function<Result<std::string>()>& fn) {
  PAWL_TRY(check_step_name(name));
  PAWL_TRY(process_.refuse_copy());
  PAWL_TRY_ASSIGN(const std::optional<StepRecord> completed, begin_step(name));
  if (completed) return recorded(name, *completed);
  const Execution execution(*this, name);
  const std::int64_t began_us = services_.clock.monotonic_us();
  Result<std::string> result = call_guarded(fn);
  if (!result) result = fail(at(result.error(), "step " + name));
  PAWL_TRY(record_result(name, result, services_.clock.monotonic_us() - began_us));
  return result;
}

Result<void> DurableSteps::record_result(const std::string& name, const Result<std::string>& result,
                                         std::int64_t took_us) {
  const StepLedger::Edit edit = [&](LedgerState& state, LedgerChange& change) -> Result<void> {
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
  };
  return record(edit, result ? 2 * result->size() : 0);
}

// ---- Saving ---------------------------------------------------------------------------------------

Result<void> DurableSteps::record(const StepLedger::Edit& edit, std::uint64_t bytes) {
  Pending change{.edit = edit, .bytes = bytes};
  Lock lock(mutex_);
  pending_.push_back(&change);
  while (!change.finished) {
    if (saving_ || lending_) {
      changed_.wait(lock);
    } else {
      save_some(lock);
    }
  }
  return change.result;
}

void DurableSteps::save_some(Lock& lock) {
  std::vector<Pending*> taken;
  LedgerSave save;
  Result<void> done = hold(Wait::yes, lock);
  if (saving_) return;  // another thread began while the run was being lent
  saving_ = true;
  std::uint64_t bytes = 0;
  while (!pending_.empty() && taken.size() < kChangesMax) {
    Pending& next = *pending_.front();
    if (!taken.empty() && bytes + next.bytes > kBatchBytesMax) break;
    bytes += next.bytes;
    pending_.erase(pending_.begin());
    if (done) next.result = held_->prepare(next.edit, save);
    taken.push_back(&next);
  }
  if (done && save.changes > 0) {
    held_->finish(save);
    lock.unlock();
    done = held_->save(save);
    lock.lock();
    if (!done) held_.reset();
  }
  for (Pending* change : taken) {
    if (!done && change->result) change->result = done;
    change->finished = true;
  }
  saving_ = false;
  used_us_ = services_.clock.monotonic_us();
  changed_.notify_all();
}

// ---- Maps -----------------------------------------------------------------------------------------

Result<void> DurableSteps::begin_map(const std::string& name) {
  Lock lock(mutex_);
  if (running_.contains(name)) return fail(executes_here(run_, name));
  // Its record says that it runs, and others tell from the lock file whether that is still so.
  PAWL_TRY_ASSIGN(std::unique_ptr<StepLock> file, lock_file(name));
  running_.emplace(name, std::move(file));
  return {};
}

/// Records the items of a new map. Returns the indices that already have a result.
Result<IndexRanges> DurableSteps::start_map(const std::string& name, std::span<const std::string> items) {
  const std::string hash = items_hash(items);
  const auto known = [&]() -> Result<std::optional<StepRecord>> {
    Lock lock(mutex_);
    return find(name, lock);
  };
  PAWL_TRY_ASSIGN(const std::optional<StepRecord> before, known());
  if (before) {
    if (!before->map) return fail(is_another(name, "step", "map"));
    if (before->map->items_hash != hash) {
      return fail(Error{Code::items_changed,
                        fmt::format("the items of '{}' have changed since it started ({} now, {} then)", name,
                                    items.size(), before->map->total),
                        {},
                        "restore the old items, or choose another name for the map",
                        0});
    }
    return before->map->done;
  }
  const StepLedger::Edit edit = [&](LedgerState& state, LedgerChange& change) -> Result<void> {
    if (state.find(name) != nullptr) return fail(is_another(name, "step", "map"));
    StepRecord& record = state.at(name);
    record.status = StepStatus::running;
    record.started = services_.clock.now();
    record.map = MapProgress{.total = items.size(), .items_hash = hash, .done = {}, .failed = {}, .trips = 0};
    change.kind = Kind::step_start;
    change.reason = Reason::before_step;
    change.step = name;
    change.events.push_back({event_type::kMapStarted, compact({{"step", name}, {"items", items.size()}})});
    return {};
  };
  PAWL_TRY(record(edit, 0));
  return IndexRanges();
}

Result<void> DurableSteps::record_items(const std::string& name, std::span<const ItemResult> results) {
  std::uint64_t bytes = 0;
  for (const ItemResult& result : results) bytes += 2 * result.text.size();
  const StepLedger::Edit edit = [&](LedgerState& state, LedgerChange& change) -> Result<void> {
    const StepRecord* const known = state.find(name);
    if (known == nullptr || !known->map)
      return fail(Code::state_reconstruction_failed, "map '{}' is missing in the ledger", name);
    StepRecord& record = state.at(name);
    change.step = name;
    for (const ItemResult& result : results) {
      record.map->done.add(result.index);
      change.events.push_back(
          {event_type::kItemCompleted,
           compact({{"step", name}, {"index", result.index}, {"output", {{"text", result.text}}}})});
    }
    return {};
  };
  return record(edit, bytes);
}

Result<void> DurableSteps::finish_map(const std::string& name) {
  const StepLedger::Edit edit = [&](LedgerState& state, LedgerChange& change) -> Result<void> {
    StepRecord& record = state.at(name);
    record.status = StepStatus::completed;
    record.ended = services_.clock.now();
    change.step = name;
    change.events.push_back(
        {event_type::kMapCompleted, compact({{"step", name}, {"total", record.map ? record.map->total : 0}})});
    return {};
  };
  return record(edit, 0);
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
  PAWL_TRY(process_.refuse_copy());
  PAWL_TRY(begin_map(name));
  const Execution execution(*this, name);
  PAWL_TRY_ASSIGN(const IndexRanges done, start_map(name, items));
  if (done.count() < items.size()) {
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
        PAWL_TRY(record_items(name, std::span(results).subspan(at, end - at)));
        at = end;
      }
    }
    if (const std::optional<Error> error = pool.error()) return fail(*error);
  }
  const auto is_finished = [&]() -> Result<bool> {
    Lock lock(mutex_);
    PAWL_TRY_ASSIGN(const std::optional<StepRecord> record, find(name, lock));
    return is_completed(record);
  };
  PAWL_TRY_ASSIGN(const bool finished, is_finished());
  if (!finished) PAWL_TRY(finish_map(name));
  return map_results(name, items.size());
}

}  // namespace pawl
