#include "service/kept_uses.hpp"

#include <algorithm>

#include "engine/open_run.hpp"
#include "service/run_report.hpp"

namespace pawl {
namespace {

class VariableUse {
 public:
  explicit VariableUse(const std::string& variable) : variable_(variable) {}

  [[nodiscard]] bool in_step(const Step& step) const {
    const bool in_env = std::ranges::any_of(step.env, [this](const auto& entry) { return in(entry.second); });
    if (in_env || in(step.when) || in(step.working_dir)) return true;
    if (step.confidence && in_steps(step.confidence->then)) return true;
    return std::visit(*this, step.work);
  }

  bool operator()(const Nothing& /*nothing*/) const { return false; }
  bool operator()(const RunCommand& run) const {
    return std::ranges::any_of(run.command.arguments, [this](const Expression& value) { return in(value); });
  }
  bool operator()(const CallHandler& call) const { return in(call.with); }
  bool operator()(const Approve& approve) const { return in(approve.prompt); }
  bool operator()(const Sleep& sleep) const { return in(sleep.duration); }
  bool operator()(const WaitFor& /*wait*/) const { return false; }
  bool operator()(const Loop& loop) const { return in(loop.until) || in_steps(loop.steps); }
  bool operator()(const Map& map) const {
    return in(map.items) || in(map.items_from) || in_steps(map.steps) || (map.reduce && in_step(*map.reduce));
  }
  bool operator()(const CallWorkflow& call) const { return in(call.with); }

 private:
  template <class Text>
  [[nodiscard]] bool in(const Text& text) const {
    return std::ranges::any_of(text.references(), [this](const Expression::Reference& reference) {
      const Path& path = reference.path;
      return path.front() == PathPart("vars") && (path.size() == 1 || path[1] == PathPart(variable_));
    });
  }
  template <class Text>
  [[nodiscard]] bool in(const std::optional<Text>& text) const {
    return text && in(*text);
  }
  [[nodiscard]] bool in_steps(const std::shared_ptr<const Steps>& steps) const {
    return steps && std::ranges::any_of(*steps, [this](const Step& step) { return in_step(step); });
  }

  const std::string& variable_;
};

}  // namespace

std::vector<std::string> completed_users(Store& store, const RunId& run, const std::string& variable) {
  const Result<RunState> state = load_state(store, run);
  if (!state) return {};
  const std::optional<Workflow> workflow = recorded_workflow(store, run, *state);
  if (!workflow) return {};
  const VariableUse use(variable);
  std::vector<std::string> users;
  for (const auto& [path, record] : state->steps) {
    if (record.status != StepStatus::completed) continue;
    const auto step = std::ranges::find(workflow->steps, path, &Step::id);
    if (step != workflow->steps.end() && use.in_step(*step)) users.push_back(path);
  }
  return users;
}

}  // namespace pawl
