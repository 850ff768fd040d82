// The parts of an Execution: nodes (steps in a scope), scopes and running maps. Private to its source files.
#pragma once

#include "engine/execution.hpp"

namespace pawl {

inline constexpr std::uint64_t kCaptureBytesMax = 1'000'000;
inline constexpr std::uint64_t kTailBytes = 2'000;  // of the log, in the event that reports a failure

/// Returns `steps` followed by the added ones. Steps that ran after `after` run after the added ones as well.
[[nodiscard]] Steps grow(const Steps& steps, const Steps& added, std::size_t after);

/// How an attempt ended.
struct Execution::Outcome {
  bool ok = false;
  bool retryable = true;
  std::string error;
  int exit_code = 0;
  std::optional<Json> output;
  StepReport report;
  bool reported = false;  // through a file that still exists
  std::uint64_t memory_peak_bytes = 0;
};

/// One step within one scope.
struct Execution::Node {
  const Step* step = nullptr;
  Scope* scope = nullptr;
  std::size_t index = 0;
  bool rejected = false;  // failed because a person rejected it or something inside it
  std::string path;
  StepRecord record;
  std::size_t blockers = 0;             // unsettled steps before it
  std::vector<std::size_t> dependents;  // siblings that come after it
  bool active = false;                  // started in this execution and not settled
  bool settled = false;
  bool retries_items = false;    // a failed map: its failed items run again
  bool seen_on_failure = false;  // its always() or failed() was evaluated after a failure

  std::optional<ProcessRunner::Number> process;
  std::shared_ptr<StepOutput> log;       // of its last attempt, until that is evaluated
  std::shared_ptr<StepOutput> captured;  // the same; null: standard output goes to the log
  bool in_handler = false;
  bool launching = false;  // waits until its start is durable, or for a free slot
  std::int64_t attempt_began_us = 0;
  std::int64_t timed_from_us = 0;  // of a step that contains others: its time before is in the record; 0: not started
  std::string killed;              // why it is being stopped; empty: it is not
  EventLoop::TimerId timeout = 0;
  EventLoop::TimerId total_timeout = 0;
  EventLoop::TimerId grace = 0;
  EventLoop::TimerId pause = 0;  // backoff, sleep or timeout of a wait
  bool pausing = false;

  std::unique_ptr<Scope> inner;  // an iteration, what runs aside, or a reduce
  std::unique_ptr<MapRun> map;
  std::unique_ptr<Execution> child;
  std::optional<Json> large_output;  // an output that is stored in an event
  mutable std::string text;          // its record as JSON; empty: not encoded yet
};

struct Execution::Scope {
  Scope* outer = nullptr;
  Node* owner = nullptr;
  const Steps* steps = nullptr;
  std::string prefix;
  std::vector<std::unique_ptr<Node>> nodes;
  std::size_t unsettled = 0;
  std::size_t active = 0;
  bool failed = false;
  std::string error;      // of the first failure
  bool rejected = false;  // whether that was a person's rejection
  bool is_item = false;
  bool is_reduce = false;
  bool is_aside = false;  // on_failure or confidence.then
  bool ended = false;
  std::uint64_t item_index = 0;
  Json item;
  std::string item_hash;
  std::uint32_t iteration = 0;  // of a loop; 0: not a loop
  std::uint32_t iteration_max = 0;
  std::function<void()> when_ended;
};

/// Returns whether the work consists of other steps, so that it has no attempts of its own.
[[nodiscard]] inline bool contains_steps(const Work& work) {
  return std::holds_alternative<Loop>(work) || std::holds_alternative<Map>(work) ||
         std::holds_alternative<CallWorkflow>(work);
}

/// Returns whether the scope is part of on_failure or confidence.then.
template <class Scope>
[[nodiscard]] bool is_aside(const Scope& scope) {
  for (const Scope* at = &scope; at != nullptr; at = at->outer) {
    if (at->is_aside) return true;
  }
  return false;
}

/// A running map.
struct Execution::MapRun {
  const Map* map = nullptr;
  Json items;        // an array; or
  std::string path;  // a JSON Lines file
  std::unique_ptr<LineSource> lines;
  std::uint64_t total = 0;
  std::string hash;
  std::unique_ptr<Steps> reduce_steps;  // one step, as a list for its scope
  std::uint64_t next = 0;               // the next index
  std::uint64_t line = 0;               // the index of the next line of `lines`
  std::unordered_map<std::uint64_t, std::unique_ptr<Scope>> running;
  std::uint64_t unsaved = 0;  // results that are not durable
  std::uint32_t failures_in_a_row = 0;
  bool stopped = false;  // too many failures
  bool open = false;     // the circuit breaker: nothing starts
  bool probing = false;  // one item is tried
  bool reducing = false;
  std::string error;
};

/// Provides the values of names in expressions.
class Execution::NodeNames final : public Names {
 public:
  NodeNames(const Execution& execution, const Scope& scope, const Node* node)
      : execution_(execution), scope_(scope), node_(node) {}
  [[nodiscard]] Result<Json> find(std::span<const PathPart> path) const override;
  [[nodiscard]] bool failed() const override;

 private:
  [[nodiscard]] Result<Json> find_step(std::string_view id) const;
  [[nodiscard]] const Node* find_node(std::string_view id) const;
  [[nodiscard]] std::optional<Result<Json>> find_alias(std::string_view name) const;
  [[nodiscard]] Result<Json> step_value(const Node& node) const;
  [[nodiscard]] Result<Json> special(std::string_view name) const;
  const Execution& execution_;
  const Scope& scope_;
  const Node* node_;
};

template <class Visit>
void Execution::for_each_node(Scope& scope, const Visit& visit) {
  for (const auto& node : scope.nodes) {
    visit(*node);
    if (node->inner) for_each_node(*node->inner, visit);
    if (node->map) {
      for (const auto& [index, item] : node->map->running) for_each_node(*item, visit);
    }
  }
}

}  // namespace pawl
