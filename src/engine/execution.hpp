// One execution of a run: from its start or a resume until it finishes, waits or is interrupted.
//
// Everything runs on the thread of its EventLoop. The rules:
//   - Each change updates the state and emits events; both go into the next save. At most one save is in progress;
//     changes made meanwhile share the next one.
//   - A step that depends on others starts only when their completion and its own start are durable.
//     Items of a map depend only on the map, so they start immediately.
//   - Observers receive an event when it is durable.
#pragma once

#include <pawl/handlers.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "domain/run_state.hpp"
#include "domain/settings.hpp"
#include "domain/workflow.hpp"
#include "engine/event_loop.hpp"
#include "engine/output_file.hpp"
#include "engine/prompt.hpp"
#include "engine/run_events.hpp"
#include "engine/saver.hpp"
#include "engine/state_keys.hpp"
#include "engine/step_output.hpp"
#include "engine/step_report.hpp"
#include "ports/environment.hpp"
#include "ports/local_files.hpp"
#include "ports/store.hpp"
#include "secrets/output_mask.hpp"

namespace pawl {

/// What an execution does when it can only wait for a person or a signal.
enum class Waiting : std::uint8_t { leave, stay };

enum class Changes : std::uint8_t { refuse, accept };

/// A project that is in another folder than when its run was started.
struct MovedFolder {
  std::string from;
  std::string to;
};

/// The services that executions use. Must outlive them.
struct ExecutionServices {
  Store& store;
  Clock& clock;
  Random& random;
  LocalFiles& files;
  const HandlerRegistry& handlers;
  RunObserver* observer = nullptr;                                              // may be null
  std::vector<std::string> environment = {};                                    // NAME=value, of this process
  std::string store_uri = {};                                                   // for $PAWL_STORE of steps
  std::function<Result<Workflow>(const std::string& file)> load_workflow = {};  // absolute path
  std::function<GateAnswer(const Gate& gate)> ask = {};                         // may be empty
  PromptPerson prompt = {};                                                     // may be empty
  std::string person = {};                                                      // who answers `ask` and `prompt`
  /// Checks and parses steps that a step adds.
  std::function<Result<Steps>(const Json& steps, const Workflow& workflow, const Steps& siblings, std::size_t after)>
      parse_added = {};
  std::function<std::uint64_t()> resident_bytes = {};  // of this process; may be empty
  Waiting waiting = Waiting::leave;
  Changes child_changes = Changes::refuse;  // whether children continue with a changed workflow
  Settings settings = {};
  Json given = Json::object();            // values of masked keys, for a resume
  std::optional<MovedFolder> moved = {};  // child runs move with their parent
  std::uint32_t parallel_max = 1024;      // parallel attempts
};

/// A run that is open for execution.
struct OpenedRun {
  RunId id;
  std::shared_ptr<const Workflow> workflow;
  RunState state;
  std::unique_ptr<RunWriter> writer;
  std::string logs;                         // absolute path of the log folder of this run
  std::string work = {};                    // folder for inputs and reports of steps; empty: the same
  OpenOutputFile open_output = {};          // empty: plain files
  KeyValues key_values = {};                // of the keys whose values are not saved
  std::uint64_t events = 0;                 // number of events so far
  std::vector<NewEvent> first_events = {};  // for the first save of this execution
  Kind first_kind = Kind::workflow_start;
  Reason first_reason = Reason::workflow_started;
};

class Execution {
 public:
  Execution(const ExecutionServices& services, EventLoop& loop, OpenedRun run);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  ~Execution();

  /// Starts; the rest happens in the loop.
  void start();
  /// Returns whether the execution is over and everything is saved, or can't be saved.
  [[nodiscard]] bool ended() const { return over_; }
  void when_ended(std::function<void()> task) { when_ended_ = std::move(task); }
  /// Calls `task` when a step completes; steps that handle a failure don't count.
  void when_progress(std::function<void()> task) { when_progress_ = std::move(task); }
  /// Must be called at the end of each round of the loop.
  void round();

  /// Gives running steps their grace period, then marks the run as `interrupted`.
  void interrupt(const std::string& why);
  void cancel(const std::string& why);
  void checkpoint_now(Reason reason);

