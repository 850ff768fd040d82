// Steps that are functions of the calling program. They use the same ledger as steps of shell scripts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <thread>

#include "base/mutex.hpp"
#include "base/process_bound.hpp"
#include "engine/held_ledger.hpp"
#include "ports/foreground.hpp"

namespace pawl {

struct DurableServices {
  Store& store;
  Clock& clock;
  LocalFiles& files;
  std::function<Result<std::unique_ptr<StepLock>>(const std::string& path)> lock;
};

/// The result of an item of a map.
struct ItemResult {
  std::uint64_t index = 0;
  std::string text;
};

/// Implements pawl::DurableRun. Thread-safe.
///
/// Holds the run open for writing while it is used, so that a step costs one flush and no reading. Steps of several
/// threads that end at the same time share a save. A thread of its own lends the run to others: when somebody claims
/// it, and when it was not used for a while.
///
/// A step executes only while this object holds the run and the step's lock file is free, or while it holds that lock
/// file. Lock files are therefore taken only when the run is lent during a step.
class DurableSteps {
 public:
  [[nodiscard]] static Result<std::unique_ptr<DurableSteps>> open(const DurableServices& services, const RunId& run);
  DurableSteps(const DurableSteps&) = delete;
  DurableSteps& operator=(const DurableSteps&) = delete;
  /// In a forked child, it touches nothing.
  ~DurableSteps();

  Result<std::string> step(const std::string& name, const std::function<Result<std::string>()>& fn);

  using ItemFunction = std::function<Result<std::string>(std::string_view item, std::uint64_t index)>;
  Result<std::vector<std::string>> map(const std::string& name, std::span<const std::string> items,
                                       const ItemFunction& fn, std::size_t parallel);

  [[nodiscard]] const Uuid& uuid() const { return uuid_; }

 private:
  /// A change that waits for a save.
  struct Pending {
    const StepLedger::Edit& edit;
    std::uint64_t bytes = 0;  // of results, about
    bool finished = false;
    Result<void> result = {};
  };
  /// Ends the execution of a step when it is destroyed.
  class Execution;

  DurableSteps(const DurableServices& services, const RunId& run)
      : services_(services), run_(run), ledger_(services.store, services.clock, run) {}
  [[nodiscard]] std::string lock_path(const std::string& name) const;
  [[nodiscard]] Result<std::unique_ptr<StepLock>> lock_file(const std::string& name) const;
  [[nodiscard]] Result<std::string> recorded(const std::string& name, const StepRecord& record);

  enum class Wait : std::uint8_t { no, yes };
  /// Opens the run for writing, unless it is open. Fails with run_busy.
  Result<void> hold(Wait wait, Lock& lock) PAWL_REQUIRES(mutex_);
  void let_others_go_first();
  /// Returns the record of a step that does not execute in this object. Needs no access for writing.
  Result<std::optional<StepRecord>> find(const std::string& name, Lock& lock) PAWL_REQUIRES(mutex_);
  /// Returns the record of a completed step, or begins its execution.
  Result<std::optional<StepRecord>> begin_step(const std::string& name);
  Result<void> begin_map(const std::string& name);
  void end(const std::string& name);

  /// Durable when it returns.
  Result<void> record(const StepLedger::Edit& edit, std::uint64_t bytes);
  /// Saves changes that wait, as many as fit.
  void save_some(Lock& lock) PAWL_REQUIRES(mutex_) PAWL_LETS_GO;
  Result<void> record_result(const std::string& name, const Result<std::string>& result, std::int64_t took_us);
  [[nodiscard]] Result<IndexRanges> start_map(const std::string& name, std::span<const std::string> items);
  Result<void> record_items(const std::string& name, std::span<const ItemResult> results);
  [[nodiscard]] Result<std::vector<std::string>> map_results(const std::string& name, std::size_t count) const;
  Result<void> finish_map(const std::string& name);

  void run_lender();
  void lend(Lock& lock) PAWL_REQUIRES(mutex_);
  [[nodiscard]] bool take_lock_files() PAWL_REQUIRES(mutex_);

  const DurableServices services_;
  const RunId run_;
  StepLedger ledger_;
  Uuid uuid_;           // constant after open
  std::string folder_;  // constant after open
  const ProcessBound process_;

  Mutex mutex_;
  Condition changed_;
  Condition lender_wake_;
  std::unique_ptr<HeldLedger> held_ PAWL_GUARDED_BY(mutex_);  // null while the run is lent
  std::map<std::string, std::unique_ptr<StepLock>, std::less<>> running_ PAWL_GUARDED_BY(mutex_);  // null: no lock file
  std::vector<Pending*> pending_ PAWL_GUARDED_BY(mutex_);
  bool saving_ PAWL_GUARDED_BY(mutex_) = false;
  bool lending_ PAWL_GUARDED_BY(mutex_) = false;
  bool was_wanted_ PAWL_GUARDED_BY(mutex_) = false;  // when it was lent
  bool stopping_ PAWL_GUARDED_BY(mutex_) = false;
  std::int64_t used_us_ PAWL_GUARDED_BY(mutex_) = 0;
  std::thread lender_;
};

}  // namespace pawl
