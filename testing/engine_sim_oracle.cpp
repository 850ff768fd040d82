#include "testing/engine_sim_oracle.hpp"

#include <algorithm>
#include <charconv>
#include <functional>

namespace pawl::engine_sim {
namespace {

struct Value {
  std::string id;
  StepStatus status = StepStatus::pending;
  Json output = {};
};

struct Frame {
  const Frame* outer = nullptr;
  std::vector<Value> values = {};
  bool failed = false;
  bool aside = false;
  std::optional<Json> item = {};
  std::uint64_t index = 0;
  std::uint32_t iteration = 0;
  std::uint32_t max = 0;
  Json previous = {};
  std::optional<Json> counts = {};
};

class FrameNames final : public Names {
 public:
  FrameNames(const Frame& frame, const Json& vars, const Step* step) : frame_(frame), vars_(vars), step_(step) {}

  Result<Json> find(std::span<const PathPart> path) const override {
    const std::string root = std::get<std::string>(path[0]);
    if (root == "vars") return follow(vars_, path.subspan(1));
    for (const Frame* at = &frame_; at != nullptr; at = at->outer) {
      if (root == "steps") {
        const auto found = std::ranges::find(at->values, std::get<std::string>(path[1]), &Value::id);
        if (found != at->values.end()) return follow(Json{{"output", found->output}}, path.subspan(2));
      }
      if (root == "item" && at->item) return follow(*at->item, path.subspan(1));
      if (root == "map" && at->counts) return follow(*at->counts, path.subspan(1));
      if (root == "loop" && at->iteration > 0)
        return follow(Json{{"iteration", at->iteration}, {"max", at->max}, {"previous", at->previous}},
                      path.subspan(1));
    }
    return fail(Code::unknown_name, "unknown name '{}'", root);
  }

  bool failed() const override {
    for (const Frame* at = &frame_; at != nullptr; at = at->outer) {
      if (at->failed || at->aside) return true;
    }
    return step_ != nullptr && std::ranges::any_of(step_->after, [&](std::size_t before) {
             return before < frame_.values.size() && frame_.values[before].status == StepStatus::failed;
           });
  }

 private:
  const Frame& frame_;
  const Json& vars_;
  const Step* step_;
};

class Interpreter {
 public:
  Interpreter(const Built& built, const std::set<std::string>& rejecting, const Json& vars)
      : built_(built), rejecting_(rejecting), vars_(vars) {}

  Expected run(const Workflow& workflow) {
    Frame top;
    scope(workflow.steps, top);
    Expected expected{.failed = top.failed};
    if (top.failed && workflow.on_failure) {
      Frame aside{.outer = &top, .aside = true};
      scope(*workflow.on_failure, aside);
    }
    if (workflow.finally) {
      Frame last{.outer = &top};
      scope(*workflow.finally, last);
      expected.failed = expected.failed || last.failed;
    }
    for (const auto& [name, value] : workflow.outputs)
      expected.outputs[name] = value.evaluate(FrameNames(top, vars_, nullptr)).value_or(Json("missing"));
    return expected;
  }

 private:
  void scope(const Steps& steps, Frame& frame) {
    for (const Step& step : steps) frame.values.push_back({step.id, StepStatus::pending, Json()});
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      const bool overrides = step.when && step.when->overrides_skipping();
      if (frame.failed && !overrides) continue;
      Value value = one(step, frame);
      value.id = step.id;
      if (value.status == StepStatus::failed && !step.continue_on_error) frame.failed = true;
      frame.values[i] = std::move(value);
    }
  }

  Value one(const Step& step, Frame& frame) {
    const FrameNames names(frame, vars_, &step);
    const bool overrides = step.when && step.when->overrides_skipping();
    for (const std::size_t need : step.needed) {
      if (!overrides && frame.values[need].status == StepStatus::skipped) return {"", StepStatus::skipped};
    }
    if (step.when && !step.when->test(names).value_or(false)) return {"", StepStatus::skipped};
    Value value = work(step, frame, names);
    if (value.status != StepStatus::failed || step.on_failure == nullptr || doubted_) {
      doubted_ = false;
      return value;
    }
    Frame aside{.outer = &frame, .aside = true};
    scope(*step.on_failure, aside);
    if (step.rescue && !aside.failed) return {"", StepStatus::completed};
    return value;
  }

  static Value failed(Json output = {}) { return {"", StepStatus::failed, std::move(output)}; }
  static Value completed(Json output) { return {"", StepStatus::completed, std::move(output)}; }

