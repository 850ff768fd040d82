#include "testing/engine_sim_world.hpp"

#include <algorithm>

#include "domain/rolled_back.hpp"
#include "machine/names.hpp"
#include "machine/snapshot.hpp"

namespace pawl::engine_sim {

using namespace machine;

namespace {

constexpr std::size_t kFactsMax = 20'000;
constexpr std::size_t kIdleRoundsMax = 60;
constexpr std::size_t kManualResumesMax = 2;
constexpr std::int64_t kPeople_us = 4'000'000;

}  // namespace

World::World(const Plan& plan, const Schedule& schedule, std::function<void(std::string)> trace)
    : plan_(plan), built_(build(plan)), schedule_(schedule), trace_(std::move(trace)), random_(schedule.seed) {
  runs_.push_back(std::make_unique<SimRun>());
  main().key = "main";
  budget_ = plan.workflows[0].budget_tokens;
}

void World::violate(std::string what) {
  say("VIOLATION: " + what);
  if (!ended_.violation) ended_.violation = std::move(what);
  over_ = true;
}

void World::say(std::string line) {
  if (trace_) trace_(fmt::format("{:>12.6f} {}", static_cast<double>(now_us_) / 1e6, line));
}

/// Events of the process are lost when it dies.
void World::at(std::int64_t delay_us, Task task, bool of_process) {
  events_.emplace(std::pair(now_us_ + std::max<std::int64_t>(delay_us, 0), ++order_),
                  Event{epoch_, of_process, std::move(task)});
}

Ended World::play() {
  drive(main(), false);
  at(kPeople_us, [this] { people(); }, false);
  while (!over_ && !events_.empty()) {
    auto next = events_.extract(events_.begin());
    now_us_ = next.key().first;
    const Event& event = next.mapped();
    if (event.of_process && event.epoch != epoch_) continue;
    event.task();
    if (ended_.facts > kFactsMax) violate("the run does not end");
  }
  if (!over_) violate("nothing is left to happen, and the run has not ended");
  return ended_;
}

std::shared_ptr<const Definition> World::definition_of(const SimRun& run) {
  auto definition = std::make_shared<Definition>();
  definition->workflow = built_.workflows[run.workflow];
  definition->run_id = run.key;
  definition->run_uuid = run.key;
  definition->vars = run.vars;
  definition->parse_added = parse_added;
  definition->stays_while_waiting = run.parent == nullptr && below(3) == 0;
  return definition;
}

RunState World::durable_state(const SimRun& run) {
  if (run.durable.empty()) return {};
  return RunState::from_json(parse_json(run.durable)).value();
}

/// Starts or resumes a machine for the run in the process that lives now.
void World::drive(SimRun& run, bool automatic) {
  check_restored(run);
  if (over_) return;
  const RunState from = durable_state(run);
  const std::shared_ptr<const Definition> definition = definition_of(run);
  run.state = run.durable.empty() ? empty_state(definition) : restore(definition, from).value();
  if (!run.checked || std::exchange(run.other_progress, false)) {
    run.checked = run.state;
    run.checked_from = run.journal.size();
  }
  run.base = from;
  run.base.steps.clear();
  run.first = run.journal.size();
  run.event_of.clear();
  run.saves.clear();
  run.shadow.clear();
  for (const auto& [path, record] : snapshot(*run.state, run.base, [](std::uint64_t n) { return n; }).steps)
    run.shadow[path] = compact(record.to_json());
  run.live = true;
  ++run.life;
  std::erase_if(durable_batches_, [&](const auto& batch) { return batch.first == run.key; });
  run.sealed = false;
  run.told_tokens = 0;
  run.processes.clear();
  const bool fresh = run.durable.empty();
  if (!fresh) ++ended_.resumes;
  for (const auto& [attempt, tokens] : std::map(run.left))
    feed(run, fact::AttemptLeft{attempt.first, attempt.second, Report{.usage = {.tokens = tokens}}});
  if (fresh) feed(run, fact::RunBegan{});
  if (!run.live) return;
  Json budget;
  if (&run == &main() && budget_ > 0) budget = {{"tokens", budget_}};
  if (!automatic) run.failures.clear();
  if (!fresh)
    feed(run, fact::RunResumed{.automatic = automatic, .changes_accepted = accept_changes_, .budget = budget});
  for (const Message& message : std::vector(run.inbox)) later(run, 10, message.fact);
}

void World::later(SimRun& run, std::int64_t delay_us, Fact fact) {
  at(delay_us, [this, &run, life = run.life, fact = std::move(fact)] {
    if (run.life == life) feed(run, fact);
  });
}

void World::feed(SimRun& run, Fact fact) {
  if (over_ || !run.live) return;
  ++ended_.facts;
  idle_rounds_ = 0;
  if (trace_) {
    std::string detail;
    if (const auto* left = std::get_if<fact::AttemptLeft>(&fact)) detail = left->path;
    if (const auto* timer = std::get_if<fact::TimerDue>(&fact))
      detail = std::to_string(static_cast<std::uint64_t>(timer->timer));
    say(fmt::format("{}: fact {} {}", run.key, fact.index(), detail));
  }
  const std::uint64_t before = run.state->records;
  const bool cancelled = run.state->hold == Hold::cancel;
  const std::vector<Command> commands = step(*run.state, fact, Timestamp{now_us_});
  if (const auto* message = std::get_if<fact::MessageArrived>(&fact); message != nullptr && cancelled)
    check_refused(run, *message, before);
  if (over_) return;
  if (trace_ && run.state->records > before) {
    const auto& unsaved = run.state->saving.unsaved;
    const auto batch = run.state->saving.in_flight ? run.state->saving.in_flight->records : std::vector<Record>{};
    for (const auto* list : {&batch, &unsaved}) {
      for (const Record& record : *list) {
        if (record.at.us == run.state->last_at.us)
          say(fmt::format("{}:   {}", run.key, compact(to_json(record)).substr(0, 220)));
      }
    }
  }
  for (const Command& command : commands) execute(run, command);
  check_changes(run);
  if (over_) return;
  after_feed(run);
  if (!over_) disturb();
}

void World::after_feed(SimRun& run) {
  if (!run.live) return;
  check_running(run);
  if (run.parent != nullptr && run.state->usage.tokens != run.told_tokens && run.parent->live) {
    run.told_tokens = run.state->usage.tokens;
    later(*run.parent, 5, fact::ChildReported{.node = run.parent_node, .usage = run.state->usage});
  }
}

void World::disturb() {
  while (next_disturbance_ < schedule_.disturbances.size() &&
         schedule_.disturbances[next_disturbance_].at <= ended_.facts && !over_) {
    const Disturbance::What what = schedule_.disturbances[next_disturbance_++].what;
    disturb(what);
  }
}

void World::disturb(Disturbance::What what) {
  using Trouble = Disturbance::What;
  say(fmt::format("disturbance {}", static_cast<int>(what)));
  switch (what) {
    case Trouble::crash: return at(0, [this] { crash(); });
    case Trouble::reaper:
      lost_attempts_ = true;
      for (const auto& run : runs_) {
        if (!run->live) continue;
        for (const auto& [node, process] : std::map(run->processes)) {
          run->processes.erase(node);
          later(*run, 1, fact::AttemptLost{node, process.start, Report{.usage = {.tokens = process.tokens}}});
        }
      }
      return;
    case Trouble::interrupt: return later(main(), 0, fact::Interrupted{"signal"});
    case Trouble::cancel: cancelled_ = true; return post(main(), {.type = fact::MessageType::cancel, .text = "enough"});
    case Trouble::full_disk: disk_full_until_ = ended_.facts + 3 + below(40); return;
    case Trouble::failing_sync: fail_next_sync_ = true; return;
    case Trouble::hopeless_save: hopeless_ = true; return;
    case Trouble::no_spawn: no_spawn_until_ = ended_.facts + 3 + below(30); return;
    case Trouble::rollback: roll_back_next_ = true; return;
    case Trouble::changed: change_next_ = true; return;
    case Trouble::early_signal:
      return post(*runs_[below(runs_.size())],
                  {.type = fact::MessageType::signal, .text = kSignal, .payload = {{"payload", 1}}});
    case Trouble::wrong_decision:
      return post(main(), {.type = fact::MessageType::approve, .path = "s1", .binding = "sha256:0", .by = "eve"});
  }
}

/// The process dies. What was not durable is lost.
void World::crash() {
  if (!main().live) return;
  say("crash");
  ++epoch_;
  for (const auto& run : runs_) {
    if (!run->live) continue;
    const auto& batch = run->state->saving.in_flight;
    lost_costs_ = lost_costs_ || run->state->saving.memory_only;
    const bool known = batch && durable_batches_.contains({run->key, batch->id});
    if (batch && !known && below(2) == 0 && !hopeless_) make_durable(*run, *batch);
    run->live = false;
    run->processes.clear();
  }
  durable_batches_.clear();
  permits_.clear();
  permit_queue_.clear();
  disk_full_until_ = 0;
  no_spawn_until_ = 0;
  hopeless_ = false;
  fail_next_sync_ = false;
  automatic_ = below(2) == 0;
  at(1'000'000, [this] {
    if (!main().live) drive(main(), automatic_);
  });
}

/// People look from time to time, and answer what waits.
void World::people() {
  if (over_) return;
  if (main().live) {
    if (++idle_rounds_ > kIdleRoundsMax) {
      std::string waits = fmt::format("{}", fmt::join(waiting_for(*main().state), ", "));
      return violate("the run hangs; it waits for: " + waits);
    }
    const std::size_t rounds = idle_rounds_;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (below(2) == 0 || rounds > 5) answer(*runs_[i]);
    }
  }
  at(kPeople_us, [this] { people(); }, false);
}

