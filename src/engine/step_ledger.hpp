// The ledger of a run whose steps are called one by one, by a script or a program (pawl::DurableRun). It records
// completed steps and their outputs. The state of such a run is
//   {"pawl":"steps/1","events":N,"steps":{NAME: a StepRecord}}
// An output is {"text":...} or, if it is not UTF-8, {"base64":...}. Up to kOutputInline bytes it is in the record,
// otherwise in an event that the record names, or in a local file: {"file":NAME,"size":N,"sha256":...}.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "domain/run_state.hpp"
#include "ports/environment.hpp"
#include "ports/local_files.hpp"
#include "ports/store.hpp"

namespace pawl {

inline constexpr std::uint64_t kOutputInEvent = 1ULL << 20;  // bytes; larger outputs are in files

struct LedgerState {
  std::uint64_t events = 0;                                    // of the run, because records refer to events by number
  std::vector<std::pair<std::string, StepRecord>> steps = {};  // in the order in which they were first recorded

  [[nodiscard]] const StepRecord* find(std::string_view name) const;
  /// Creates the record if it is missing. The caller may change it.
  [[nodiscard]] StepRecord& at(std::string_view name);
  /// Returns the indices of the records that `at` returned since the last call, ascending.
  [[nodiscard]] std::vector<std::size_t> take_touched();
  /// Returns the state as it is saved.
  [[nodiscard]] std::string text() const;
  /// Fails with not_a_steps_run for other JSON, and with state_reconstruction_failed if a part is invalid.
  [[nodiscard]] static Result<LedgerState> from_json(const Json& value);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  /// Returns the index of a record, or the number of records if it is missing.
  [[nodiscard]] std::size_t index_of(std::string_view name) const;

  // By name; built when it is needed, because `steps` only grows at the end.
  mutable std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> index_ = {};
  mutable std::size_t indexed_ = 0;
  std::vector<std::size_t> touched_ = {};
};

/// The parts of the text of a state: head, number of events, middle, records separated by commas, tail.
inline constexpr std::string_view kLedgerHead = R"({"pawl":"steps/1","events":)";
inline constexpr std::string_view kLedgerMiddle = R"(,"steps":{)";
[[nodiscard]] std::string ledger_text(std::uint64_t events, std::string_view records);
/// Returns `"NAME":{...}`.
[[nodiscard]] std::string ledger_record_text(std::string_view name, const StepRecord& record);

/// Checks for `[A-Za-z0-9_][A-Za-z0-9._-]*` with at most 128 characters. Fails with invalid_label.
[[nodiscard]] Result<void> check_step_name(std::string_view name);

/// Completes an error of a step's lock: "step 'load' of run nightly is already running (process 4711)".
[[nodiscard]] Error busy_step(Error error, const RunId& run, std::string_view name);

/// Returns whether this is the state of a run whose steps a script or a program calls.
[[nodiscard]] bool is_ledger(const Json& state);
/// Fails with run_not_found or not_a_steps_run.
[[nodiscard]] Result<LedgerState> load_ledger(Store& store, const RunId& run);

[[nodiscard]] Json output_json(std::string_view bytes);
/// Returns the hash that detects a changed command.
[[nodiscard]] std::string command_hash(const std::vector<std::string>& argv);

/// The labels and events of a change to the ledger.
struct LedgerChange {
  std::vector<NewEvent> events = {};
  Kind kind = Kind::step_complete;
  Reason reason = Reason::after_step;
  std::string step = {};
};

/// Thread-safe. Holds the run's lock only while it reads and saves the state, so that several processes can record
/// steps of one run. Retries a busy run for 10 seconds.
class StepLedger {
 public:
  StepLedger(Store& store, Clock& clock, RunId run) : store_(store), clock_(clock), run_(std::move(run)) {}

  /// Creates the run if it is missing, and returns its permanent UUID.
  [[nodiscard]] Result<Uuid> open();
  [[nodiscard]] Result<LedgerState> load() { return load_ledger(store_, run_); }

  using Edit = std::function<Result<void>(LedgerState& state, LedgerChange& change)>;
  /// Calls `edit` with the newest state and saves. Durable when it returns. An error of `edit` is returned, and nothing
  /// is written. The run is claimed while another process holds it.
  Result<void> update(const Edit& edit);

  /// Returns when no other process holds the run. Whoever lent it meanwhile has taken the locks of its running steps.
  Result<void> reach();

  /// Passes the recorded output to `use`, byte for byte. Fails with output_lost, before any byte, if it is missing or
  /// damaged.
  Result<void> replay(const std::string& name, const StepRecord& record, LocalFiles& files,
                      const std::function<void(std::string_view bytes)>& use);

  [[nodiscard]] const RunId& run() const { return run_; }

 private:
  [[nodiscard]] Result<std::optional<std::string>> event_data(std::uint64_t number);
  [[nodiscard]] Result<Json> recorded_output(const std::string& name, const StepRecord& record);
  [[nodiscard]] Result<void> replay_file(const std::string& name, const Json& output, LocalFiles& files,
                                         const std::function<void(std::string_view bytes)>& use);

  Store& store_;
  Clock& clock_;
  const RunId run_;

  Mutex mutex_;
  std::map<std::uint64_t, std::string> page_ PAWL_GUARDED_BY(mutex_);  // data of events that were read, by number
  std::size_t page_events_ PAWL_GUARDED_BY(mutex_) = 1;                // how many are read at once
};

/// Stores an output in a record, or in the event's data if it is large. The event is the last one of `change`.
void place_output(LedgerState& state, LedgerChange& change, StepRecord& record, Json output, Json data,
                  std::string_view type);

}  // namespace pawl
