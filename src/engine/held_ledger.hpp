// The ledger of a run of steps, held open for writing. The cost of a change does not grow with the number of steps.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/step_ledger.hpp"

namespace pawl {

/// Changes that share a save, ready to be saved.
struct LedgerSave {
  SaveRequest request = {};
  std::vector<std::unique_ptr<const std::string>> texts = {};  // that the request or the splices refer to
  std::vector<Splice> change = {};
  std::size_t changes = 0;
  bool whole = false;  // the body is the complete state, and `change` is unused
};

/// The only writer of the run as long as it exists. `prepare` and `state` are not thread-safe.
class HeldLedger {
 public:
  /// Takes over a writer. Creates the ledger if the run has no checkpoint yet. Fails with not_a_steps_run or
  /// state_reconstruction_failed.
  [[nodiscard]] static Result<std::unique_ptr<HeldLedger>> take(std::unique_ptr<RunWriter> writer, const RunId& run);

  /// Includes prepared changes, whether they are durable or not.
  [[nodiscard]] const LedgerState& state() const { return state_; }
  [[nodiscard]] Uuid uuid() const { return writer_->info().uuid; }
  /// Returns whether another process or object waits for the run.
  [[nodiscard]] bool is_wanted() const { return writer_->is_wanted(); }

  /// Calls `edit` with the state. Its change becomes part of `save`. An edit that fails must have changed nothing.
  Result<void> prepare(const StepLedger::Edit& edit, LedgerSave& save);
  /// Completes a save of one or more prepared changes.
  void finish(LedgerSave& save);
  /// Durable when it returns. After an error, this object must be destroyed. May run at the same time as `state`, but
  /// not as `prepare` or `finish`.
  Result<void> save(const LedgerSave& save);

 private:
  HeldLedger(std::unique_ptr<RunWriter> writer, LedgerState state)
      : writer_(std::move(writer)), state_(std::move(state)) {}
  static void add_splice(LedgerSave& save, std::uint64_t offset, std::uint64_t removed, std::string inserted);
  void lay_out_after(std::size_t index);

  /// Where the text of a record is, after the beginning of the steps.
  struct Place {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };

  const std::unique_ptr<RunWriter> writer_;
  LedgerState state_;
  Sequence latest_ = {};
  // The layout of the last saved or prepared state.
  bool known_text_ = false;  // its text is the one that this program writes
  std::string count_;        // the digits of the number of events
  std::vector<Place> places_;
  std::uint64_t steps_size_ = 0;
};

/// Opens the run for writing. While somebody else holds it, claims it and retries for 10 seconds.
[[nodiscard]] Result<std::unique_ptr<RunWriter>> open_ledger_writer(Store& store, Clock& clock, const RunId& run);

}  // namespace pawl
