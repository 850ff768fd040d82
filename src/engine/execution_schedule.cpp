// Decides which step runs next: scopes, needs, conditions, loops and child workflows.
#include <algorithm>
#include <csignal>

#include "base/error_line.hpp"
#include "domain/event_types.hpp"
#include "engine/execution_parts.hpp"
#include "engine/open_run.hpp"

namespace pawl {
namespace {

constexpr std::size_t kStepsMax = 10'000;   // in one scope, including added ones
constexpr std::size_t kChildDepthMax = 32;  // of child workflows

std::string joined(std::string_view prefix, std::string_view id) {
  return prefix.empty() ? std::string(id) : fmt::format("{}.{}", prefix, id);
}

}  // namespace

Steps grow(const Steps& steps, const Steps& added, std::size_t after) {
  Steps all = steps;
  for (Step& step : all) {
    const bool follows = std::ranges::find(step.after, after) != step.after.end();
    for (std::size_t i = 0; follows && i < added.size(); ++i) step.after.push_back(steps.size() + i);
  }
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

std::unique_ptr<Execution::Scope> Execution::make_scope(Scope* outer, Node* owner, const Steps& steps,
                                                        std::string prefix) {
  auto scope = std::make_unique<Scope>();
  scope->outer = outer;
  scope->owner = owner;
  scope->steps = &steps;
  scope->prefix = std::move(prefix);
  scope->unsettled = steps.size();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto node = std::make_unique<Node>();
    node->step = &steps[i];
    node->scope = scope.get();
    node->index = i;
    node->path = joined(scope->prefix, steps[i].id);
    node->blockers = steps[i].after.size();
    if (const auto found = loaded_.find(node->path); found != loaded_.end()) {
      node->record = std::move(found->second);
      loaded_.erase(found);
    }
    scope->nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const std::size_t before : steps[i].after) scope->nodes[before]->dependents.push_back(i);
  }
  return scope;
}

/// Applies steps that are already settled, and starts the rest.
void Execution::enter(Scope& scope) {
  for (const auto& node : scope.nodes) {
    const StepStatus status = node->record.status;
    const bool kept = status == StepStatus::completed || status == StepStatus::skipped ||
                      (status == StepStatus::failed && node->step->continue_on_error);
    if (!kept) continue;
    node->settled = true;
    --scope.unsettled;
  }
  for (const auto& node : scope.nodes) {
    if (node->settled && node->step->after.empty()) release(*node);
  }
  consider_all(scope);
  check_scope(scope);
}

/// Releases the steps after a settled one. A step that an earlier execution settled releases its successors only when
/// everything before it is settled too: a reopened map delays all unfinished steps after it.
void Execution::release(Node& first) {
  Scope& scope = *first.scope;
  std::vector<Node*> released{&first};
  std::vector<Node*> startable;
  while (!released.empty()) {
    const Node& node = *released.back();
    released.pop_back();
    for (const std::size_t dependent : node.dependents) {
      Node& next = *scope.nodes[dependent];
      if (--next.blockers > 0) continue;
      (next.settled ? released : startable).push_back(&next);
    }
  }
  for (Node* node : startable) consider(*node);
}

void Execution::consider_all(Scope& scope) {
  for (const auto& node : scope.nodes) {
    if (!node->settled && !node->active && node->blockers == 0) consider(*node);
    if (node->active && node->inner) consider_all(*node->inner);
    if (node->active && node->map && hold_ == Hold::none) start_items(*node);
  }
}

/// Returns why the step is skipped, if it is. Clears `runs` if its condition can't be evaluated.
std::optional<std::string> Execution::reason_to_skip(Node& node, bool& runs) {
  const Step& step = *node.step;
  const bool overrides = step.when && step.when->overrides_skipping();
  if (!overrides) {
    for (const std::size_t need : step.needed) {
      if (node.scope->nodes[need]->record.status == StepStatus::skipped)
        return fmt::format("it needs '{}', which was skipped", (*node.scope->steps)[need].id);
    }
  }
  if (!step.when) return std::nullopt;
  const Result<bool> wanted = step.when->test(NodeNames(*this, *node.scope, &node));
  if (!wanted) {
    node.active = true;
    ++node.scope->active;
    settle_failed(node, fmt::format("`when: {}` can't be evaluated: {}", step.when->text(), wanted.error().message),
                  false);
    runs = false;
    return std::nullopt;
  }
  if (!*wanted) return fmt::format("`when: {}` is false", step.when->text());
  return std::nullopt;
}