  [[nodiscard]] const RunState& state() const { return state_; }
  [[nodiscard]] const RunId& id() const { return id_; }
  /// The storage error that ended the execution, if any.
  [[nodiscard]] const std::optional<Error>& storage_error() const { return storage_error_; }
  [[nodiscard]] const std::optional<Error>& refusal() const { return refusal_; }
  /// Returns whether the run failed because a person rejected something.
  [[nodiscard]] bool rejected() const;
  /// Returns what the run waits for, for messages.
  [[nodiscard]] std::vector<std::string> waiting_for() const;
  [[nodiscard]] std::vector<Gate> gates() const;
  /// Returns the records of all started steps, outer before inner.
  [[nodiscard]] std::vector<std::pair<std::string, StepRecord>> records() const;

 private:
  struct Node;
  struct Scope;
  struct MapRun;
  struct Outcome;
  enum class Folder : std::uint8_t { was_there, is_new };
  class NodeNames;
  friend class NodeNames;

  // Saving (execution.cpp).
  void tell(std::string_view type, const Node* node, Json data);
  void whisper(std::string_view type, const Node* node, Json data);
  void persist(Kind kind, Reason reason, const Node* node);
  void touch(Node& node);
  void save_if_needed();
  void save_now();
  void warn_of_size(std::string& state);
  [[nodiscard]] std::string state_text() const;
  [[nodiscard]] Json record_json(const StepRecord& record) const;
  void collect(const Scope& scope, std::vector<std::pair<std::string, const Node*>>& out) const;
  void when_durable(std::function<void()> task);
  void finish(RunStatus status, const std::string& error);
  void finish_if_idle();
  void finish_interrupted();
  [[nodiscard]] bool held() const;
  [[nodiscard]] bool busy() const;
  [[nodiscard]] Result<void> make_environment();
  void add_secret(std::string_view value);
  [[nodiscard]] Result<void> make_patterns();
  void mask_first_events();
  [[nodiscard]] const std::vector<std::string>& environment() const {
    return base_environment_.empty() ? services_.environment : base_environment_;
  }
  [[nodiscard]] Timestamp now() const { return services_.clock.now(); }
  void run_interval();
  void arm_workflow_timeout();
  void watch_memory();

  // Storage errors (execution_storage.cpp).
  void saved(Result<Saved> result);
  void save_failed(Error error);
  void go_on_with_events(const Error& error);
  void go_on_in_memory(Error error);
  enum class Handle : std::uint8_t { same, fresh };
  void save_again_after(std::int64_t delay_us, Handle handle);
  void retry_save();
  void dump_state();

  // Scheduling (execution_schedule.cpp).
  std::unique_ptr<Scope> make_scope(Scope* outer, Node* owner, const Steps& steps, std::string prefix);
  void enter(Scope& scope);
  void consider(Node& node);
  void consider_all(Scope& scope);
  void release(Node& node);
  [[nodiscard]] std::optional<std::string> reason_to_skip(Node& node, bool& runs);
  void begin(Node& node);
  void go_on(Node& node);
  void stop_at(Node& node);
  void settle(Node& node, StepStatus status);
  void settle_failed(Node& node, std::string error, bool retryable);
  bool note_layers(const Node& node);
  void note_progress();
  void note_time(Node& node);
  void check_scope(Scope& scope);
  void top_ended(Scope& scope);
  void bury(std::unique_ptr<Scope> scope);
  void begin_loop(Node& node);
  void run_iteration(Node& node);
  void iteration_ended(Node& node);
  void begin_child(Node& node);
  void child_ended(Node& node);
  void use_child(Node& node, const RunState& child);
  void run_aside(Node& node, const Steps& steps, std::string_view name, std::function<void(bool failed)> then);
  void add_steps(Node& node, const Json& steps);
  [[nodiscard]] bool over_budget() const;
  void stop_running(Scope& scope, std::string_view why);
  template <class Visit>
  void for_each_node(Scope& scope, const Visit& visit);
  [[nodiscard]] Node* find_node(std::string_view path);

