// The ledger of a run whose steps are called one by one, by a script (`pawl step`) or a program
// (pawl::DurableRun): which steps are done, and what they printed. The state of such a run is
//   {"pawl":"steps/1","events":N,"steps":{NAME: a StepRecord}}
// An output is {"text":...} or, where it is not UTF-8, {"base64":...}: in the record up to kOutputInline bytes,
// else in the event that the record names; or {"file":NAME,"size":N,"sha256":...} of the run's local folder.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "domain/run_state.hpp"
#include "ports/environment.hpp"
#include "ports/local_files.hpp"
#include "ports/store.hpp"

namespace pawl {

inline constexpr std::uint64_t kOutputInEvent = 1ULL << 20;  // bytes; above it, the output is in a file

struct LedgerState {
  std::uint64_t events = 0;                                    // of the run, so that records can name them
  std::vector<std::pair<std::string, StepRecord>> steps = {};  // in the order in which they were first recorded

  [[nodiscard]] const StepRecord* find(std::string_view name) const;
  /// Made where it is missing.
  [[nodiscard]] StepRecord& at(std::string_view name);
  [[nodiscard]] Json to_json() const;
  /// not_a_steps_run where it is some other JSON, state_reconstruction_failed where a part is wrong.
  [[nodiscard]] static Result<LedgerState> from_json(const Json& value);
};

/// `[A-Za-z0-9_][A-Za-z0-9._-]*`, at most 128 characters: invalid_label otherwise.
[[nodiscard]] Result<void> check_step_name(std::string_view name);

/// run_not_found, not_a_steps_run.
[[nodiscard]] Result<LedgerState> load_ledger(Store& store, const RunId& run);

[[nodiscard]] Json output_json(std::string_view bytes);
/// The hash by which a changed command is known.
[[nodiscard]] std::string command_hash(const std::vector<std::string>& argv);

/// What a change to the ledger is saved with.
struct LedgerChange {
  std::vector<NewEvent> events = {};
  Kind kind = Kind::step_complete;
  Reason reason = Reason::after_step;
  std::string step = {};
};

/// Thread-safe. The run's lock is held only while the state is read and saved, so that several processes can
/// record steps of one run; one that is busy is tried again for 10 seconds.
class StepLedger {
 public:
  StepLedger(Store& store, Clock& clock, RunId run) : store_(store), clock_(clock), run_(std::move(run)) {}

  /// Makes the run where it is missing, so that it has its UUID for good.
  [[nodiscard]] Result<Uuid> open();
  [[nodiscard]] Result<LedgerState> load() { return load_ledger(store_, run_); }

  using Edit = std::function<Result<void>(LedgerState& state, LedgerChange& change)>;
  /// Durable when it returns. `edit` is called with the newest state; its error is returned and nothing is written.
  Result<void> update(const Edit& edit);

  /// Hands on the recorded output, byte for byte: output_lost where it is missing or damaged, of which nothing is
  /// handed on.
  Result<void> replay(const std::string& name, const StepRecord& record, LocalFiles& files,
                      const std::function<void(std::string_view bytes)>& use);

  [[nodiscard]] const RunId& run() const { return run_; }

 private:
  [[nodiscard]] Result<std::unique_ptr<RunWriter>> open_writer();
  [[nodiscard]] Result<Json> recorded_output(const std::string& name, const StepRecord& record);
  [[nodiscard]] Result<void> replay_file(const std::string& name, const Json& output, LocalFiles& files,
                                         const std::function<void(std::string_view bytes)>& use);

  Store& store_;
  Clock& clock_;
  const RunId run_;
};

/// Puts an output into a record, or into the event's data where it is large. The event is the last one of `change`.
void place_output(LedgerState& state, LedgerChange& change, StepRecord& record, Json output, Json data,
                  std::string_view type);

}  // namespace pawl