void Execution::consider(Node& node) {
  if (node.settled || node.active || held()) return;
  const bool overrides = node.step->when && node.step->when->overrides_skipping();
  if (node.scope->failed && !overrides) return;
  if (!node.scope->is_item && over_budget()) {
    if (!budget_reached_) {
      budget_reached_ = true;
      tell(event_type::kBudgetReached, &node,
           {{"tokens", state_.usage.tokens}, {"usd", state_.usage.document()["usd"]}});
      ++change_;
    }
    return;
  }
  bool runs = true;
  const std::optional<std::string> skip = reason_to_skip(node, runs);
  if (!runs) return;
  if (!skip) return begin(node);
  node.active = true;
  ++node.scope->active;
  node.record.set_reason(StepReason::skipped, *skip);
  settle(node, StepStatus::skipped);
}

bool Execution::over_budget() const {
  const auto limit = [&](const char* key) -> std::optional<double> {
    if (state_.budget.is_object() && state_.budget.contains(key)) return state_.budget[key].get<double>();
    return std::nullopt;
  };
  std::optional<double> usd = limit("usd");
  std::optional<double> tokens = limit("tokens");
  if (!usd) usd = workflow_->budget.usd;
  if (!tokens && workflow_->budget.tokens) tokens = static_cast<double>(*workflow_->budget.tokens);
  return (usd && state_.usage.usd >= *usd) || (tokens && static_cast<double>(state_.usage.tokens) >= *tokens);
}

void Execution::begin(Node& node) {
  node.active = true;
  ++node.scope->active;
  const StepStatus before = node.record.status;
  const bool again = before != StepStatus::pending;
  if (node.record.started.us == 0) node.record.started = now();
  if (before == StepStatus::failed || before == StepStatus::interrupted || before == StepStatus::cancelled) {
    const bool rejected = node.record.reason == StepReason::rejected;
    if (!rejected) node.record.error.clear();
    if (!rejected) node.record.clear_reason();
    node.retries_items = before == StepStatus::failed;
    node.record.retryable = true;
  }
  if (contains_steps(node.step->work)) node.timed_from_us = services_.clock.monotonic_us();
  if (before == StepStatus::running || before == StepStatus::interrupted) harvest(node);
  count_forgotten_attempts(node);
  const bool was_at_breakpoint = before == StepStatus::waiting && node.record.reason == StepReason::breakpoint;
  if (node.step->breakpoint == Breakpoint::before && before == StepStatus::pending && !node.scope->is_item)
    return stop_at(node);
  if (was_at_breakpoint) node.record.clear_reason();
  const bool waits = before == StepStatus::waiting && !was_at_breakpoint;
  if (!waits) node.record.status = StepStatus::running;
  touch(node);
  const bool quiet = node.scope->is_item;  // there may be thousands of items: only their results are recorded
  if (!quiet && !waits) {
    Json data = {{"again", again}};
    if (!node.step->stage.empty()) data["stage"] = node.step->stage;
    tell(event_type::kStepStarted, &node, data);
    persist(Kind::step_start,
            node.step->risky                              ? Reason::before_risky_step
            : node.step->breakpoint == Breakpoint::before ? Reason::breakpoint
                                                          : Reason::before_step,
            &node);
  }
  go_on(node);
}

/// Waits at a breakpoint before the step until the run is resumed.
void Execution::stop_at(Node& node) {
  node.record.status = StepStatus::waiting;
  node.record.set_reason(StepReason::breakpoint);
  touch(node);
  tell(event_type::kBreakpoint, &node, {{"where", "before"}});
  persist(Kind::waiting, Reason::breakpoint, &node);
}

