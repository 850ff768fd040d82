// Makes what happens in a run durable, and tells observers about it: an event that lasts is told when it is durable.
//
// If the workflow continues without storage, a save that fails again and again is tried without the new state:
//   full -> events only -> memory only -> emergency dump
// In the mode `events only`, events are still saved, with the last saved state. That needs little space.
#pragma once

#include <unordered_map>

#include "engine/recent_results.hpp"
#include "engine/run_context.hpp"
#include "engine/saver.hpp"

namespace pawl {

class RunRecorder {
 public:
  RunRecorder(RunContext& context, std::unique_ptr<RunWriter> writer, std::uint64_t events,
              std::vector<NewEvent> first_events);
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;
  /// Waits for the save in progress.
  ~RunRecorder() = default;

  /// Masks the first events, which were made before the secrets were known.
  void mask_first_events();
  /// An announcement: it belongs to the history if it lasts, otherwise only observers are told, at once.
  void tell(machine::command::Tell told);
  /// Adds members to the next event of this type about this step or message.
  void add_details(const std::string& type, const std::string& about, Json details);
  void drop_details(const std::string& type, const std::string& about) { details_.erase({type, about}); }
  /// Runs the task when everything that was told until now is durable, or never will be.
  void when_durable(std::function<void()> task) { waiting_for_next_.push_back(std::move(task)); }
  /// Saves the state as it is now with all events so far, and reports SaveDurable or SaveFailed. A batch that was
  /// given before is saved again as it was.
  void save(const machine::SaveBatch& batch);
  /// Returns the event that contains the output of a record of this execution.
  [[nodiscard]] std::uint64_t event_of(std::uint64_t record) const;
  [[nodiscard]] const RecentResults& results() const { return results_; }
  /// Returns the newest checkpoint of this execution.
  [[nodiscard]] Sequence latest() const { return latest_; }
  /// Returns the number of events so far.
  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// Removes a file of a step once its content is durable.
  void remove_when_durable(std::string file) { used_files_.push_back(std::move(file)); }

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  /// Returns whether a save is in progress.
  [[nodiscard]] bool saving() const { return saving_; }
  /// Writes what could not be saved to a file in the working directory, for a person.
  void dump_if_degraded();
  /// Nothing that is posted to the run from then on is acknowledged.
  [[nodiscard]] Result<void> seal_inbox();
  void unseal_inbox();

 private:
  enum class Rung : std::uint8_t { full, events_only };
  void open_saver();
  [[nodiscard]] std::string head_text();
  [[nodiscard]] StateText::Step step_of(const std::string& path, const StepRecord& record);
  [[nodiscard]] std::vector<StateText::Step> all_steps();
  [[nodiscard]] std::vector<StateText::Step> changed_steps();
  void write_state(SaveDraft& draft);
  [[nodiscard]] SaveDraft draft_of(const machine::SaveBatch& batch);
  [[nodiscard]] bool warns_of_size();
  void begin(bool light);
  void begin(const SaveDraft& draft);
  void saved(Result<Saved> result);
  void failed(Error error);
  [[nodiscard]] Result<void> open_again();
  [[nodiscard]] bool settle_doubt();
  void make_whole();
  void keep_result(const std::string& type, const std::string& map, const Json& data, const std::string& text);
  void tell_durable(bool light);
  void tell_saved(const Saved& saved);
  void pass(std::string_view type, const std::string& step, Json data);

  RunContext& context_;
  std::unique_ptr<RunWriter> writer_;
  std::unique_ptr<Saver> saver_;
  std::uint64_t events_ = 0;  // saved and pending
  std::vector<NewEvent> pending_;
  std::vector<RunEvent> pending_told_;
  std::vector<RunEvent> saving_told_;
  std::unordered_map<std::uint64_t, std::uint64_t> event_of_record_;
  std::map<std::pair<std::string, std::string>, Json> details_;  // by type and step or message
  std::vector<std::function<void()>> waiting_for_next_;          // for the next save
  std::vector<std::function<void()>> waiting_;                   // for the save in progress
  RecentResults results_;
  std::vector<std::string> used_files_;
  std::vector<std::string> saving_files_;

  Sequence latest_ = {};
  std::uint64_t batch_ = 0;  // the last one
  SaveDraft draft_;          // of that batch, kept until it is durable
  bool in_doubt_ = false;    // the outcome of the last save is unknown
  bool light_ = false;       // the save in progress has the last durable state
  Rung rung_ = Rung::full;
  std::uint32_t failures_ = 0;
  StateText text_;          // of the draft
  bool has_saved_ = false;  // the writer knows the last state
  std::optional<Error> error_;
  std::optional<Error> degraded_by_;
  bool saving_ = false;
  bool large_told_ = false;
};

}  // namespace pawl
