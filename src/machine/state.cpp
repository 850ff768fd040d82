#include "machine/state.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/assert.hpp"
#include "base/hash.hpp"

namespace pawl::machine {
namespace {

constexpr std::size_t kStepsMax = 10'000;  // in one scope, including added ones

std::string prefix_of(const Node* owner, ScopeKind kind, std::uint64_t index) {
  switch (kind) {
    case ScopeKind::top: return {};
    case ScopeKind::run_failure: return "on_failure";
    case ScopeKind::finally: return fmt::format("finally[{}]", index);
    case ScopeKind::iteration:
    case ScopeKind::item: return fmt::format("{}[{}]", owner->path, index);
    case ScopeKind::reduce: return owner->path;
    case ScopeKind::on_failure: return owner->path + ".on_failure";
    case ScopeKind::low_confidence: return owner->path + ".then";
  }
  return {};
}

std::shared_ptr<const Steps> steps_of(const State& s, const Node* owner, ScopeKind kind) {
  const auto of_workflow = [&](const Steps& steps) {
    return std::shared_ptr<const Steps>(s.definition->workflow, &steps);
  };
  switch (kind) {
    case ScopeKind::top: return of_workflow(s.workflow().steps);
    case ScopeKind::run_failure: return s.workflow().on_failure;
    case ScopeKind::finally: return s.workflow().finally;
    case ScopeKind::on_failure: return owner->step->on_failure;
    case ScopeKind::low_confidence: return owner->step->confidence ? owner->step->confidence->then : nullptr;
    case ScopeKind::iteration: {
      const auto* loop = std::get_if<Loop>(&owner->step->work);
      return loop == nullptr ? nullptr : loop->steps;
    }
    case ScopeKind::item: {
      const auto* map = std::get_if<Map>(&owner->step->work);
      return map == nullptr ? nullptr : map->steps;
    }
    case ScopeKind::reduce: {
      const auto* map = std::get_if<Map>(&owner->step->work);
      if (map == nullptr || map->reduce == nullptr) return nullptr;
      return std::make_shared<const Steps>(Steps{*map->reduce});
    }
  }
  return nullptr;
}

NodeId make_node(State& s, Scope& scope, std::size_t index) {
  const NodeId id{s.next_node++};
  Node& node = s.nodes[id];
  node.id = id;
  node.scope = scope.id;
  node.step = &(*scope.steps)[index];
  node.index = index;
  node.path = scope.prefix.empty() ? node.step->id : scope.prefix + "." + node.step->id;
  if (std::holds_alternative<Map>(node.step->work)) node.map = std::make_shared<MapState>();
  s.by_path[node.path] = id;
  return id;
}

Scope& make_scope(State& s, Node* owner, ScopeKind kind, std::uint64_t index, std::shared_ptr<const Steps> steps) {
  const ScopeId id{s.next_scope++};
  Scope& scope = s.scopes[id];
  scope.id = id;
  scope.owner = owner == nullptr ? NodeId::none : owner->id;
  scope.outer = owner != nullptr ? owner->scope : kind == ScopeKind::top ? ScopeId::none : s.top;
  scope.kind = kind;
  scope.index = index;
  scope.prefix = prefix_of(owner, kind, index);
  scope.steps = std::move(steps);
  scope.unsettled = scope.steps->size();
  if (owner != nullptr) owner->inner[{kind, index}] = id;
  if (kind != ScopeKind::reduce) s.by_prefix[scope.prefix] = id;
  scope.nodes.reserve(scope.steps->size());
  for (std::size_t i = 0; i < scope.steps->size(); ++i) scope.nodes.push_back(make_node(s, scope, i));
  return scope;
}

void drop_node(State& s, NodeId id) {
  Node& node = node_at(s, id);
  drop_inner(s, node);
  PAWL_ASSERT(node.activity == Activity::idle || node.activity == Activity::inner);
  if (node.activity != Activity::idle) --s.counts[static_cast<std::size_t>(node.activity)];
  if (node.taken) s.dropped.push_back(node.path);
  if (const auto named = s.by_path.find(node.path); named != s.by_path.end() && named->second == id)
    s.by_path.erase(named);
  s.nodes.erase(id);
}

/// Splits `pages[17]` into the path before the brackets and the number.
std::optional<std::pair<std::string_view, std::uint64_t>> split_number(std::string_view prefix) {
  const std::size_t open = prefix.rfind('[');
  if (!prefix.ends_with(']') || open == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = prefix.data() + prefix.size() - 1;
  const auto [stop, problem] = std::from_chars(prefix.data() + open + 1, end, number);
  if (problem != std::errc{} || stop != end) return std::nullopt;
  return std::pair(prefix.substr(0, open), number);
}

Scope* scope_in(State& s, Node* owner, ScopeKind kind, std::uint64_t index) {
  if (owner == nullptr || steps_of(s, owner, kind) == nullptr) return nullptr;
  return &open_scope(s, owner, kind, index);
}

Scope* resolve_scope(State& s, std::string_view prefix) {
  if (prefix.empty()) return &scope_at(s, s.top);
  if (const auto known = s.by_prefix.find(std::string(prefix)); known != s.by_prefix.end())
    return &scope_at(s, known->second);
  if (const auto numbered = split_number(prefix)) {
    if (numbered->first == "finally" && s.workflow().finally != nullptr)
      return &open_scope(s, nullptr, ScopeKind::finally, numbered->second);
    Node* owner = resolve(s, numbered->first);
    if (owner == nullptr) return nullptr;
    const bool loop = std::holds_alternative<Loop>(owner->step->work);
    return scope_in(s, owner, loop ? ScopeKind::iteration : ScopeKind::item, numbered->second);
  }
  if (prefix == "on_failure" && s.workflow().on_failure != nullptr)
    return &open_scope(s, nullptr, ScopeKind::run_failure, 0);
  const std::size_t dot = prefix.rfind('.');
  if (dot != std::string_view::npos) {
    const std::string_view last = prefix.substr(dot + 1);
    if (last == "on_failure") {
      if (Scope* scope = scope_in(s, resolve(s, prefix.substr(0, dot)), ScopeKind::on_failure, 0)) return scope;
    }
    if (last == "then") {
      if (Scope* scope = scope_in(s, resolve(s, prefix.substr(0, dot)), ScopeKind::low_confidence, 0)) return scope;
    }
  }
  return scope_in(s, resolve(s, prefix), ScopeKind::reduce, 0);
}

Result<Steps> added_steps(const State& s, std::size_t index, const Json& steps) {
  const Scope& top = scope_at(s, s.top);
  if (!s.definition->parse_added) return fail(Code::step_failed, "this run can't add steps");
  if (top.nodes.size() + steps.size() > kStepsMax)
    return fail(Code::step_failed, "a run can have at most {} steps", kStepsMax);
  PAWL_TRY_ASSIGN(Steps added, s.definition->parse_added(steps, *top.steps, index));
  for (const Step& step : added) {
    if (std::ranges::find(*top.steps, step.id, &Step::id) != top.steps->end())
      return fail(Code::step_failed, "step '{}' already exists", step.id);
  }
  return added;
}

/// Returns, for each step of the list, whether it runs after this one.
std::vector<bool> later_steps(const Steps& steps, std::size_t index) {
  std::vector<bool> later(steps.size(), false);
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto waits = [&](std::size_t before) {
        return before == index || (before < steps.size() && later[before]);
      };
      if (later[i] || !std::ranges::any_of(steps[i].after, waits)) continue;
      later[i] = more = true;
    }
  }
  return later;
}

}  // namespace