void Execution::go_on(Node& node) {
  const Work& work = node.step->work;
  if (std::holds_alternative<RunCommand>(work) || std::holds_alternative<CallHandler>(work)) return start_attempt(node);
  if (std::holds_alternative<Approve>(work)) return begin_gate(node);
  if (std::holds_alternative<Sleep>(work)) return begin_sleep(node);
  if (std::holds_alternative<WaitFor>(work)) return begin_wait(node);
  if (std::holds_alternative<Loop>(work)) return begin_loop(node);
  if (std::holds_alternative<Map>(work)) return begin_map(node);
  if (std::holds_alternative<CallWorkflow>(work)) return begin_child(node);
  complete(node);
}

void Execution::settle_failed(Node& node, std::string error, bool retryable) {
  node.record.error = std::move(error);
  node.record.retryable = retryable;
  give_up(node);
}

/// Adds to the time of a step that contains others. The time between two executions does not count.
void Execution::note_time(Node& node) {
  if (node.timed_from_us == 0) return;
  const std::int64_t took_ms = (services_.clock.monotonic_us() - node.timed_from_us) / 1000;
  if (took_ms <= 0) return;
  node.record.duration_ms += static_cast<std::uint64_t>(took_ms);
  node.timed_from_us += took_ms * 1000;
}

void Execution::settle(Node& node, StepStatus status) {
  Scope& scope = *node.scope;
  StepRecord& record = node.record;
  const bool has_attempts = !contains_steps(node.step->work);
  note_time(node);
  node.timed_from_us = 0;
  record.status = status;
  record.ended = now();
  record.definition = node.step->definition_hash.substr(0, 8);
  if (status == StepStatus::completed) record.partial = Json();
  node.settled = true;
  node.active = false;
  --scope.active;
  --scope.unsettled;
  touch(node);
  loop_.cancel(node.total_timeout);
  Json data = {{"status", to_text(status)}, {"attempts", record.attempts}, {"ms", record.duration_ms}};
  if (!record.error.empty()) data["error"] = record.error;
  if (record.reason == StepReason::skipped) data["reason"] = record.detail;
  if (node.large_output) {
    record.output_event = events_ + 1;  // the one emitted below
    data["output"] = *node.large_output;
  }
  const bool fails = status == StepStatus::failed;
  if (status == StepStatus::completed && has_attempts) state_.spent_ms += record.duration_ms;
  if (record.attempts == 0 && has_attempts)
    data["ms"] = static_cast<std::uint64_t>(std::max<std::int64_t>(record.ended.us - record.started.us, 0)) / 1000;
  if (!scope.is_item || node.large_output) {
    tell(status == StepStatus::skipped ? event_type::kStepSkipped
         : fails                       ? event_type::kStepFailed
                                       : event_type::kStepCompleted,
         &node, std::move(data));
  }
  if (status == StepStatus::completed && !scope.is_item) ++state_.completed_steps;
  if (status == StepStatus::completed && !is_aside(scope)) note_progress();
  if (!scope.is_item) {
    persist(fails ? Kind::error : Kind::step_complete,
            fails                                        ? Reason::step_failed
            : node.step->breakpoint == Breakpoint::after ? Reason::breakpoint
                                                         : Reason::after_step,
            &node);
  } else {
    ++change_;
  }
  if (fails && !node.step->continue_on_error) {
    if (!scope.failed) {
      scope.error = fmt::format("{}: {}", node.path, record.error);
      scope.rejected = node.rejected;
    }
    scope.failed = true;
    if (workflow_->fail_fast) stop_running(scope, "another step failed (fail_fast)");
  }
  if (node.step->breakpoint == Breakpoint::after && !scope.is_item && !fails) {
    breakpoint_after_ = node.path;
    tell(event_type::kBreakpoint, &node, {{"where", "after"}});
  }
  // The end of a stage gets its own checkpoint, so that it can be found by the name of the stage.
  const bool apart = &scope == top_.get() && note_layers(node);
  const auto go_on = [this, &node, &scope] {
    release(node);
    check_scope(scope);
  };
  if (apart) {
    when_durable(go_on);
  } else {
    go_on();
  }
}

