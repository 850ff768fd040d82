// Drives a machine by hand, for unit tests: answers saves at once unless told otherwise, and keeps the commands.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "base/assert.hpp"
#include "machine/machine.hpp"
#include "machine/snapshot.hpp"

namespace pawl::machine {

template <class T>
T parsed(Result<T> result) {
  PAWL_ASSERT(result.has_value());
  return std::move(*result);
}
inline Expression expression(const std::string& text) { return parsed(Expression::parse(text)); }
inline TextTemplate text(const std::string& source) {
  return parsed(TextTemplate::parse(source, reserved_names(), TextTemplate::Unknown::refuse));
}
inline ValueTemplate value(const Json& source) { return parsed(ValueTemplate::parse(source, reserved_names())); }

inline Step step_of(const std::string& id, Work work) {
  Step step;
  step.id = id;
  step.work = std::move(work);
  step.definition_hash = id + "00000000";
  step.retry.backoff = Milliseconds(100);
  return step;
}
inline Step handler(const std::string& id) { return step_of(id, CallHandler{id, value(Json::object())}); }
inline Step gate(const std::string& id) { return step_of(id, Approve{text("Continue?")}); }
inline std::shared_ptr<const Steps> list(Steps steps) {
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].after.empty()) steps[i].after.push_back(i - 1);
  }
  return std::make_shared<const Steps>(std::move(steps));
}
inline Step loop_of(const std::string& id, std::uint32_t max, Steps inner) {
  Loop loop;
  loop.max = max;
  loop.steps = list(std::move(inner));
  return step_of(id, loop);
}
inline Step map_of(const std::string& id, const Json& items, Steps inner) {
  Map map;
  map.items = value(items);
  map.steps = list(std::move(inner));
  return step_of(id, map);
}

class MachineTest : public ::testing::Test {
 protected:
  Workflow workflow;
  bool saves_succeed = true;
  bool stays = false;
  bool asks_a_person = false;
  State s;
  std::vector<Command> commands;  // since the last clear()
  std::vector<Record> journal;
  std::string durable;  // the state that the next execution starts from
  bool keeps_snapshots = true;
  Timestamp now{1'000'000'000'000};

  std::shared_ptr<const Definition> definition() {
    auto made = std::make_shared<Definition>();
    made->workflow = std::make_shared<const Workflow>(workflow);
    made->run_id = "r";
    made->run_uuid = "uuid";
    made->stays_while_waiting = stays;
    made->asks_a_person = asks_a_person;
    return made;
  }
  void sequential(Steps steps) { workflow.steps = *list(std::move(steps)); }
  void begin() {
    s = empty_state(definition());
    feed(fact::RunBegan{});
  }
  static std::string text_of(const RunState& state) { return compact(state.to_json()); }
  RunState saved() const { return parsed(RunState::from_json(parse_json(durable))); }
  /// The process dies; the next one starts from what is durable.
  void crash_and_resume(bool automatic = false, bool accept = false) {
    commands.clear();
    s = parsed(restore(definition(), saved()));
    feed(fact::RunResumed{.automatic = automatic, .changes_accepted = accept});
  }
  void feed(const Fact& fact) {
    std::vector<Fact> facts{fact};
    while (!facts.empty()) {
      const std::vector<Command> out = step(s, facts.front(), now);
      facts.erase(facts.begin());
      const auto same = [](std::uint64_t number) { return number; };
      for (const Command& command : out) {
        commands.push_back(command);
        if (const auto* save = std::get_if<command::Save>(&command); save != nullptr && saves_succeed) {
          if (keeps_snapshots) durable = text_of(snapshot(s, RunState(), same));
          journal.insert(journal.end(), save->batch->records.begin(), save->batch->records.end());
          facts.emplace_back(fact::SaveDurable{save->batch->id});
        }
        if (const auto* load = std::get_if<command::LoadFinished>(&command)) facts.emplace_back(finished(*load));
        if (const auto* read = std::get_if<command::ReadInbox>(&command))
          facts.emplace_back(fact::InboxRead{read->seal});
      }
    }
  }
  /// Lets time pass, and fires the timers that are due.
  void wait(Milliseconds time) {
    now.us += std::chrono::microseconds(time).count();
    for (const command::SetTimer& timer : all<command::SetTimer>()) {
      if (timer.due <= now) feed(fact::TimerDue{timer.timer});
    }
  }
  template <class T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const Command& command : commands) {
      if (const auto* wanted = std::get_if<T>(&command)) found.push_back(*wanted);
    }
    return found;
  }
  /// Paths of the attempts that were started since the last clear(), in order.
  std::vector<std::string> started() const {
    std::vector<std::string> paths;
    for (const auto& start : all<command::StartAttempt>()) paths.push_back(start.path);
    return paths;
  }
  const Node& at(const std::string& path) {
    const Node* node = find_node(s, path);
    PAWL_ASSERT(node != nullptr);
    return *node;
  }
  void end(const std::string& path, int exit_code = 0, Json output = {}, Report report = {}) {
    const Node& node = at(path);
    fact::AttemptEnded ended{.node = node.id, .start = node.record.starts, .exit_code = exit_code};
    ended.output = std::move(output);
    ended.report = std::move(report);
    feed(ended);
  }
  void not_started(const std::string& path, fact::Party party) {
    const Node& node = at(path);
    feed(fact::AttemptNotStarted{node.id, node.record.starts, party, "no memory", false});
  }
  void post(fact::MessageArrived message) {
    message.id = "m" + std::to_string(++messages_);
    feed(message);
  }
  void approve(const std::string& path, fact::MessageType type = fact::MessageType::approve) {
    post({.type = type, .path = path, .binding = at(path).record.binding, .by = "ann"});
  }
  std::optional<command::Finish> finish() const {
    const auto found = all<command::Finish>();
    return found.empty() ? std::nullopt : std::optional(found.back());
  }
  StepStatus status(const std::string& path) { return at(path).record.status; }
  template <class T>
  std::size_t recorded_count() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(journal, [](const Record& record) { return std::holds_alternative<T>(record.fact); }));
  }

 private:
  [[nodiscard]] fact::FinishedLoaded finished(const command::LoadFinished& load) const {
    auto hashes = std::make_shared<std::map<std::uint64_t, std::uint64_t>>();
    for (const Record& record : journal) {
      const auto* item = std::get_if<recorded::ItemEnded>(&record.fact);
      if (item != nullptr && item->path == load.path) (*hashes)[item->index] = item->hash;
    }
    return {.node = load.node, .hashes = hashes};
  }
  int messages_ = 0;
};

}  // namespace pawl::machine
