#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>

#include "workflow/parse_workflow.hpp"
#include "workflow/steps_parser.hpp"

namespace pawl {
namespace {

using Aliases = std::map<std::string, Place, std::less<>>;

/// Steps that were added earlier follow those of the file, so the first one identifies the scope.
bool same_scope(const Steps& steps, const Steps& siblings) {
  if (&steps == &siblings) return true;
  if (steps.empty() || siblings.empty()) return false;
  const Step& a = steps.front();
  const Step& b = siblings.front();
  return a.place.line == b.place.line && a.place.column == b.place.column && a.id == b.id &&
         a.definition_hash == b.definition_hash;
}

std::shared_ptr<const Scope> scope_of(const Steps& steps) {
  auto scope = std::make_shared<Scope>();
  std::vector<std::vector<std::size_t>> after;
  for (const Step& step : steps) {
    scope->index.emplace(step.id, scope->ids.size());
    if (!step.capture.alias.empty()) scope->aliases.emplace(step.capture.alias, scope->ids.size());
    scope->ids.push_back(step.id);
    after.push_back(step.after);
  }
  std::vector<std::size_t> sorted(steps.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::sort(sorted.begin(), sorted.end(),
            [&](std::size_t a, std::size_t b) { return steps[a].layer < steps[b].layer; });
  scope->precedence = Precedence(after, sorted);
  return scope;
}

/// Returns the view from around `siblings`, or nothing if they are not in `steps`.
std::optional<View> find_view(const Steps& steps, const Steps& siblings, const View& outer) {
  if (same_scope(steps, siblings)) return outer;
  const View inside = outer.inside({scope_of(steps), std::nullopt, Frame::Own::hidden});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    std::optional<View> found;
    const View inner = inside.at(i);
    if (step.on_failure) found = find_view(*step.on_failure, siblings, inner.with_own());
    if (!found && step.confidence && step.confidence->then)
      found = find_view(*step.confidence->then, siblings, inner.with_own());
    if (const auto* loop = std::get_if<Loop>(&step.work); !found && loop != nullptr && loop->steps) {
      found = find_view(*loop->steps, siblings, inner.in_loop());
    }
    if (const auto* map = std::get_if<Map>(&step.work); !found && map != nullptr && map->steps) {
      found = find_view(*map->steps, siblings, inner.in_map());
    }
    if (found) return found;
  }
  return {};
}

void collect_aliases(const Steps& steps, Aliases& aliases) {
  for (const Step& step : steps) {
    if (!step.capture.alias.empty()) aliases.emplace(step.capture.alias, step.place);
    if (step.on_failure) collect_aliases(*step.on_failure, aliases);
    if (step.confidence && step.confidence->then) collect_aliases(*step.confidence->then, aliases);
    if (const auto* loop = std::get_if<Loop>(&step.work); loop != nullptr && loop->steps)
      collect_aliases(*loop->steps, aliases);
    if (const auto* map = std::get_if<Map>(&step.work); map != nullptr && map->steps)
      collect_aliases(*map->steps, aliases);
  }
}

Result<Steps> parse(const Json& steps, const Workflow& workflow, const Steps& siblings, std::size_t after) {
  Faults faults("added steps");
  const auto first_fault = [&]() -> std::unexpected<Error> { return fail(faults.take().front().error); };
  const YamlPtr node = yaml_of(steps, {}, faults);
  if (node == nullptr) return first_fault();
  if (!node->is_list() || node->items.empty() || after >= siblings.size()) {
    faults.add({}, "'add_steps' must be a list of steps", "write {\"add_steps\": [{\"run\": \"./script.sh\"}]}");
    return first_fault();
  }
  std::vector<std::string> vars;
  for (const Variable& variable : workflow.vars) vars.push_back(variable.name);
  const SourceLines lines("");
  const Reader reader(faults, lines, std::move(vars));
  StepsParser::Inherited inherited;
  inherited.retry = workflow.retry;
  inherited.shell = workflow.shell;
  inherited.limits = workflow.limits;
  inherited.steps_left -= std::min(inherited.steps_left, siblings.size());
  collect_aliases(workflow.steps, inherited.aliases);
  collect_aliases(siblings, inherited.aliases);
  if (workflow.on_failure) collect_aliases(*workflow.on_failure, inherited.aliases);
  if (workflow.finally) collect_aliases(*workflow.finally, inherited.aliases);
  std::vector<StepEntry> entries;
  for (const YamlPtr& item : node->items) entries.push_back({item, 0, {}, {}});
  View outer = View::of_workflow();
  outer.uses = workflow.uses;
  const auto view = find_view(workflow.steps, siblings, outer);
  StepsParser parser(reader, std::move(inherited));
  const ParsedSteps parsed = parser.parse_added(entries, siblings, after, view ? *view : outer);
  if (!faults.empty()) return first_fault();
  return *parsed.steps;
}

}  // namespace

Result<Steps> parse_added_steps(const Json& steps, const Workflow& workflow, const Steps& siblings, std::size_t after) {
  try {
    return parse(steps, workflow, siblings, after);
  } catch (const std::exception& exception) {  // of the libraries below: out of memory
    return fail(Code::invalid_workflow, "the added steps can't be read: {}", exception.what());
  }
}

}  // namespace pawl