Node* find_node(State& s, NodeId id) {
  const auto found = s.nodes.find(id);
  return found == s.nodes.end() ? nullptr : &found->second;
}
const Node* find_node(const State& s, NodeId id) { return find_node(const_cast<State&>(s), id); }
Node* find_node(State& s, std::string_view path) {
  const auto found = s.by_path.find(std::string(path));
  return found == s.by_path.end() ? nullptr : find_node(s, found->second);
}
const Node* find_node(const State& s, std::string_view path) { return find_node(const_cast<State&>(s), path); }
Node& node_at(State& s, NodeId id) {
  const auto found = s.nodes.find(id);
  PAWL_ASSERT(found != s.nodes.end());
  return found->second;
}
const Node& node_at(const State& s, NodeId id) { return node_at(const_cast<State&>(s), id); }
Scope& scope_at(State& s, ScopeId id) {
  const auto found = s.scopes.find(id);
  PAWL_ASSERT(found != s.scopes.end());
  return found->second;
}
const Scope& scope_at(const State& s, ScopeId id) { return scope_at(const_cast<State&>(s), id); }

Scope* find_scope(State& s, const Node& owner, ScopeKind kind, std::uint64_t index) {
  const auto found = owner.inner.find({kind, index});
  return found == owner.inner.end() ? nullptr : &scope_at(s, found->second);
}