void World::post(SimRun& run, fact::MessageArrived message) {
  if (run.sealed) return;  // refused at once: it was not acknowledged
  if (run.status == RunStatus::completed || run.status == RunStatus::cancelled) return;
  message.id = fmt::format("m{:06}", ++message_ids_);
  message.at = Timestamp{now_us_};
  say(fmt::format("{}: post {} type {} {}", run.key, message.id, static_cast<int>(message.type), message.path));
  run.inbox.push_back({message});
  if (run.live) later(run, static_cast<std::int64_t>(below(2'000)), message);
}

/// Decides every gate that waits and sends every signal.
void World::answer(SimRun& run) {
  if (!run.state) return;
  const std::set<std::string> rejecting = rejecting_gates(plan_);
  std::size_t signals = 0;
  for (const Message& message : run.inbox) signals += message.fact.type == fact::MessageType::signal ? 1 : 0;
  std::vector<fact::MessageArrived> messages;
  for (const auto& [id, node] : run.state->nodes) {
    const bool decided = is_settled(node.record.status) && !node.record.binding.empty();
    if (decided && below(4) == 0) {  // somebody else answers the same gate later
      const bool approved = node.record.status == StepStatus::completed;
      const auto other = approved ? fact::MessageType::reject : fact::MessageType::approve;
      messages.push_back({.type = other, .path = node.path, .binding = node.record.binding, .by = "bob"});
    }
    if (node.record.status != StepStatus::waiting) continue;
    if (node.record.reason == StepReason::approval) {
      const bool asked = std::ranges::any_of(run.inbox, [&](const Message& m) { return m.fact.path == node.path; });
      if (asked) continue;
      const bool no = rejecting.contains(node.step->id);
      const auto type = no ? fact::MessageType::reject : fact::MessageType::approve;
      const auto other = no ? fact::MessageType::approve : fact::MessageType::reject;
      if (below(6) == 0) messages.push_back({.type = other, .path = node.path, .binding = "sha256:1", .by = "eve"});
      messages.push_back({.type = type, .path = node.path, .binding = node.record.binding, .by = "ann"});
    }
    if (node.record.reason == StepReason::signal && signals + run.state->signals.size() == 0) {
      ++signals;
      messages.push_back({.type = fact::MessageType::signal, .text = kSignal, .payload = {{"payload", 1}}});
    }
  }
  std::ranges::sort(messages, {}, &fact::MessageArrived::path);
  for (fact::MessageArrived& message : messages) post(run, std::move(message));
  // A child that left while it waited is opened again where its parent still runs.
  SimRun* asleep = &run;
  while (asleep->parent != nullptr && !asleep->parent->live) asleep = asleep->parent;
  if (asleep->live || asleep->parent == nullptr || run.inbox.empty() || asleep->status != RunStatus::waiting) return;
  const Node* node = find_node(std::as_const(*asleep->parent->state), asleep->parent_node);
  if (node == nullptr || node->activity != Activity::child_waiting || node->record.child_run != asleep->key) return;
  later(*asleep->parent, 5, fact::ChildWoken{asleep->parent_node});
}

/// Decides what happens after an execution ended without the run being over.
void World::next_execution() {
  disk_full_until_ = 0;
  no_spawn_until_ = 0;
  hopeless_ = false;
  fail_next_sync_ = false;
  if (main().status == RunStatus::failed && manual_resumes_++ >= kManualResumesMax) {
    over_ = true;
    return;
  }
  const bool waits = main().status == RunStatus::waiting;
  if (waits) {
    for (std::size_t i = 0; i < runs_.size(); ++i) answer(*runs_[i]);
    if (budget_ > 0) budget_ += 200;
  }
  if (std::exchange(roll_back_next_, false)) roll_back();
  if (std::exchange(change_next_, false)) change();
  automatic_ = main().status == RunStatus::interrupted && below(2) == 0;
  drive(main(), automatic_);
}

void World::roll_back() {
  SimRun& run = main();
  if (run.points.empty()) return;
  rolled_back_ = true;
  check_restored(run);
  const SimRun::Point& point = run.points[below(run.points.size())];
  const RunState to = RunState::from_json(parse_json(point.state)).value();
  run.durable = compact(rolled_back(to, durable_state(run)).to_json());
  run.other_progress = true;
  say(fmt::format("rolled back to record {}", point.records));
  std::erase_if(run.done, [&](const auto& entry) { return entry.second > point.records; });
  run.status = RunStatus::interrupted;
  run.failures.clear();
}

/// Changes one of the workflow's own steps.
void World::change() {
  std::vector<StepPlan>& steps = plan_.workflows[0].steps;
  if (steps.empty()) return;
  std::vector<std::size_t> maps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].what == StepPlan::What::map) maps.push_back(i);
  }
  const bool takes_map = !maps.empty() && below(2) == 0;
  StepPlan& step = steps[takes_map ? maps[below(maps.size())] : below(steps.size())];
  say("changed: " + step.id);
  check_restored(main());
  main().other_progress = true;
  ++step.version;
  main().failures.clear();
  inputs_changed_ = true;
  accept_changes_ = true;
  built_ = build(plan_);
  const auto inside = [&](const std::string& path) {
    return path == step.id || path.starts_with(step.id + "[") || path.starts_with(step.id + ".");
  };
  std::erase_if(main().done, [&](const auto& entry) { return inside(entry.first); });
  // The items of later maps can change with it, and with them what is inside.
  std::erase_if(main().done, [](const auto& entry) { return entry.first.find('[') != std::string::npos; });
}

}  // namespace pawl::engine_sim
