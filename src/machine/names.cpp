#include "machine/names.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace pawl::machine {
namespace {

const std::string* name_at(std::span<const PathPart> path, std::size_t i) {
  return i < path.size() ? std::get_if<std::string>(&path[i]) : nullptr;
}

/// Visits the scope and those around it, innermost first, until `use` returns a value.
template <class Use>
auto outward(const State& s, const Scope& scope, const Use& use) -> decltype(use(scope)) {
  for (const Scope* at = &scope;;) {
    if (auto found = use(*at)) return found;
    if (at->outer == ScopeId::none) return {};
    at = &scope_at(s, at->outer);
  }
}

const Node* find_step(const State& s, const Scope& scope, std::string_view id) {
  return outward(s, scope, [&](const Scope& at) -> const Node* {
    const Node* node = find_node(s, at.prefix.empty() ? std::string(id) : fmt::format("{}.{}", at.prefix, id));
    return node != nullptr && node->scope == at.id ? node : nullptr;
  });
}

const Node* find_alias(const State& s, const Scope& scope, std::string_view name) {
  return outward(s, scope, [&](const Scope& at) -> const Node* {
    for (const NodeId node : at.nodes) {
      if (node_at(s, node).step->capture.alias == name) return &node_at(s, node);
    }
    return nullptr;
  });
}

const Node* referred(const State& s, const Scope& scope, std::span<const PathPart> path) {
  const std::string* root = name_at(path, 0);
  if (root == nullptr) return nullptr;
  if (*root != "steps") return reserved_names().contains(*root) ? nullptr : find_alias(s, scope, *root);
  const std::string* id = name_at(path, 1);
  return id == nullptr ? nullptr : find_step(s, scope, *id);
}

Result<Json> step_value(const Node& node) {
  const StepRecord& record = node.record;
  PAWL_TRY_ASSIGN(Json output, output_of(node));
  return Json{{"output", std::move(output)},      {"status", to_text(record.status)},
              {"attempts", record.attempts},      {"error", record.error.empty() ? Json() : Json(record.error)},
              {"exit_code", record.exit_code},    {"confidence", record.confidence ? Json(*record.confidence) : Json()},
              {"duration_ms", record.duration_ms}};
}

/// Returns `loop.previous`, with the outputs that are in records.
Json previous_of(const Node& loop) {
  Json previous = loop.record.previous;
  for (const auto& [id, output] : loop.previous)
    previous[id] = {{"output", *output}, {"status", text_in(previous[id], "status")}};  // always in this order
  return previous;
}

void append(std::vector<Expression::Reference>& to, const std::vector<Expression::Reference>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

std::string cache_key(const Step& step, const std::string& key) { return step.definition_hash + "\n" + key; }

std::string cache_hash(const Step& step, const std::string& key) {
  return to_hex(sha256("result of a step\n" + cache_key(step, key)));
}

bool needs_loading(const Node& node) {
  if (node.output != nullptr || !node.output_error.empty()) return false;
  if (node.record.output_event != 0) return true;
  const auto* map = std::get_if<Map>(&node.step->work);
  return map != nullptr && map->reduce == nullptr && !node.record.no_output &&
         node.record.status == StepStatus::completed;
}

Result<Json> output_of(const Node& node) {
  if (node.output != nullptr) return *node.output;
  if (!node.output_error.empty()) return fail(Code::value_too_large, "{}", node.output_error);
  if (needs_loading(node)) return fail(Code::output_lost, "the output of '{}' is not loaded", node.path);
  return node.record.output;
}

Result<Json> StateNames::find(std::span<const PathPart> path) const {
  const std::string* root = name_at(path, 0);
  if (root == nullptr) return fail(Code::unknown_name, "a path must start with a name");
  if (*root == "vars") return follow(s_.definition->vars, path.subspan(1));
  if (*root == "env") {
    const std::string* name = name_at(path, 1);
    const auto entry = name == nullptr ? s_.definition->environment.end() : s_.definition->environment.find(*name);
    if (entry == s_.definition->environment.end())
      return fail(Code::unknown_name, "environment variable '{}' is not set", name == nullptr ? "" : *name);
    return follow(Json(entry->second), path.subspan(2));
  }
  if (const Node* node = referred(s_, scope_, path)) {
    if (*root != "steps") {
      PAWL_TRY_ASSIGN(const Json output, output_of(*node));
      return follow(output, path.subspan(1));
    }
    const std::string* field = name_at(path, 2);
    if (field != nullptr && *field == "output") {
      PAWL_TRY_ASSIGN(const Json output, output_of(*node));
      return follow(output, path.subspan(3));
    }
    PAWL_TRY_ASSIGN(const Json value, step_value(*node));
    return follow(value, path.subspan(2));
  }
  if (*root == "steps") return fail(Code::unknown_name, "unknown step in '{}'", to_text(path));
  PAWL_TRY_ASSIGN(const Json value, special(*root));
  return follow(value, path.subspan(1));
}

Result<Json> AttemptNames::find(std::span<const PathPart> path) const {
  const std::string* root = name_at(path, 0);
  return root != nullptr && values_.contains(*root) ? follow(values_, path) : names_.find(path);
}

bool StateNames::failed() const {
  const auto failing = [](const Scope& at) {
    const bool aside = at.kind == ScopeKind::on_failure || at.kind == ScopeKind::run_failure;
    return at.failed || aside || at.kind == ScopeKind::low_confidence;
  };
  if (outward(s_, scope_, failing)) return true;
  if (node_ == nullptr) return false;
  return std::ranges::any_of(node_->step->after, [&](std::size_t before) {
    return node_at(s_, scope_.nodes[before]).record.status == StepStatus::failed;
  });
}

Result<Json> StateNames::special(std::string_view name) const {
  if (name == "run") {
    return Json{{"id", s_.definition->run_id},
                {"uuid", s_.definition->run_uuid},
                {"workflow", s_.workflow().name},
                {"attempt", s_.resumes + 1}};
  }
  const std::optional<Json> found = outward(s_, scope_, [&](const Scope& at) -> std::optional<Json> {
    if (at.kind == ScopeKind::item && name == "item") return at.item == nullptr ? Json() : *at.item;
    if (at.kind == ScopeKind::item && name == "index") return Json(at.index);
    if (at.kind == ScopeKind::iteration && name == "loop") {
      const Node& owner = node_at(s_, at.owner);
      const auto& loop = std::get<Loop>(owner.step->work);
      Json value = {{"iteration", at.index}, {"index", at.index - 1}, {"max", loop.max}};
      value["previous"] = previous_of(owner);
      return value;
    }
    if (at.kind == ScopeKind::reduce && name == "map") {
      const MapProgress& progress = *node_at(s_, at.owner).record.map;
      return Json{
          {"total", progress.total}, {"succeeded", progress.succeeded_count()}, {"failed", progress.failed_count()}};
    }
    return std::nullopt;
  });
  if (found) return *found;
  return fail(Code::unknown_name, "unknown name '{}'", name);
}

std::vector<Expression::Reference> references_of(const Step& step) {
  std::vector<Expression::Reference> all;
  if (step.when) append(all, step.when->references());
  if (step.working_dir) append(all, step.working_dir->references());
  if (step.retry.when) append(all, step.retry.when->references());
  for (const auto* computed : {&step.computed, &step.retry.computed}) {
    for (const ComputedSetting& setting : *computed) append(all, setting.value.references());
  }
  if (step.cache) append(all, step.cache->key.references());
  for (const auto& [name, value] : step.env) append(all, value.references());
  if (const auto* run = std::get_if<RunCommand>(&step.work)) {
    for (const Expression& argument : run->command.arguments) append(all, argument.references());
  }
  if (const auto* handler = std::get_if<CallHandler>(&step.work)) append(all, handler->with.references());
  if (const auto* gate = std::get_if<Approve>(&step.work)) append(all, gate->prompt.references());
  if (const auto* sleep = std::get_if<Sleep>(&step.work)) append(all, sleep->duration.references());
  if (const auto* call = std::get_if<CallWorkflow>(&step.work)) append(all, call->with.references());
  if (const auto* map = std::get_if<Map>(&step.work)) {
    if (map->items) append(all, map->items->references());
    if (map->items_from) append(all, map->items_from->references());
  }
  return all;
}

std::vector<NodeId> missing_outputs(const State& s, const Scope& scope,
                                    std::span<const Expression::Reference> references) {
  std::vector<NodeId> missing;
  for (const Expression::Reference& reference : references) {
    const Node* node = referred(s, scope, reference.path);
    if (node == nullptr || !is_settled(*node) || !needs_loading(*node)) continue;
    if (std::ranges::find(missing, node->id) == missing.end()) missing.push_back(node->id);
  }
  return missing;
}

}  // namespace pawl::machine