Scope& open_scope(State& s, Node* owner, ScopeKind kind, std::uint64_t index) {
  if (owner != nullptr) {
    if (Scope* known = find_scope(s, *owner, kind, index)) return *known;
  } else if (kind != ScopeKind::top || s.top != ScopeId::none) {
    const auto known = s.by_prefix.find(prefix_of(nullptr, kind, index));
    if (known != s.by_prefix.end()) return scope_at(s, known->second);
  }
  std::shared_ptr<const Steps> steps = steps_of(s, owner, kind);
  PAWL_ASSERT(steps != nullptr);
  return make_scope(s, owner, kind, index, std::move(steps));
}

void touch(State& s, Node& node) {
  if (!std::exchange(node.touched, true)) s.touched.push_back(node.id);
}

void settle_in_scope(State& s, Node& node) {
  Scope& scope = scope_at(s, node.scope);
  --scope.unsettled;
  if (!fails_scope(node)) return;
  if (!scope.failed) {
    scope.error = fmt::format("{}: {}", node.path, node.record.error);
    scope.rejected = node.record.reason == StepReason::rejected;
  }
  scope.failed = true;
}

void recount(State& s, Scope& scope) {
  scope.unsettled = scope.nodes.size();
  scope.failed = false;
  scope.rejected = false;
  scope.error.clear();
  for (const NodeId id : scope.nodes) {
    Node& node = node_at(s, id);
    if (is_settled(node)) settle_in_scope(s, node);
  }
}

void forget_scope(State& s, ScopeId id) {
  for_each_node(s, id, [&](const Node& node) {
    // An answer to a gate must not count for the next one at its place.
    const bool gate = std::holds_alternative<Approve>(node.step->work) && node.record.status != StepStatus::pending;
    if (node.record.starts == 0 && !gate) return;
    std::uint32_t& used = s.starts_used[node.path];
    used = gate ? used + 1 : std::max(used, node.record.starts);
  });
  drop_scope(s, id);
}

void reset(State& s, Node& node) {
  touch(s, node);
  while (!node.inner.empty()) forget_scope(s, node.inner.begin()->second);
  const StepRecord& before = node.record;
  StepRecord fresh;
  fresh.starts = before.starts;
  fresh.usage = before.usage;
  fresh.passed_breakpoint = before.passed_breakpoint;
  fresh.counted_start = before.counted_start;
  fresh.counted = before.counted;
  fresh.child_number = before.child_number;
  fresh.child_rollbacks = before.child_rollbacks;
  fresh.child_with = before.child_with;
  fresh.child_run = before.child_run;
  fresh.child_usage = before.child_usage;
  node.record = std::move(fresh);
  node.output = nullptr;
  node.previous.clear();
  if (node.map) node.map = std::make_shared<MapState>();
  recount(s, scope_at(s, node.scope));
}

void drop_scope(State& s, ScopeId id) {
  const Scope scope = scope_at(s, id);
  for (const NodeId node : scope.nodes) drop_node(s, node);
  if (Node* owner = find_node(s, scope.owner)) owner->inner.erase({scope.kind, scope.index});
  if (const auto named = s.by_prefix.find(scope.prefix); named != s.by_prefix.end() && named->second == id)
    s.by_prefix.erase(named);
  s.scopes.erase(id);
}

void drop_inner(State& s, Node& node) {
  while (!node.inner.empty()) drop_scope(s, node.inner.begin()->second);
}

Node* resolve(State& s, std::string_view path) {
  if (Node* known = find_node(s, path)) return known;
  const std::size_t dot = path.rfind('.');
  const std::string_view prefix = dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
  if (resolve_scope(s, prefix) == nullptr) return nullptr;
  return find_node(s, path);
}