  // Attempts (execution_attempt.cpp).
  void start_attempt(Node& node);
  void launch(Node& node);
  void launch_command(Node& node);
  void launch_handler(Node& node);
  void launch_failed(Node& node, std::string error);
  [[nodiscard]] Result<ProcessSpec> command_spec(Node& node);
  [[nodiscard]] std::shared_ptr<StepOutput> make_output(const std::string& path, StepOutput::Wanted wanted) const;
  [[nodiscard]] Result<std::vector<std::string>> step_environment(const Node& node, const NodeNames& names);
  [[nodiscard]] Result<void> write_input(const Node& node, const NodeNames& names, const Json& arguments);
  void arm_timeouts(Node& node);
  void time_out(Node& node, std::string_view what);
  void kill_node(Node& node, std::string_view why);
  void process_ended(Node& node, const ProcessEnd& end);
  [[nodiscard]] Outcome outcome_of(Node& node, const ProcessEnd& end);
  [[nodiscard]] Result<Json> captured(const Node& node) const;
  void attempt_ended(Node& node, Outcome outcome);
  void start_ready();
  void attempt_succeeded(Node& node, Outcome& outcome);
  void attempt_failed(Node& node, Outcome& outcome);
  void complete(Node& node);
  void give_up(Node& node);
  [[nodiscard]] bool save_decision_alone(Node& node, Outcome& outcome);
  void use_report(Node& node, const StepReport& report);
  void count_usage(Node& node, const Usage& used);
  void note_confidence(Node& node, double value);
  void harvest(Node& node);
  void count_forgotten_attempts(Node& node);
  [[nodiscard]] Result<Folder> make_folder_of(std::string_view path);
  void drop_files(const Node& node);
  void take_spare_input(const std::string& path);
  void remove_spares();
  void set_output(Node& node, Json output);
  [[nodiscard]] Result<Json> output_of(const Node& node) const;
  [[nodiscard]] std::string file_stem(const Node& node) const;
  [[nodiscard]] std::string work_stem(const Node& node) const;
  [[nodiscard]] static std::string stem_in(const std::string& folder, const Node& node);
  [[nodiscard]] std::string idempotency_key(const Node& node) const;
  /// Returns the environment entry that all processes of the current attempt have.
  [[nodiscard]] std::string attempt_mark(const Node& node) const;
  [[nodiscard]] RetrySettings retry_of(const Node& node) const;

  // Waiting (execution_wait.cpp).
  void begin_gate(Node& node);
  [[nodiscard]] Result<std::string> gate_binding(Node& node, std::string& prompt);
  void begin_sleep(Node& node);
  void sleep_over(Node& node);
  void begin_wait(Node& node);
  void poll_inbox();
  void schedule_poll();
  void consume(const Message& message);
  void decide_gate(const Json& body);
  void add_entry(const Json& body);
  void refuse(std::string_view what, const Json& body);
  void deliver_signal(const Json& body);
  [[nodiscard]] bool take_signal(Node& node);
  void answer_gates();

  // Maps (execution_map.cpp).
  void begin_map(Node& node);
  [[nodiscard]] Result<void> open_items(Node& node);
  [[nodiscard]] Result<void> load_failed_items(Node& node);
  [[nodiscard]] Result<void> read_items(MapRun& map, const std::string& path);
  void start_items(Node& node);
  [[nodiscard]] Result<std::optional<Json>> next_item(Node& node, std::uint64_t& index);
  void start_item(Node& node, std::uint64_t index, Json item);
  void item_ended(Node& node, std::uint64_t index);
  void item_failed(Node& node);
  void trip(Node& node);
  void check_map(Node& node);
  void map_items_done(Node& node);
  void begin_reduce(Node& node);
  [[nodiscard]] Result<void> write_items_file(Node& node, const std::string& path);
  [[nodiscard]] Result<Json> map_output(const Node& node) const;
  [[nodiscard]] Result<void> for_each_result(const Node& node, const std::function<Result<void>(Json)>& use) const;