  Value work(const Step& step, Frame& frame, const FrameNames& names) {
    if (const auto* handler = std::get_if<CallHandler>(&step.work)) {
      const Json input = handler->with.evaluate(names).value_or(Json("invalid"));
      const auto found = built_.scripts.find(handler->name);
      const Script script = found == built_.scripts.end() ? Script{} : found->second;
      if (breaks_with(script, input)) return failed(output_of_failure(script, step.id, input));
      if (script.doubts && step.confidence) {
        Frame then{.outer = &frame, .aside = true};
        scope(*step.confidence->then, then);
        doubted_ = then.failed;
        if (then.failed) return failed();
      }
      return completed(output_with(script, step.id, input));
    }
    if (std::holds_alternative<Approve>(step.work)) {
      if (rejecting_.contains(step.id)) return failed();
      return completed({{"approved", true}, {"by", "ann"}, {"comment", ""}});
    }
    if (std::holds_alternative<WaitFor>(step.work)) return completed({{"payload", 1}});
    if (const auto* loop = std::get_if<Loop>(&step.work)) return repeat(*loop, frame);
    if (const auto* map = std::get_if<Map>(&step.work)) return each(*map, frame, names);
    if (const auto* call = std::get_if<CallWorkflow>(&step.work)) {
      const Json with = call->with.evaluate(names).value_or(Json("invalid"));
      const auto index = static_cast<std::size_t>(std::stoul(call->file.substr(1)));
      const Expected expected = interpret(built_, rejecting_, index, with);
      return expected.failed ? failed() : completed(expected.outputs);
    }
    return completed(Json());
  }

  Value repeat(const Loop& loop, Frame& frame) {
    Json previous;
    for (std::uint32_t iteration = 1;; ++iteration) {
      Frame inner{.outer = &frame, .iteration = iteration, .max = loop.max, .previous = previous};
      scope(*loop.steps, inner);
      if (inner.failed) return failed();
      const bool satisfied = loop.until && loop.until->test(FrameNames(inner, vars_, nullptr)).value_or(false);
      const Json output = inner.values.empty() ? Json() : inner.values.back().output;
      if (satisfied) return completed(output);
      if (iteration >= loop.max) {
        const bool fails = loop.until && loop.on_max == Loop::OnMax::fail;
        return fails ? failed() : completed(output);
      }
      previous = Json::object();
      for (const Value& value : inner.values)
        previous[value.id] = {{"output", value.output}, {"status", to_text(value.status)}};
    }
  }

  Value each(const Map& map, Frame& frame, const FrameNames& names) {
    const Json items = map.items_from ? items_of_file(map.items_from->render(names).value_or(""))
                                      : map.items->evaluate(names).value_or(Json::array());
    Json results = Json::array();
    std::uint64_t failures = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      Frame inner{.outer = &frame, .item = items[i], .index = i};
      scope(*map.steps, inner);
      failures += inner.failed ? 1 : 0;
      const Json output = inner.failed || inner.values.empty() ? Json() : inner.values.back().output;
      results.push_back(
          {{"index", i}, {"item", items[i]}, {"status", inner.failed ? "failed" : "completed"}, {"output", output}});
    }
    const bool collects = map.on_item_failure == Map::OnItemFailure::dlq;
    if (failures > map.max_failures.value_or(collects ? UINT64_MAX : 0)) return failed();
    if (map.reduce == nullptr) return completed(results);
    Frame inner{.outer = &frame};
    inner.counts = {{"total", items.size()}, {"succeeded", items.size() - failures}, {"failed", failures}};
    scope({*map.reduce}, inner);
    return inner.failed ? failed() : completed(inner.values.front().output);
  }

  const Built& built_;
  const std::set<std::string>& rejecting_;
  const Json& vars_;
  bool doubted_ = false;
};

void collect_gates(const std::vector<StepPlan>& steps, std::set<std::string>& out) {
  for (const StepPlan& step : steps) {
    if (step.rejects) out.insert(step.id);
    collect_gates(step.inner, out);
    collect_gates(step.on_failure, out);
    collect_gates(step.then, out);
  }
}

}  // namespace

Expected interpret(const Built& built, const std::set<std::string>& rejecting, std::size_t workflow, const Json& vars) {
  return Interpreter(built, rejecting, vars).run(*built.workflows[workflow]);
}

std::set<std::string> rejecting_gates(const Plan& plan) {
  std::set<std::string> out;
  for (const WorkflowPlan& workflow : plan.workflows) {
    collect_gates(workflow.steps, out);
    collect_gates(workflow.on_failure, out);
    collect_gates(workflow.finally, out);
  }
  return out;
}

Json items_of_file(const std::string& file) {
  std::uint32_t count = 0;
  std::uint32_t version = 0;
  const std::size_t colon = std::min(file.find(':'), file.size() - 1);
  std::from_chars(file.data(), file.data() + colon, count);
  std::from_chars(file.data() + colon + 1, file.data() + file.size(), version);
  Json items = Json::array();
  for (std::uint32_t i = 0; i < count; ++i) items.push_back({{"i", i}, {"v", i == 0 ? version : 0}});
  return items;
}

}  // namespace pawl::engine_sim