Node* resolve_open(State& s, std::string_view path) {
  const ScopeId fresh{s.next_scope};
  Node* node = resolve(s, path);
  if (node == nullptr) return nullptr;
  const auto over = [](const Node& at) {
    return at.record.status == StepStatus::completed || at.record.status == StepStatus::skipped;
  };
  bool open = !over(*node);
  ScopeId created = ScopeId::none;
  for (ScopeId at = node->scope; at != ScopeId::none; at = scope_at(s, at).outer) {
    const Scope& scope = scope_at(s, at);
    if (scope.id >= fresh) created = scope.id;
    const Node* owner = find_node(s, scope.owner);
    if (owner == nullptr) continue;
    const auto& map = owner->record.map;
    const bool done =
        scope.kind == ScopeKind::item && map && map->done.contains(scope.index) && !map->failed.contains(scope.index);
    const bool past = scope.kind == ScopeKind::iteration && scope.index <= owner->record.spent;
    open = open && !over(*owner) && !done && !past;
  }
  if (open) return node;
  if (created != ScopeId::none) drop_scope(s, created);
  return nullptr;
}

Result<void> can_grow(const State& s, std::size_t index, const Json& steps) {
  PAWL_TRY_ASSIGN(const Steps added, added_steps(s, index, steps));
  const Steps& known = *scope_at(s, s.top).steps;
  const std::vector<bool> later = later_steps(known, index);
  for (const Step& step : added) {
    for (const std::size_t before : step.after) {
      if (before >= known.size() || !later[before]) continue;
      return fail(Code::step_failed, "the added step '{}' needs '{}', which runs after '{}'", step.id, known[before].id,
                  known[index].id);
    }
  }
  return {};
}

Result<void> grow(State& s, std::size_t index, const Json& steps) {
  PAWL_TRY_ASSIGN(const Steps added, added_steps(s, index, steps));
  Scope& top = scope_at(s, s.top);
  auto all = std::make_shared<Steps>(*top.steps);
  const std::size_t before = all->size();
  for (Step& step : *all) {
    if (std::ranges::find(step.after, index) == step.after.end()) continue;
    for (std::size_t i = 0; i < added.size(); ++i) step.after.push_back(before + i);
  }
  all->insert(all->end(), added.begin(), added.end());
  top.steps = all;
  for (std::size_t i = 0; i < all->size(); ++i) {
    if (i >= top.nodes.size()) {
      top.nodes.push_back(make_node(s, top, i));
      ++top.unsettled;
    }
    Node& node = node_at(s, top.nodes[i]);
    node.step = &(*all)[i];
    if (node.own == nullptr) continue;
    auto own = std::make_shared<Step>(*node.own);
    own->after = node.step->after;
    node.own = std::move(own);
    node.step = node.own.get();
  }
  return {};
}

bool is_settled(const Node& node) { return is_settled(node.record.status); }
bool fails_scope(const Node& node) {
  const bool failed = node.record.status == StepStatus::failed;
  return failed && !node.step->continue_on_error;
}
std::string phase_of(const State& s, const Step& step) {
  if (!step.stage.empty()) return "stage " + step.stage;
  return s.workflow().stages.empty() ? fmt::format("layer {}", step.layer) : std::string();
}
bool overrides_skipping(const Step& step) { return step.when && step.when->overrides_skipping(); }
bool is_within(const State& s, const Scope& scope, ScopeKind kind) {
  for (const Scope* at = &scope;;) {
    if (at->kind == kind) return true;
    if (at->outer == ScopeId::none) return false;
    at = &scope_at(s, at->outer);
  }
}
bool contains_steps(const Step& step) {
  return std::holds_alternative<Loop>(step.work) || std::holds_alternative<Map>(step.work) ||
         std::holds_alternative<CallWorkflow>(step.work);
}
bool has_attempts(const Step& step) {
  return std::holds_alternative<RunCommand>(step.work) || std::holds_alternative<CallHandler>(step.work);
}

std::uint64_t hash_of_item(const Json& item) { return hash_of_item_text(compact(item)); }
std::uint64_t hash_of_item_text(std::string_view compact_json) {
  const Sha256 hash = sha256(compact_json);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value = value << 8U | hash[i];
  return value;
}

}  // namespace pawl::machine
