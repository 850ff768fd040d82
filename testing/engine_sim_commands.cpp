// What the simulated world does with the commands of a machine.
#include <algorithm>

#include "machine/names.hpp"
#include "machine/results.hpp"
#include "machine/snapshot.hpp"
#include "testing/engine_sim_world.hpp"

namespace pawl::engine_sim {

using namespace machine;

namespace {

constexpr std::int64_t kGrace_us = 10'000'000;
constexpr std::size_t kPermits = 2;

}  // namespace

void World::execute(SimRun& run, const Command& command) {
  if (over_ || !run.live) return;
  if (const auto* c = std::get_if<command::StartAttempt>(&command)) return start(run, *c);
  if (const auto* c = std::get_if<command::StopAttempt>(&command)) return stop(run, *c);
  if (const auto* c = std::get_if<command::SetTimer>(&command))
    return later(run, c->due.us - now_us_, fact::TimerDue{c->timer});
  if (const auto* c = std::get_if<command::Save>(&command)) return save(run, *c->batch);
  if (const auto* c = std::get_if<command::LoadOutput>(&command)) return load(run, *c);
  if (const auto* c = std::get_if<command::LoadFinished>(&command)) return load_finished(run, *c);
  if (const auto* c = std::get_if<command::LoadItems>(&command)) {
    auto hashes = std::make_shared<std::vector<std::uint64_t>>();
    for (const Json& item : items_of_file(c->file)) hashes->push_back(hash_of_item(item));
    return later(run, 20, fact::ItemsLoaded{.node = c->node, .hash = "sha256:" + c->file, .item_hashes = hashes});
  }
  if (const auto* c = std::get_if<command::LoadItem>(&command)) {
    const Node* node = find_node(std::as_const(*run.state), c->node);
    const Json items = items_of_file(std::get<Map>(node->step->work).items_from->source());
    return later(run, 20, fact::ItemLoaded{.node = c->node, .index = c->index, .item = items[c->index]});
  }
  if (const auto* c = std::get_if<command::StartChild>(&command)) return open_child(run, *c);
  if (const auto* c = std::get_if<command::StopChild>(&command)) return stop_child(run, *c);
  if (const auto* c = std::get_if<command::PauseChild>(&command)) {
    SimRun* child = child_of(run, c->node);
    if (child != nullptr && child->live) later(*child, 5, fact::PauseRequested{});
    return;
  }
  if (const auto* c = std::get_if<command::AcquirePermits>(&command)) {
    permit_queue_.emplace_back(&run, c->node);
    return grant();
  }
  if (const auto* c = std::get_if<command::ReleasePermits>(&command)) {
    permits_.erase({&run, c->node});
    std::erase(permit_queue_, std::pair(&run, c->node));
    return grant();
  }
  if (const auto* c = std::get_if<command::LookUpCache>(&command)) {
    const Node* node = find_node(std::as_const(*run.state), c->node);
    const Scope& scope = scope_at(std::as_const(*run.state), node->scope);
    const auto input = std::get<CallHandler>(node->step->work).with.evaluate(StateNames(*run.state, scope, node));
    const auto hit = cache_.find(c->key + compact(input.value_or(Json())));
    const bool known = hit != cache_.end();
    return later(run, 30, fact::CacheAnswered{c->node, known, known ? hit->second : Json(), known ? "RUN@1" : ""});
  }
  if (const auto* c = std::get_if<command::StoreCache>(&command)) {
    const Result<Json> output = output_in(all_records(run), position_of(run, c->record));
    if (!output) return violate("a result for the cache is missing: " + output.error().message);
    cache_[c->key + compact(run.inputs[c->path])] = *output;
    return;
  }
  if (const auto* c = std::get_if<command::TakeMessage>(&command)) {
    std::erase_if(run.inbox, [&](const Message& message) { return message.fact.id == c->id; });
    return;
  }
  if (const auto* c = std::get_if<command::ReadInbox>(&command))
    return at(10, [this, &run, life = run.life, sealing = c->seal] {
      if (run.life == life) read_inbox(run, sealing);
    });
  if (std::holds_alternative<command::UnsealInbox>(command)) {
    run.sealed = false;
    return;
  }
  if (const auto* c = std::get_if<command::Finish>(&command)) return finished(run, *c);
}

/// Whoever posts after an inbox is sealed gets an error instead of an acknowledgement.
void World::read_inbox(SimRun& run, bool seal) {
  if (!run.live) return;
  run.sealed = seal;
  for (const Message& message : std::vector(run.inbox)) feed(run, message.fact);
  if (run.live) feed(run, fact::InboxRead{seal});
}

void World::grant() {
  while (!permit_queue_.empty() && permits_.size() < kPermits) {
    const auto [run, node] = permit_queue_.front();
    permit_queue_.erase(permit_queue_.begin());
    permits_.insert({run, node});
    later(*run, 10, fact::PermitsGranted{node});
  }
}

void World::start(SimRun& run, const command::StartAttempt& c) {
  check_start(run, c);
  if (over_) return;
  if (ended_.facts < std::max(no_spawn_until_, disk_full_until_))
    return later(run, 5,
                 fact::AttemptNotStarted{c.node, c.start, fact::Party::machine, "cannot allocate memory", true});
  ++ended_.attempts;
  const Node& node = node_at(std::as_const(*run.state), c.node);
  const Scope& scope = scope_at(std::as_const(*run.state), node.scope);
  const Result<Json> input = std::get<CallHandler>(node.step->work).with.evaluate(StateNames(*run.state, scope, &node));
  if (!input) return violate(fmt::format("the input of {} can't be evaluated: {}", c.path, input.error().message));
  const auto script = built_.scripts.find(std::get<CallHandler>(node.step->work).name);
  Process process{c.path, c.start, script == built_.scripts.end() ? Script{} : script->second, *input, 0, false};
  say(fmt::format("{}: start {} #{} {}", run.key, c.path, c.start, compact(*input).substr(0, 150)));
  run.left[{c.path, c.start}] = 0;
  run.inputs[c.path] = *input;
  const std::int64_t duration_us = process.script.duration_us;
  const bool hangs = process.script.hangs;
  const std::uint64_t half = process.script.tokens / 2;
  run.processes[c.node] = std::move(process);
  later(run, 1, fact::AttemptStarted{c.node, c.start});
  if (half > 0 && below(2) == 0) {
    at(duration_us / 2, [this, &run, life = run.life, c, half] {
      const auto found = run.processes.find(c.node);
      if (!run.live || run.life != life || found == run.processes.end() || found->second.start != c.start) return;
      spent_tokens_ += half - found->second.tokens;
      found->second.tokens = half;
      run.left[{c.path, c.start}] = half;
      feed(run, fact::AttemptReported{c.node, c.start, Report{.usage = {.tokens = half}}});
    });
  }
  if (!hangs)
    at(duration_us, [this, &run, life = run.life, c] {
      if (run.life == life) end_process(run, c.node, c.start, -1);
    });
}

/// `exit_code` -1: as the script says.
void World::end_process(SimRun& run, NodeId id, std::uint32_t start, int exit_code) {
  const auto found = run.processes.find(id);
  if (!run.live || found == run.processes.end() || found->second.start != start) return;
  const Process process = found->second;
  run.processes.erase(found);
  fact::AttemptEnded ended{.node = id, .start = start};
  if (exit_code < 0) {
    spent_tokens_ += process.script.tokens - process.tokens;
    run.left[{process.path, start}] = process.script.tokens;
    ended.report.usage.tokens = process.script.tokens;
    std::uint32_t& failed = failed_executions_[run.key + "/" + process.path];
    const std::string step = process.path.substr(process.path.rfind('.') + 1);
    if (breaks_with(process.script, process.input)) {
      ended.output = output_of_failure(process.script, step, process.input);
      ended.exit_code = process.script.exit_code;
    } else if (failed < process.script.fails) {
      ++failed;
      ended.exit_code = process.script.exit_code;
    } else {
      ended.output = output_with(process.script, step, process.input);
      if (process.script.doubts) ended.report.confidence = 0.1;
      if (process.script.adds > 0) ended.add_steps = added_by(step, process.script.adds);
    }
  } else {
    ended.exit_code = exit_code;
    ended.report.usage.tokens = process.tokens;
    ended.output = kOutputOfStopped;
  }
  ended.ms = static_cast<std::uint64_t>(process.script.duration_us / 1000);
  feed(run, ended);
}

void World::stop(SimRun& run, const command::StopAttempt& c) {
  const auto found = run.processes.find(c.node);
  if (found == run.processes.end() || found->second.start != c.start) return;
  found->second.stopping = true;
  const auto end = [this, &run, c](std::int64_t delay_us, int code) {
    at(delay_us, [this, &run, life = run.life, c, code] {
      if (run.life == life) end_process(run, c.node, c.start, code);
    });
  };
  switch (found->second.script.on_term) {
    case Script::OnTerm::dies: return end(1'000, 143);
    case Script::OnTerm::exits_with_0: return end(1'000, 0);
    case Script::OnTerm::ignores: return end(kGrace_us, 137);
  }
}

/// Returns the position of the record that a number of the current execution names: that of an event or of a record.
std::size_t World::position_of(const SimRun& run, std::uint64_t number) {
  if (number > run.state->base) return run.first + (number - run.state->base);
  const auto found = std::ranges::lower_bound(run.events, number);
  return found == run.events.end() || *found != number ? 0 : static_cast<std::size_t>(found - run.events.begin()) + 1;
}

std::vector<Record> World::all_records(const SimRun& run) {
  std::vector<Record> all = run.journal;
  const Saving& saving = run.state->saving;
  const auto add = [&](Record record) {
    std::visit(
        [&](auto& fact) {
          if constexpr (requires { fact.output_of; })
            fact.output_of = fact.output_of == 0 ? 0 : position_of(run, fact.output_of);
        },
        record.fact);
    all.push_back(std::move(record));
  };
  if (saving.in_flight && position_of(run, saving.in_flight->first) == all.size() + 1) {
    for (const Record& record : saving.in_flight->records) add(record);
  }
  for (const Record& record : saving.unsaved) add(record);
  return all;
}

/// Returns the records that no rollback took back, at their positions.
std::vector<Record> World::effective_records(const SimRun& run) {
  std::vector<Record> records = all_records(run);
  for (std::size_t i = 0; i < run.events.size(); ++i) {
    if (!run.base.lost.contains(run.events[i])) continue;
    if (std::holds_alternative<recorded::ItemEnded>(records[i].fact)) records[i] = {};
  }
  return records;
}

void World::load(SimRun& run, const command::LoadOutput& c) {
  const Node& node = node_at(std::as_const(*run.state), c.node);
  if (c.record > 0) {
    Result<Json> output = output_in(all_records(run), position_of(run, c.record));
    if (!output) return violate(fmt::format("the output of {} is lost: {}", c.path, output.error().message));
    return later(run, 20, fact::OutputLoaded{c.node, "", std::move(*output)});
  }
  Json results = results_of(node, effective_records(run));
  check_results(node, results);
  if (over_) return;
  for (Json& result : results) result.erase("error");
  later(run, 20, fact::OutputLoaded{c.node, "", std::move(results)});
}

void World::load_finished(SimRun& run, const command::LoadFinished& c) {
  const Node& map = node_at(std::as_const(*run.state), c.node);
  auto hashes = std::make_shared<std::map<std::uint64_t, std::uint64_t>>();
  for (const Record& record : effective_records(run)) {
    const auto* item = std::get_if<recorded::ItemEnded>(&record.fact);
    if (item != nullptr && item->path == c.path && map.record.map->done.contains(item->index))
      (*hashes)[item->index] = item->hash;
  }
  later(run, 20, fact::FinishedLoaded{.node = c.node, .hashes = hashes});
}

/// The state is that of the moment when the batch is made. A repeated batch has the same state.
void World::note_state(SimRun& run, const SaveBatch& batch) {
  if (run.saves.contains(batch.id)) return;
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    run.base.events += below(3) == 0 ? 2U : 1U;  // an announcement may have a number in between
    run.event_of.push_back(run.base.events);
  }
  const auto event_of = [&](std::uint64_t record) { return run.event_of.at(record - run.state->base - 1); };
  run.saves[batch.id] = compact(snapshot(*run.state, run.base, event_of).to_json());
}

void World::save(SimRun& run, const SaveBatch& batch) {
  note_state(run, batch);
  const std::int64_t delay_us = 100 + static_cast<std::int64_t>(below(2'000));
  at(delay_us, [this, &run, life = run.life, batch] {
    if (!run.live || run.life != life) return;
    if (hopeless_) return feed(run, fact::SaveFailed{batch.id, fact::SaveTrouble::hopeless, "read-only file system"});
    if (ended_.facts < disk_full_until_)
      return feed(run, fact::SaveFailed{batch.id, fact::SaveTrouble::passing, "no space left on device"});
    if (std::exchange(fail_next_sync_, false)) {
      if (below(2) == 0) make_durable(run, batch);
      return feed(run, fact::SaveFailed{batch.id, fact::SaveTrouble::passing, "the outcome is unknown"});
    }
    make_durable(run, batch);
    if (!over_) feed(run, fact::SaveDurable{batch.id});
  });
}

/// A batch that is durable already is answered, not doubled.
void World::make_durable(SimRun& run, const SaveBatch& batch) {
  if (!durable_batches_.insert({run.key, batch.id}).second) return;
  if (position_of(run, batch.first) != run.journal.size() + 1)
    return violate(fmt::format("a batch begins with record {} after {}", batch.first, run.journal.size()));
  for (const Record& record : batch.records) {
    Result<Record> read = record;
    if (below(8) == 0) read = record_from_json(to_json(record));
    if (!read) return violate("a record can't be read: " + read.error().message);
    std::visit(
        [&](auto& fact) {
          if constexpr (requires { fact.output_of; })
            fact.output_of = fact.output_of == 0 ? 0 : position_of(run, fact.output_of);
        },
        read->fact);
    run.events.push_back(run.event_of.at(run.journal.size() - run.first));
    run.journal.push_back(std::move(*read));
    note_durable(run, record, run.journal.size());
  }
  run.durable = run.saves.at(batch.id);
  run.points.push_back({run.durable, run.journal.size()});
}

void World::forget_done(SimRun& run, const std::string& prefix) {
  std::erase_if(run.done, [&](const auto& entry) { return entry.first.starts_with(prefix); });
}

void World::note_durable(SimRun& run, const Record& record, std::uint64_t number) {
  if (const auto* settled = std::get_if<recorded::StepSettled>(&record.fact)) {
    if (settled->status == StepStatus::completed && settled->start > 0) run.done[settled->path] = number;
    // What ran because of a failure may run again after the next one.
    if (settled->status == StepStatus::failed) forget_done(run, settled->path + ".on_failure.");
  }
  if (const auto* ended = std::get_if<recorded::RunEnded>(&record.fact);
      ended != nullptr && ended->status == RunStatus::failed)
    forget_done(run, "on_failure.");
  if (const auto* decided = std::get_if<recorded::Decided>(&record.fact)) {
    if (!run.decisions.insert(decided->path + " " + decided->binding).second)
      return violate(fmt::format("a second decision on {} counts", decided->path));
  }
  if (const auto* ended = std::get_if<recorded::AttemptEnded>(&record.fact)) {
    if (ended->how == recorded::AttemptEnd::failed) ++run.failures[ended->path];
  }
}

void World::open_child(SimRun& run, const command::StartChild& c) {
  auto found = std::ranges::find_if(runs_, [&](const auto& other) { return other->key == c.key; });
  if (found == runs_.end()) {
    runs_.push_back(std::make_unique<SimRun>());
    runs_.back()->key = c.key;
    runs_.back()->workflow = std::stoul(c.file.substr(1));
    runs_.back()->vars = c.with;
    found = std::prev(runs_.end());
  }
  SimRun& child = **found;
  if (child.vars != c.with && !child.durable.empty())
    return violate(fmt::format("child {} is used with other values", c.key));
  if (child.live) return violate(fmt::format("child {} is opened twice", c.key));
  child.parent = &run;
  child.parent_node = c.node;
  if (ended_.facts < std::max(no_spawn_until_, disk_full_until_))
    return later(run, 5, fact::ChildNotOpened{c.node, fact::Party::machine, "no space left on device"});
  child.opening = epoch_ + 1;
  at(50, [this, &run, &child, c] {
    child.opening = 0;
    if (!run.live) return;
    feed(run, fact::ChildOpened{c.node, child.key});
    if (!run.live || child.live) return;
    if (child.status == RunStatus::completed || child.status == RunStatus::cancelled) {
      const RunState state = durable_state(child);
      return feed(run, fact::ChildEnded{
                           .node = c.node, .status = child.status, .outputs = state.outputs, .usage = state.usage});
    }
    const Node* node = find_node(std::as_const(*run.state), c.node);
    if (node == nullptr || node->activity == Activity::child_stopping)
      return feed(run, fact::ChildEnded{.node = c.node, .status = RunStatus::interrupted});
    drive(child, automatic_);
  });
}

SimRun* World::child_of(SimRun& run, NodeId id) {
  const Node* node = find_node(std::as_const(*run.state), id);
  if (node == nullptr) return nullptr;
  for (const auto& child : runs_) {
    const bool its_own = child->parent == &run && child->parent_node == id;
    if (its_own && child->key.ends_with(fmt::format("#{}", node->record.child_number))) return child.get();
  }
  return nullptr;
}

void World::stop_child(SimRun& run, const command::StopChild& c) {
  SimRun* child = child_of(run, c.node);
  if (child == nullptr || !child->live) {
    const bool opening = child != nullptr && child->opening == epoch_ + 1;
    if (!opening) later(run, 5, fact::ChildEnded{.node = c.node, .status = RunStatus::interrupted});
    return;
  }
  if (c.how == command::StopChildHow::interrupt) return later(*child, 5, fact::Interrupted{"the parent stops"});
  post(*child, {.type = fact::MessageType::cancel, .text = "the parent is cancelled"});
}

void World::finished(SimRun& run, const command::Finish& c) {
  say(fmt::format("{}: finish {} {}", run.key, to_text(c.status), c.error));
  if (!run.processes.empty()) return violate("the execution ended while a process runs");
  if (c.everything_saved) check_replay(run, *run.state);
  run.live = false;
  run.sealed = false;
  if (c.everything_saved) {
    run.status = c.status;
    run.left.clear();
  } else {
    run.status = RunStatus::interrupted;
    lost_costs_ = lost_costs_ || runs_.size() > 1;
  }
  if (run.parent != nullptr) {
    if (!run.parent->live) return;
    const Scope& top = scope_at(std::as_const(*run.state), run.state->top);
    return later(*run.parent, 5,
                 fact::ChildEnded{.node = run.parent_node,
                                  .status = c.everything_saved ? c.status : RunStatus::interrupted,
                                  .error = c.error,
                                  .rejected = top.rejected,
                                  .paused = is_paused(*run.state),
                                  .outputs = run.state->outputs,
                                  .usage = run.state->usage});
  }
  ++epoch_;
  durable_batches_.clear();
  permits_.clear();
  permit_queue_.clear();
  check_end(c);
  if (over_) return;
  at(1'000'000, [this] { next_execution(); }, false);
}

}  // namespace pawl::engine_sim
