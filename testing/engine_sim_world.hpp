// The simulated world around machines: events, processes, journals, people. Private to engine_sim.
#pragma once

#include <map>
#include <memory>
#include <random>

#include "testing/engine_sim.hpp"

namespace pawl::engine_sim {

struct Process {
  std::string path;
  std::uint32_t start = 0;
  Script script;
  Json input;
  std::uint64_t tokens = 0;  // reported until now
  bool stopping = false;
};

struct Message {
  machine::fact::MessageArrived fact;
};

/// A run: what is durable of it, and the machine that drives it, if any.
struct SimRun {
  std::size_t workflow = 0;
  std::string key = {};
  Json vars = Json::object();
  std::vector<machine::Record> journal = {};  // all durable records, by position from 1; they refer to positions
  std::vector<std::uint64_t> events = {};     // the number of the event of each
  std::string durable = {};                   // the newest state, from which the next execution starts
  struct Point {
    std::string state = {};
    std::size_t records = 0;
  };
  std::vector<Point> points = {};              // all states, for rollbacks
  std::optional<machine::State> checked = {};  // a state that the records from `checked_from` on follow
  std::size_t checked_from = 0;
  bool other_progress = false;  // by a rollback or a change, since `checked`
  std::vector<Message> inbox = {};
  bool sealed = false;
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> left = {};  // reports: tokens, by path and attempt
  std::map<std::string, std::uint64_t> done = {};      // durable completions, by path: number of the record
  std::set<std::string> decisions = {};                // durable, as path and binding
  std::map<std::string, std::uint32_t> failures = {};  // durable, since a person resumed, by path
  RunStatus status = RunStatus::running;
  // While it is driven:
  std::optional<machine::State> state = {};
  RunState base = {};                               // what the machine does not know
  std::size_t first = 0;                            // durable records of the executions before
  std::vector<std::uint64_t> event_of = {};         // of each record of this execution
  std::map<std::uint64_t, std::string> saves = {};  // the state of each batch
  std::map<std::string, std::string> shadow = {};   // the records of steps, kept up by changes
  bool live = false;
  std::uint64_t life = 0;  // number of its execution
  std::map<machine::NodeId, Process> processes = {};
  std::uint64_t opening = 0;  // the epoch in which it is being opened
  SimRun* parent = nullptr;
  machine::NodeId parent_node = machine::NodeId::none;
  std::uint64_t told_tokens = 0;
  std::map<std::string, Json> inputs = {};  // of the last attempt, by path
};

class World {
 public:
  World(const Plan& plan, const Schedule& schedule, std::function<void(std::string)> trace);
  Ended play();

 private:
  friend class Checks;
  using Task = std::function<void()>;
  void at(std::int64_t delay_us, Task task, bool of_process = true);
  void violate(std::string what);
  void say(std::string line);
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  // Driving.
  void feed(SimRun& run, machine::Fact fact);
  void later(SimRun& run, std::int64_t delay_us, machine::Fact fact);
  void drive(SimRun& run, bool automatic);
  void after_feed(SimRun& run);
  void disturb();
  void disturb(Disturbance::What what);
  void crash();
  void people();
  void answer(SimRun& run);
  void post(SimRun& run, machine::fact::MessageArrived message);
  void next_execution();
  void roll_back();
  void change();
  [[nodiscard]] SimRun& main() { return *runs_.front(); }
  [[nodiscard]] std::shared_ptr<const machine::Definition> definition_of(const SimRun& run);

  // Commands.
  void execute(SimRun& run, const machine::Command& command);
  void start(SimRun& run, const machine::command::StartAttempt& c);
  void stop(SimRun& run, const machine::command::StopAttempt& c);
  void end_process(SimRun& run, machine::NodeId node, std::uint32_t start, int exit_code);
  void save(SimRun& run, const machine::SaveBatch& batch);
  static void forget_done(SimRun& run, const std::string& prefix);
  void make_durable(SimRun& run, const machine::SaveBatch& batch);
  void note_durable(SimRun& run, const machine::Record& record, std::uint64_t number);
  void load(SimRun& run, const machine::command::LoadOutput& c);
  void load_finished(SimRun& run, const machine::command::LoadFinished& c);
  void note_state(SimRun& run, const machine::SaveBatch& batch);
  void open_child(SimRun& run, const machine::command::StartChild& c);
  [[nodiscard]] SimRun* child_of(SimRun& run, machine::NodeId id);
  void stop_child(SimRun& run, const machine::command::StopChild& c);
  void read_inbox(SimRun& run, bool seal);
  void finished(SimRun& run, const machine::command::Finish& c);
  void grant();
  [[nodiscard]] static std::size_t position_of(const SimRun& run, std::uint64_t number);
  [[nodiscard]] static std::vector<machine::Record> all_records(const SimRun& run);
  [[nodiscard]] static std::vector<machine::Record> effective_records(const SimRun& run);
  [[nodiscard]] static RunState durable_state(const SimRun& run);

  // Checks.
  void check_start(SimRun& run, const machine::command::StartAttempt& c);
  [[nodiscard]] static std::uint64_t settled_in(const SimRun& run, const std::string& path);
  void check_running(SimRun& run);
  void check_same(const machine::State& expected, const machine::State& actual);
  void check_replay(SimRun& run, const machine::State& actual);
  void check_restored(SimRun& run);
  void check_changes(SimRun& run);
  void check_refused(SimRun& run, const machine::fact::MessageArrived& message, std::uint64_t before);
  void check_results(const machine::Node& map, const Json& results);
  void check_end(const machine::command::Finish& c);

  Plan plan_;
  Built built_;
  const Schedule& schedule_;
  std::function<void(std::string)> trace_;
  std::mt19937_64 random_;
  Ended ended_;
  std::int64_t now_us_ = 1'000'000'000;
  std::uint64_t epoch_ = 0;
  std::uint64_t order_ = 0;
  struct Event {
    std::uint64_t epoch;
    bool of_process;
    Task task;
  };
  std::map<std::pair<std::int64_t, std::uint64_t>, Event> events_;
  std::vector<std::unique_ptr<SimRun>> runs_;
  std::vector<std::pair<SimRun*, machine::NodeId>> permit_queue_;
  std::set<std::pair<SimRun*, machine::NodeId>> permits_;
  std::map<std::string, Json> cache_;
  std::map<std::string, std::uint32_t> failed_executions_;
  std::set<std::pair<std::string, std::uint64_t>> durable_batches_;  // run and batch of this process
  std::size_t next_disturbance_ = 0;
  std::size_t disk_full_until_ = 0;
  std::size_t no_spawn_until_ = 0;
  bool fail_next_sync_ = false;
  bool hopeless_ = false;
  bool roll_back_next_ = false;
  bool change_next_ = false;
  bool inputs_changed_ = false;  // the outputs can differ from the oracle's
  bool rolled_back_ = false;
  bool cancelled_ = false;
  bool lost_costs_ = false;  // an execution could not be saved, and with it what its attempts cost
  bool accept_changes_ = false;
  bool automatic_ = false;
  bool lost_attempts_ = false;  // by a reaper that died
  bool over_ = false;
  std::size_t manual_resumes_ = 0;
  std::size_t message_ids_ = 0;
  std::size_t idle_rounds_ = 0;
  std::uint64_t spent_tokens_ = 0;
  std::uint64_t budget_ = 0;
};

}  // namespace pawl::engine_sim