/// Automatic resumes are limited only while no step completes, so that a run whose process dies often still finishes.
void Execution::note_progress() {
  state_.automatic_resumes = 0;
  ++change_;
  if (when_progress_) when_progress_();
}

/// Saves a checkpoint for a completed stage or layer. Returns whether it was a stage.
bool Execution::note_layers(const Node& node) {
  const auto all_settled = [&](const auto& belongs) {
    return std::ranges::all_of(top_->nodes, [&](const auto& other) { return !belongs(*other) || other->settled; });
  };
  const std::string& stage = node.step->stage;
  if (!stage.empty() && all_settled([&](const Node& other) { return other.step->stage == stage; })) {
    const auto found = std::ranges::find(workflow_->stages, stage, &Stage::id);
    const bool barrier = found != workflow_->stages.end() && found->type == Stage::Type::barrier;
    tell(event_type::kStageCompleted, nullptr, {{"stage", stage}});
    persist(barrier ? Kind::barrier : Kind::stage_complete, barrier ? Reason::barrier : Reason::stage_completed, &node);
    return true;
  }
  const std::size_t layer = node.step->layer;
  if (workflow_->stages.empty() && all_settled([&](const Node& other) { return other.step->layer == layer; })) {
    tell(event_type::kLayerCompleted, nullptr, {{"layer", layer}});
    if (std::ranges::count_if(top_->nodes, [&](const auto& other) { return other->step->layer == layer; }) > 1)
      persist(Kind::stage_complete, Reason::stage_completed, &node);
  }
  return false;
}

/// Ends the scope if nothing is left to do in it.
void Execution::check_scope(Scope& scope) {
  if (scope.ended || scope.active > 0) return;
  if (scope.unsettled > 0) {
    if (!scope.failed) return;  // something else delays the rest
    for (const auto& node : scope.nodes) {
      const bool overrides = node->step->when && node->step->when->overrides_skipping();
      if (node->settled || node->seen_on_failure || !overrides || held()) continue;
      node->seen_on_failure = true;
      consider(*node);
      if (scope.active > 0 || scope.ended) return;
    }
    if (held()) return;
  }
  scope.ended = true;
  if (scope.when_ended) scope.when_ended();
}

void Execution::bury(std::unique_ptr<Scope> scope) {
  if (scope) buried_.push_back(std::move(scope));
}

void Execution::top_ended(Scope& scope) {
  if (hold_ == Hold::interrupt || hold_ == Hold::cancel) return;  // finish_if_idle sets the final status
  if (scope.failed && workflow_->on_failure && !after_failure_) {
    after_failure_ = make_scope(&scope, nullptr, *workflow_->on_failure, "on_failure");
    after_failure_->is_aside = true;
    after_failure_->when_ended = [this] { finish(RunStatus::failed, top_->error); };
    return enter(*after_failure_);
  }
  if (scope.failed) return finish(RunStatus::failed, scope.error);
  Json outputs = Json::object();
  for (const auto& [name, value] : workflow_->outputs) {
    Result<Json> evaluated = value.evaluate(NodeNames(*this, scope, nullptr));
    if (!evaluated)
      return finish(RunStatus::failed,
                    fmt::format("output '{}' can't be evaluated: {}", name, evaluated.error().message));
    outputs[name] = std::move(*evaluated);
  }
  if (!outputs.empty()) state_.outputs = std::move(outputs);
  finish(RunStatus::completed, "");
}

void Execution::begin_loop(Node& node) {
  if (node.record.iteration == 0) node.record.iteration = 1;
  // It failed because `until` was not met, and somebody resumed it nevertheless.
  if (node.record.spent >= std::get<Loop>(node.step->work).max) node.record.spent = 0;
  run_iteration(node);
}