  // Worktrees (execution_worktree.cpp).
  [[nodiscard]] std::string worktree_of(const Node& node) const;
  void run_git(const Node& node, const char* script, const std::string& tree,
               std::function<void(std::optional<std::string> error)> then);
  void prepare_worktree(Node& node, std::function<void()> then);
  void commit_worktree(Node& node, const std::string& tree, std::function<void(std::optional<std::string> error)> then);
  void merge_step_worktree(Node& node, std::function<void()> then);
  void merge_items(Node& node, std::uint64_t from, std::function<void()> then);

  const ExecutionServices& services_;
  EventLoop& loop_;
  const RunId id_;
  const std::shared_ptr<const Workflow> workflow_;
  RunState state_;
  std::unique_ptr<RunWriter> writer_;
  const std::string logs_;
  const std::string work_;  // of inputs and reports
  const OpenOutputFile open_output_;
  const Uuid uuid_;
  std::vector<std::string> secrets_;                // values that must never be shown
  std::shared_ptr<const SecretPatterns> patterns_;  // these, and values recognised by their form
  std::set<std::string> secret_keys_;               // keys whose values are not saved
  mutable KeyValues key_values_;                    // their values
  const std::shared_ptr<MaskCounts> masked_counts_ = std::make_shared<MaskCounts>();  // by this execution
  std::vector<std::string> base_environment_;                                         // process, env files and workflow
  std::unordered_map<std::string, StepRecord> loaded_;  // from the state, until a node takes them
  std::unique_ptr<Scope> top_;
  std::unique_ptr<Scope> after_failure_;  // the workflow's on_failure
  std::vector<std::unique_ptr<Scope>> buried_;
  std::map<std::string, Folder, std::less<>> folders_;  // of logs, inputs and reports, as found by this execution
  std::deque<Steps> added_steps_;                       // steps added by other steps; nodes point into it

  // Unsaved changes.
  std::unique_ptr<Saver> saver_;
  std::uint64_t change_ = 0;   // counts changes
  std::uint64_t saving_ = 0;   // the last change of the save in progress; 0: none
  std::uint64_t durable_ = 0;  // the last change that is durable
  std::vector<NewEvent> pending_;
  std::vector<RunEvent> pending_told_;
  std::vector<RunEvent> saving_told_;
  std::uint64_t events_ = 0;  // saved and pending
  SaveDraft unsaved_;         // the draft being saved, kept until it is durable
  Kind kind_ = Kind::manual;
  Reason reason_ = Reason::manual;
  std::string label_step_;
  std::string label_stage_;
  bool force_save_ = false;
  std::deque<std::pair<std::uint64_t, std::function<void()>>> launches_;  // by the change that they wait for
  std::uint32_t save_failures_ = 0;
  bool save_waits_ = false;                // a failed save waits for its next attempt
  std::vector<std::string> used_files_;    // reports that the next save records
  std::vector<std::string> saving_files_;  // those of the save in progress
  std::vector<std::string> spare_inputs_;  // of finished attempts; the next ones reuse the files
  bool large_told_ = false;                // the warning about a large state is given once
  bool save_delayed_ = false;              // results of items are batched
  bool memory_only_ = false;               // the workflow continues without storage
  enum class Rung : std::uint8_t { full, events_only };
  Rung rung_ = Rung::full;
  bool saving_light_ = false;         // the save in progress has new events and an older state
  std::string last_state_;            // the durable state, if the workflow continues without storage
  std::optional<Error> degraded_by_;  // why events are saved alone
  std::optional<Error> storage_error_;
  std::optional<Error> refusal_;  // why it must not continue, if that has its own code

  std::size_t attempts_running_ = 0;
  std::size_t timers_ = 0;   // pending backoffs and sleeps, which keep the process alive
  std::deque<Node*> ready_;  // waiting for a free slot
  enum class Hold : std::uint8_t { none, interrupt, cancel, storage };
  Hold hold_ = Hold::none;
  std::string hold_why_;
  bool budget_reached_ = false;
  std::string breakpoint_after_;  // the step after which the run stops; empty: none
  bool timed_out_ = false;        // the workflow's own timeout
  bool finishing_ = false;        // the final status is decided
  bool over_ = false;
  bool asked_ = false;
  std::int64_t last_save_us_ = 0;
  std::function<void()> when_ended_;
  std::function<void()> when_progress_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace pawl
