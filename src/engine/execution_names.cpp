// The values of names in expressions: vars, steps, item, index, loop, map, run, env and aliases.
#include "engine/environment_entries.hpp"
#include "engine/execution_parts.hpp"

namespace pawl {
namespace {

const std::string* name_at(std::span<const PathPart> path, std::size_t i) {
  return i < path.size() ? std::get_if<std::string>(&path[i]) : nullptr;
}

}  // namespace

Result<Json> Execution::NodeNames::find(std::span<const PathPart> path) const {
  const std::string* root = name_at(path, 0);
  if (root == nullptr) return fail(Code::unknown_name, "a path must start with a name");
  if (*root == "vars") return follow(execution_.state_.vars, path.subspan(1));
  if (*root == "steps") {
    const std::string* id = name_at(path, 1);
    if (id == nullptr) return fail(Code::unknown_name, "write steps.ID.output");
    const std::string* field = name_at(path, 2);
    // Outputs can be large, so only the requested field is built.
    if (const Node* node = find_node(*id); node != nullptr && field != nullptr && *field == "output") {
      PAWL_TRY_ASSIGN(const Json output, execution_.output_of(*node));
      return follow(output, path.subspan(3));
    }
    PAWL_TRY_ASSIGN(const Json value, find_step(*id));
    return follow(value, path.subspan(2));
  }
  if (*root == "env") {
    const std::string* name = name_at(path, 1);
    const std::string* entry = name == nullptr ? nullptr : find_entry(execution_.environment(), *name);
    if (entry == nullptr)
      return fail(Code::unknown_name, "environment variable '{}' is not set", name == nullptr ? "" : *name);
    return follow(Json(std::string(entry_value(*entry))), path.subspan(2));
  }
  if (std::optional<Result<Json>> alias = find_alias(*root)) {
    if (!*alias) return *alias;
    return follow(**alias, path.subspan(1));
  }
  PAWL_TRY_ASSIGN(const Json value, special(*root));
  return follow(value, path.subspan(1));
}

bool Execution::NodeNames::failed() const {
  for (const Scope* scope = &scope_; scope != nullptr; scope = scope->outer) {
    if (scope->failed) return true;
    if (scope->is_aside) return true;
  }
  if (node_ == nullptr) return false;
  for (const std::size_t before : node_->step->after) {
    if (scope_.nodes[before]->record.status == StepStatus::failed) return true;
  }
  return false;
}

const Execution::Node* Execution::NodeNames::find_node(std::string_view id) const {
  for (const Scope* scope = &scope_; scope != nullptr; scope = scope->outer) {
    for (const auto& node : scope->nodes) {
      if (node->step->id == id) return node.get();
    }
  }
  return nullptr;
}

Result<Json> Execution::NodeNames::find_step(std::string_view id) const {
  const Node* node = find_node(id);
  if (node == nullptr) return fail(Code::unknown_name, "unknown step '{}'", id);
  return step_value(*node);
}

Result<Json> Execution::NodeNames::step_value(const Node& node) const {
  PAWL_TRY_ASSIGN(Json output, execution_.output_of(node));
  const StepRecord& record = node.record;
  return Json{{"output", std::move(output)},      {"status", to_text(record.status)},
              {"attempts", record.attempts},      {"error", record.error.empty() ? Json() : Json(record.error)},
              {"exit_code", record.exit_code},    {"confidence", record.confidence ? Json(*record.confidence) : Json()},
              {"duration_ms", record.duration_ms}};
}

std::optional<Result<Json>> Execution::NodeNames::find_alias(std::string_view name) const {
  for (const Scope* scope = &scope_; scope != nullptr; scope = scope->outer) {
    for (const auto& node : scope->nodes) {
      if (node->step->capture.alias == name) return execution_.output_of(*node);
    }
  }
  return std::nullopt;
}

Result<Json> Execution::NodeNames::special(std::string_view name) const {
  if (name == "run") {
    return Json{{"id", execution_.id_.text()},
                {"uuid", execution_.uuid_.text()},
                {"workflow", execution_.workflow_->name},
                {"attempt", execution_.state_.resumes + 1}};
  }
  for (const Scope* scope = &scope_; scope != nullptr; scope = scope->outer) {
    if (scope->is_item && name == "item") return scope->item;
    if (scope->is_item && name == "index") return Json(scope->item_index);
    if (scope->iteration > 0 && name == "loop")
      return Json{{"iteration", scope->iteration}, {"index", scope->iteration - 1}, {"max", scope->iteration_max}};
    if (scope->is_reduce && name == "map") {
      const MapProgress& progress = *scope->owner->record.map;
      return Json{
          {"total", progress.total}, {"succeeded", progress.succeeded_count()}, {"failed", progress.failed_count()}};
    }
  }
  return fail(Code::unknown_name, "unknown name '{}'", name);
}

}  // namespace pawl