void Execution::run_iteration(Node& node) {
  const auto& loop = std::get<Loop>(node.step->work);
  touch(node);
  bury(std::move(node.inner));
  node.inner = make_scope(node.scope, &node, *loop.steps, fmt::format("{}[{}]", node.path, node.record.iteration));
  node.inner->iteration = node.record.iteration;
  node.inner->iteration_max = loop.max;
  node.inner->when_ended = [this, &node] { iteration_ended(node); };
  tell(event_type::kIterationStarted, &node, {{"iteration", node.record.iteration}, {"max", loop.max}});
  enter(*node.inner);
}

void Execution::iteration_ended(Node& node) {
  if (held() && node.inner->unsettled > 0) return;
  const auto& loop = std::get<Loop>(node.step->work);
  Scope& scope = *node.inner;
  node.rejected = scope.rejected;
  if (scope.failed) return settle_failed(node, scope.error, false);
  Result<Json> output = scope.nodes.empty() ? Result<Json>(Json()) : output_of(*scope.nodes.back());
  if (!output) return settle_failed(node, output.error().message, false);
  bool satisfied = false;
  if (loop.until) {
    const Result<bool> until = loop.until->test(NodeNames(*this, scope, nullptr));
    if (!until)
      return settle_failed(
          node, fmt::format("`until: {}` can't be evaluated: {}", loop.until->text(), until.error().message), false);
    satisfied = *until;
  }
  note_time(node);
  tell(event_type::kIterationCompleted, &node, {{"iteration", node.record.iteration}, {"satisfied", satisfied}});
  persist(Kind::step_complete, Reason::after_step, &node);
  ++node.record.spent;
  if (satisfied || node.record.spent >= loop.max) {
    set_output(node, std::move(*output));
    if (!satisfied && loop.until && loop.on_max == Loop::OnMax::fail) {
      bury(std::move(node.inner));
      ++node.record.iteration;
      return settle_failed(
          node, fmt::format("`until: {}` is not met after {} iterations", loop.until->text(), loop.max), false);
    }
    bury(std::move(node.inner));
    return complete(node);
  }
  ++node.record.iteration;
  run_iteration(node);
}

void Execution::run_aside(Node& node, const Steps& steps, std::string_view name,
                          std::function<void(bool failed)> then) {
  bury(std::move(node.inner));
  node.inner = make_scope(node.scope, &node, steps, fmt::format("{}.{}", node.path, name));
  node.inner->is_aside = true;
  // The node stays active, so that its scope does not end meanwhile.
  node.inner->when_ended = [this, &node, then = std::move(then)] {
    if (held() && node.inner->unsettled > 0) return;
    const bool failed = node.inner->failed;
    bury(std::move(node.inner));
    then(failed);
  };
  enter(*node.inner);
}

void Execution::begin_child(Node& node) {
  const auto& call = std::get<CallWorkflow>(node.step->work);
  const std::string file = services_.files.absolute(call.file, services_.files.absolute("..", workflow_->file));
  if (static_cast<std::size_t>(std::ranges::count(id_.text(), '.')) > kChildDepthMax)
    return settle_failed(node, "child workflows are nested too deeply", false);
  Result<Json> with = call.with.evaluate(NodeNames(*this, *node.scope, &node));
  if (!with) return settle_failed(node, with.error().message, false);
  if (std::optional<RunState> done = completed_child(services_.store, node.record.child_run)) {
    // It completed before its parent could record that, or someone resumed it separately.
    use_child(node, *done);
    return complete(node);
  }
  Result<OpenedRun> opened =
      open_child(services_, {id_.text(), node.path, node.record.child_run, state_.rollbacks}, file, *with);
  if (!opened) {
    const Error& error = opened.error();
    return settle_failed(node, error.message + (error.hint.empty() ? "" : "; " + error.hint),
                         error.code == Code::run_busy);
  }
  node.record.child_run = opened->id.text();
  node.record.status = StepStatus::running;
  touch(node);
  tell(event_type::kChildStarted, &node, {{"run", node.record.child_run}});
  persist(Kind::step_start, Reason::before_step, &node);
  const auto shared = std::make_shared<OpenedRun>(std::move(*opened));
  when_durable([this, &node, shared] {
    if (node.settled || held()) return;
    node.child = std::make_unique<Execution>(services_, loop_, std::move(*shared));
    node.child->when_ended([this, alive = alive_, &node] {
      loop_.post([this, alive, &node] {
        if (*alive) child_ended(node);
      });
    });
    node.child->when_progress([this] { note_progress(); });
    node.child->start();
  });
}

/// Adds what the child used since the last time, so that it counts once.
void Execution::use_child(Node& node, const RunState& child) {
  count_usage(node, node.record.usage.until(child.usage));
  if (child.status == RunStatus::completed) set_output(node, child.outputs);
  touch(node);
}

void Execution::child_ended(Node& node) {
  const RunState& child = node.child->state();
  use_child(node, child);
  const std::string error =
      child.error.empty() ? fmt::format("run {} is {}", node.record.child_run, to_text(child.status)) : child.error;
  switch (child.status) {
    case RunStatus::completed: node.child.reset(); return complete(node);
    case RunStatus::waiting:  // kept, because it has the gates
      node.record.status = StepStatus::waiting;
      node.record.set_reason(StepReason::child_run);
      return touch(node);
    case RunStatus::interrupted: node.child.reset(); return touch(node);
    default: break;
  }
  node.rejected = node.child->rejected();
  node.child.reset();
  if (hold_ == Hold::cancel) return touch(node);
  settle_failed(node, error, false);
}

void Execution::stop_running(Scope& scope, std::string_view why) {
  for_each_node(scope, [&](Node& node) {
    if (node.process || node.in_handler || node.pausing) kill_node(node, why);
    if (node.child && !node.child->ended()) {
      if (hold_ == Hold::cancel) {
        node.child->cancel(std::string(why));
      } else {
        node.child->interrupt(std::string(why));
      }
    }
  });
}

Execution::Node* Execution::find_node(std::string_view path) {
  Node* found = nullptr;
  for_each_node(*top_, [&](Node& node) {
    if (node.path == path) found = &node;
  });
  return found;
}

/// Inserts new steps after the step that adds them. Steps after that one wait for the new steps too.
void Execution::add_steps(Node& node, const Json& steps) {
  if (node.scope != top_.get() || !services_.parse_added) {
    tell(event_type::kStepsRefused, &node, {{"error", "only a step of the workflow's own list can add steps"}});
    return;
  }
  if (top_->nodes.size() + steps.size() > kStepsMax) {
    tell(event_type::kStepsRefused, &node, {{"error", fmt::format("a run may have {} steps", kStepsMax)}});
    return;
  }
  Result<Steps> fresh_steps = services_.parse_added(steps, *workflow_, *top_->steps, node.index);
  const Result<Steps> grown = fresh_steps ? Result<Steps>(grow(*top_->steps, *fresh_steps, node.index))
                                          : Result<Steps>(fail(fresh_steps.error()));
  if (!grown) {
    tell(event_type::kStepsRefused, &node, {{"error", describe_in_line(grown.error())}});
    return;
  }
  state_.added.push_back({node.step->id, steps});
  added_steps_.push_back(*grown);
  const Steps& all = added_steps_.back();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i >= top_->nodes.size()) {
      auto fresh = std::make_unique<Node>();
      fresh->scope = top_.get();
      fresh->index = i;
      fresh->path = all[i].id;
      top_->nodes.push_back(std::move(fresh));
      ++top_->unsettled;
    }
    Node& known = *top_->nodes[i];
    known.step = &all[i];
    known.dependents.clear();
    known.blockers = 0;
  }
  top_->steps = &all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const std::size_t before : all[i].after) {
      top_->nodes[before]->dependents.push_back(i);
      if (!top_->nodes[before]->settled) ++top_->nodes[i]->blockers;  // settled ones have released it already
    }
  }
  tell(event_type::kStepsAdded, &node, {{"steps", steps}});
  persist(Kind::step_complete, Reason::after_step, &node);
}

}  // namespace pawl
