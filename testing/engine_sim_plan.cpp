#include "testing/engine_sim_plan.hpp"

#include <algorithm>
#include <functional>

#include "base/assert.hpp"
#include "base/hash.hpp"

namespace pawl::engine_sim {
namespace {

using What = StepPlan::What;
using When = StepPlan::When;

class Grammar {
 public:
  explicit Grammar(std::mt19937_64& random) : random_(random) {}

  Plan plan() {
    Plan made;
    made.workflows.resize(1 + below(3));
    children_ = made.workflows.size() - 1;
    for (std::size_t i = made.workflows.size(); i-- > 0;) {
      first_child_ = i + 1;
      made.workflows[i] = workflow(i == 0);
    }
    return made;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

  WorkflowPlan workflow(bool is_run) {
    WorkflowPlan made;
    made.steps = steps(is_run ? 1 + below(5) : 1 + below(3), 0, true);
    if (one_in(4)) made.on_failure = steps(1 + below(2), 2, false);
    if (one_in(5)) made.finally = handlers(1 + below(2));
    if (is_run && one_in(4)) made.budget_tokens = 50 + below(500);
    if (one_in(3)) made.parallel = static_cast<std::uint32_t>(1 + below(3));
    made.fail_fast = one_in(4);
    made.storage_goes_on = one_in(6);
    return made;
  }

  std::vector<StepPlan> handlers(std::uint64_t count) {
    std::vector<StepPlan> made;
    for (std::uint64_t i = 0; i < count; ++i) made.push_back(handler());
    return made;
  }

  std::string fresh_id() { return "s" + std::to_string(++ids_); }

  StepPlan handler() {
    StepPlan step;
    step.id = fresh_id();
    step.script.duration_us = static_cast<std::int64_t>(100 + below(3'000'000));
    step.script.tokens = below(40);
    step.script.on_term = static_cast<Script::OnTerm>(below(3));
    step.attempts = static_cast<std::uint32_t>(1 + below(3));
    if (step.attempts > 1 && one_in(2)) step.script.fails = static_cast<std::uint32_t>(1 + below(step.attempts - 1));
    step.script.breaks = one_in(14);
    step.script.large_output = one_in(10);
    step.script.hangs = one_in(30);
    step.quick_timeout = step.script.hangs;
    step.limited = one_in(8);
    step.cached = one_in(16);
    return step;
  }

  StepPlan step_at(std::size_t depth) {
    const std::uint64_t kind = below(depth >= 3 ? 7 : 14);
    if (kind < 6) return handler();
    StepPlan step;
    step.id = fresh_id();
    switch (kind) {
      case 6: step.what = What::sleep; break;
      case 7:
        step.what = What::gate;
        step.rejects = one_in(6);
        break;
      case 8: step.what = What::signal; break;
      case 9:
      case 10:
        step.what = What::loop;
        step.max = static_cast<std::uint32_t>(1 + below(4));
        step.until = one_in(2);
        step.goes_on_at_max = !one_in(4);
        step.inner = steps(1 + below(3), depth + 1, false);
        break;
      case 11:
      case 12:
        step.what = What::map;
        step.items = static_cast<std::uint32_t>(below(6));
        step.items_of_uses = one_in(3);
        step.streamed = !step.items_of_uses && one_in(3);
        step.parallel = static_cast<std::uint32_t>(1 + below(3));
        step.dlq = one_in(2);
        step.max_failures = static_cast<std::uint32_t>(below(3));
        step.reduce = one_in(3);
        step.inner = steps(1 + below(3), depth + 1, false);
        break;
      default:
        if (first_child_ > children_) return handler();
        step.what = What::child;
        step.child = first_child_ + below(children_ - first_child_ + 1);
    }
    return step;
  }

  std::vector<StepPlan> steps(std::uint64_t count, std::size_t depth, bool top) {
    std::vector<StepPlan> made;
    const bool parallel = one_in(3);
    for (std::uint64_t i = 0; i < count; ++i) {
      StepPlan step = step_at(depth);
      if (!made.empty() && one_in(2)) step.uses = made[below(made.size())].id;
      decorate(step, depth, parallel, top, made);
      made.push_back(std::move(step));
    }
    return made;
  }

  void decorate(StepPlan& step, std::size_t depth, bool parallel, bool top, const std::vector<StepPlan>& before) {
    step.continue_on_error = one_in(8);
    if (parallel) {
      step.has_needs = true;
      for (const StepPlan& other : before) {
        if (one_in(2) || other.id == step.uses) step.needs.push_back(other.id);
      }
    } else if (one_in(6)) {
      step.when = static_cast<When>(1 + below(3));
    }
    if (depth >= 1 && step.what == What::handler && one_in(4)) step.script.breaks_on = 4;
    if (depth < 3 && one_in(8)) {
      step.on_failure = handlers(1 + below(2));
      step.rescue = one_in(2);
    }
    if (step.what == What::handler && depth < 3 && one_in(10)) {
      step.script.doubts = true;
      step.then = handlers(1);
    }
    if (step.what == What::handler && top && one_in(10)) step.script.adds = static_cast<std::uint32_t>(1 + below(2));
    step.breakpoint_before = top && one_in(16);
    step.breakpoint_after = top && one_in(16);
  }

  std::mt19937_64& random_;
  std::size_t ids_ = 0;
  std::size_t children_ = 0;
  std::size_t first_child_ = 0;
};

// Building the workflow.

const std::set<std::string, std::less<>>& names() { return reserved_names(); }

ValueTemplate value_of(const Json& value) {
  Result<ValueTemplate> parsed = ValueTemplate::parse(value, names());
  PAWL_ASSERT(parsed.has_value());
  return *parsed;
}
TextTemplate text_of(const std::string& text) {
  Result<TextTemplate> parsed = TextTemplate::parse(text, names(), TextTemplate::Unknown::refuse);
  PAWL_ASSERT(parsed.has_value());
  return *parsed;
}
Expression expression_of(const std::string& text) {
  Result<Expression> parsed = Expression::parse(text);
  PAWL_ASSERT(parsed.has_value());
  return *parsed;
}

enum class Where : std::uint8_t { plain, loop, map, reduce };

class Builder {
 public:
  explicit Builder(const Plan& plan) : plan_(plan) {}

  Built build() {
    for (std::size_t i = 0; i < plan_.workflows.size(); ++i) {
      const WorkflowPlan& from = plan_.workflows[i];
      auto workflow = std::make_shared<Workflow>();
      workflow->name = "w" + std::to_string(i);
      workflow->steps = steps(from.steps, Where::plain);
      if (!from.on_failure.empty())
        workflow->on_failure = std::make_shared<const Steps>(steps(from.on_failure, Where::plain));
      if (!from.finally.empty()) workflow->finally = std::make_shared<const Steps>(steps(from.finally, Where::plain));
      if (from.budget_tokens > 0) workflow->budget.tokens = from.budget_tokens;
      workflow->parallel = from.parallel;
      workflow->fail_fast = from.fail_fast;
      if (from.storage_goes_on) workflow->checkpoint.on_storage_failure = OnStorageFailure::go_on;
      for (const StepPlan& step : from.steps)
        workflow->outputs.emplace_back(step.id, value_of("${steps." + step.id + ".output}"));
      std::string hashes;
      for (const Step& step : workflow->steps) hashes += step.definition_hash;
      workflow->hash = "sha256:" + to_hex(sha256(hashes));
      built_.workflows.push_back(std::move(workflow));
    }
    return std::move(built_);
  }

 private:
  Steps steps(const std::vector<StepPlan>& plans, Where where) {
    Steps made;
    for (const StepPlan& plan : plans) {
      Step step = one(plan, where, made);
      step.layer = made.size();
      made.push_back(std::move(step));
    }
    return made;
  }

  std::shared_ptr<const Steps> shared(const std::vector<StepPlan>& plans, Where where) {
    return plans.empty() ? nullptr : std::make_shared<const Steps>(steps(plans, where));
  }

  static std::optional<std::size_t> index_of(const Steps& steps, const std::string& id) {
    const auto found = std::ranges::find(steps, id, &Step::id);
    if (found == steps.end()) return std::nullopt;
    return static_cast<std::size_t>(found - steps.begin());
  }

  Json input_of(const StepPlan& plan, Where where, const Steps& before) const {
    Json input = {{"version", plan.version}, {"vars", "${vars}"}};
    if (where == Where::loop) input["previous"] = "${default(loop.previous, null)}";
    if (where == Where::loop) input["iteration"] = "${loop.iteration}";
    if (where == Where::map) input["item"] = "${item}";
    if (where == Where::reduce) input["counts"] = "${map}";
    if (index_of(before, plan.uses)) input["used"] = "${steps." + plan.uses + ".output}";
    return input;
  }

  Work work_of(const StepPlan& plan, Where where, const Steps& before) {
    switch (plan.what) {
      case What::handler:
        built_.scripts[plan.id] = plan.script;
        return CallHandler{plan.id, value_of(input_of(plan, where, before))};
      case What::sleep: return Sleep{text_of("3s")};
      case What::gate: return Approve{text_of("Continue " + plan.id + "?")};
      case What::signal: return WaitFor{kSignal, std::nullopt};
      case What::loop: {
        Loop loop;
        loop.max = plan.max;
        loop.on_max = plan.goes_on_at_max ? Loop::OnMax::go_on : Loop::OnMax::fail;
        loop.steps = std::make_shared<const Steps>(steps(plan.inner, Where::loop));
        const std::string last = loop.steps->empty() ? "" : loop.steps->back().id;
        if (plan.until && !last.empty() && plan.inner.back().what == What::handler)
          loop.until = expression_of("default(steps." + last + ".output.n, 1) % 3 == 0");
        return loop;
      }
      case What::map: return map_of(plan, before);
      case What::child: return CallWorkflow{"w" + std::to_string(plan.child), value_of(input_of(plan, where, before))};
    }
    return Nothing{};
  }

  Map map_of(const StepPlan& plan, const Steps& before) {
    Map map;
    if (plan.streamed) {
      map.items_from = text_of(fmt::format("{}:{}", plan.items, plan.version));
    } else if (plan.items_of_uses && index_of(before, plan.uses)) {
      Json items = Json::array();
      for (std::uint32_t i = 0; i < plan.items; ++i)
        items.push_back({{"i", i}, {"of", "${steps." + plan.uses + ".output}"}});
      map.items = value_of(items);
    } else {
      Json items = Json::array();
      for (std::uint32_t i = 0; i < plan.items; ++i) items.push_back({{"i", i}, {"v", i == 0 ? plan.version : 0}});
      map.items = value_of(items);
    }
    map.parallel = plan.parallel;
    map.on_item_failure = plan.dlq ? Map::OnItemFailure::dlq : Map::OnItemFailure::fail;
    if (plan.dlq && plan.max_failures > 0) map.max_failures = plan.max_failures;
    map.steps = std::make_shared<const Steps>(steps(plan.inner, Where::map));
    if (plan.reduce) {
      StepPlan reduce;
      reduce.id = "reduce";
      reduce.script.tokens = 3;
      built_.scripts["reduce"] = reduce.script;
      map.reduce = std::make_shared<const Step>(one(reduce, Where::reduce, {}));
    }
    return map;
  }

  Step one(const StepPlan& plan, Where where, const Steps& before) {
    Step step;
    step.id = plan.id;
    step.work = work_of(plan, where, before);
    if (plan.has_needs) {
      for (const std::string& need : plan.needs) {
        if (const auto index = index_of(before, need)) step.needed.push_back(*index);
      }
      step.after = step.needed;
    } else if (!before.empty()) {
      step.after.push_back(before.size() - 1);
    }
    if (plan.when == When::always) step.when = expression_of("always()");
    if (plan.when == When::failed) step.when = expression_of("failed()");
    if (plan.when == When::even && index_of(before, plan.uses))
      step.when = expression_of("default(steps." + plan.uses + ".output.n, 1) % 2 == 0");
    step.retry.attempts = plan.attempts;
    step.retry.backoff = Milliseconds(500);
    step.continue_on_error = plan.continue_on_error;
    step.rescue = plan.rescue;
    if (plan.quick_timeout) step.timeout = Milliseconds(2'000);
    if (plan.breakpoint_before) step.breakpoint = Breakpoint::before;
    if (plan.breakpoint_after) step.breakpoint = Breakpoint::after;
    if (plan.limited) step.uses = {"shared"};
    if (plan.cached) step.cache = Cache{text_of(plan.id + "-key"), std::nullopt};
    step.on_failure = shared(plan.on_failure, Where::plain);
    if (!plan.then.empty()) step.confidence = LowConfidence{0.5, shared(plan.then, Where::plain)};
    std::string described = fmt::format("{}:{}", plan.id, plan.version);
    if (const auto* map = std::get_if<Map>(&step.work)) described += hashes(map->steps);
    if (const auto* loop = std::get_if<Loop>(&step.work)) described += hashes(loop->steps);
    step.definition_hash = to_hex(sha256(described)).substr(0, 16);
    return step;
  }

  static std::string hashes(const std::shared_ptr<const Steps>& steps) {
    std::string all;
    for (const Step& step : *steps) all += step.definition_hash;
    return all;
  }

  const Plan& plan_;
  Built built_;
};

// Printing and shrinking.

void print(std::string& out, const std::vector<StepPlan>& steps, const std::string& indent) {
  constexpr std::array kWhat{"handler", "loop", "map", "child", "gate", "signal", "sleep"};
  constexpr std::array kWhen{"", " when:always", " when:failed", " when:even"};
  for (const StepPlan& step : steps) {
    out += fmt::format("{}{} {}", indent, step.id, kWhat[static_cast<std::size_t>(step.what)]);
    const Script& s = step.script;
    if (step.what == What::handler) {
      out += fmt::format(" {}us tokens:{} term:{} attempts:{}", s.duration_us, s.tokens, static_cast<int>(s.on_term),
                         step.attempts);
      if (s.fails > 0) out += fmt::format(" fails:{}", s.fails);
      if (s.breaks) out += " breaks";
      if (s.breaks_on > 0) out += fmt::format(" breaks_on:{}", s.breaks_on);
      if (s.hangs) out += " hangs";
      if (s.adds > 0) out += fmt::format(" adds:{}", s.adds);
      if (s.doubts) out += " doubts";
      if (s.large_output) out += " large";
    }
    if (step.what == What::loop)
      out += fmt::format(" max:{} until:{} go_on:{}", step.max, step.until, step.goes_on_at_max);
    if (step.what == What::map)
      out += fmt::format(" items:{} parallel:{} dlq:{} max_failures:{} reduce:{} streamed:{} of_uses:{}", step.items,
                         step.parallel, step.dlq, step.max_failures, step.reduce, step.streamed, step.items_of_uses);
    if (step.what == What::child) out += fmt::format(" w{}", step.child);
    if (step.rejects) out += " rejects";
    if (step.continue_on_error) out += " continue_on_error";
    if (step.rescue) out += " rescue";
    if (step.limited) out += " limited";
    if (step.cached) out += " cached";
    if (step.breakpoint_before) out += " break:before";
    if (step.breakpoint_after) out += " break:after";
    if (!step.uses.empty()) out += " uses:" + step.uses;
    if (step.has_needs) out += fmt::format(" needs:[{}]", fmt::join(step.needs, ","));
    out += kWhen[static_cast<std::size_t>(step.when)];
    out += "\n";
    print(out, step.inner, indent + "  ");
    if (!step.on_failure.empty()) out += indent + "  on_failure:\n";
    print(out, step.on_failure, indent + "    ");
    if (!step.then.empty()) out += indent + "  then:\n";
    print(out, step.then, indent + "    ");
  }
}

/// Calls `use` for every list of steps of the plan.
void each_list(std::vector<StepPlan>& steps, const std::function<void(std::vector<StepPlan>&)>& use) {
  use(steps);
  for (StepPlan& step : steps) {
    each_list(step.inner, use);
    each_list(step.on_failure, use);
    each_list(step.then, use);
  }
}
void each_list(Plan& plan, const std::function<void(std::vector<StepPlan>&)>& use) {
  for (WorkflowPlan& workflow : plan.workflows) {
    each_list(workflow.steps, use);
    each_list(workflow.on_failure, use);
    each_list(workflow.finally, use);
  }
}

/// Simplifications of one step; returns false if there is none with this number.
bool simplify(StepPlan& step, std::size_t which) {
  const StepPlan before = step;
  switch (which) {
    case 0: step.script = Script{}; break;
    case 1: step.on_failure.clear(); break;
    case 2: step.then.clear(); break;
    case 3: step.when = When::none; break;
    case 4: step.uses.clear(); break;
    case 5: step.has_needs = false; break;
    case 6:
      step.attempts = 1;
      step.script.fails = 0;
      break;
    case 7: step.continue_on_error = step.rescue = step.limited = step.cached = false; break;
    case 8: step.breakpoint_before = step.breakpoint_after = false; break;
    case 9: step.reduce = step.streamed = step.items_of_uses = false; break;
    case 10:
      if (step.items > 1) --step.items;
      break;
    case 11:
      if (step.max > 1) --step.max;
      break;
    default: return false;
  }
  return true;
}

}  // namespace

namespace {

/// Returns about how many steps an execution of the plan has.
std::uint64_t weight(const Plan& plan, const std::vector<StepPlan>& steps) {
  std::uint64_t sum = 0;
  for (const StepPlan& step : steps) {
    const std::uint64_t inner = weight(plan, step.inner);
    sum += 1 + weight(plan, step.on_failure) + weight(plan, step.then);
    if (step.what == What::loop) sum += step.max * inner;
    if (step.what == What::map) sum += step.items * inner;
    if (step.what == What::child) sum += weight(plan, plan.workflows[step.child].steps);
  }
  return sum;
}

}  // namespace

Plan random_plan(std::mt19937_64& random) {
  constexpr std::uint64_t kWeightMax = 150;
  while (true) {
    Plan plan = Grammar(random).plan();
    if (weight(plan, plan.workflows[0].steps) <= kWeightMax) return plan;
  }
}

std::string to_text(const Plan& plan) {
  std::string out;
  for (std::size_t i = 0; i < plan.workflows.size(); ++i) {
    const WorkflowPlan& workflow = plan.workflows[i];
    out += fmt::format("w{} parallel:{} fail_fast:{} budget:{} storage_goes_on:{}\n", i, workflow.parallel,
                       workflow.fail_fast, workflow.budget_tokens, workflow.storage_goes_on);
    print(out, workflow.steps, "  ");
    if (!workflow.on_failure.empty()) out += "  on_failure:\n";
    print(out, workflow.on_failure, "    ");
    if (!workflow.finally.empty()) out += "  finally:\n";
    print(out, workflow.finally, "    ");
  }
  return out;
}

std::vector<Plan> smaller_plans(const Plan& plan) {
  std::vector<Plan> out;
  std::size_t lists = 0;
  Plan copy = plan;
  std::vector<std::size_t> sizes;
  each_list(copy, [&](std::vector<StepPlan>& steps) { sizes.push_back(steps.size()); });
  for (std::size_t list = 0; list < sizes.size(); ++list) {
    for (std::size_t i = 0; i < sizes[list]; ++i) {
      for (std::size_t which = 0; which <= 12; ++which) {
        Plan smaller = plan;
        lists = 0;
        bool changed = false;
        each_list(smaller, [&](std::vector<StepPlan>& steps) {
          if (lists++ != list) return;
          if (which == 0) {
            steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
            changed = true;
          } else {
            changed = simplify(steps[i], which - 1);
          }
        });
        if (changed && to_text(smaller) != to_text(plan)) out.push_back(std::move(smaller));
      }
    }
  }
  for (std::size_t i = 0; i < plan.workflows.size(); ++i) {
    Plan smaller = plan;
    smaller.workflows[i].parallel = 0;
    smaller.workflows[i].fail_fast = false;
    smaller.workflows[i].budget_tokens = 0;
    smaller.workflows[i].storage_goes_on = false;
    if (to_text(smaller) != to_text(plan)) out.push_back(std::move(smaller));
  }
  return out;
}

Built build(const Plan& plan) { return Builder(plan).build(); }

Json added_by(const std::string& id, std::uint32_t count) {
  Json steps = Json::array();
  for (std::uint32_t i = 0; i < count; ++i) steps.push_back(fmt::format("{}-added{}", id, i));
  return steps;
}

Result<Steps> parse_added(const Json& ids, const Steps& siblings, std::size_t after) {
  Steps made;
  for (const Json& id : ids) {
    Step step;
    step.id = id.get<std::string>();
    step.work = CallHandler{step.id, value_of({{"from", "${steps." + siblings[after].id + ".output}"}})};
    step.after.push_back(made.empty() ? after : siblings.size() + made.size() - 1);
    step.definition_hash = to_hex(sha256(step.id)).substr(0, 16);
    made.push_back(std::move(step));
  }
  return made;
}

bool breaks_with(const Script& script, const Json& input) {
  if (script.breaks || script.hangs) return true;
  if (script.breaks_on == 0) return false;
  return machine::hash_of_item(input) % script.breaks_on == 0;
}

Json output_with(const Script& script, const std::string& step, const Json& input) {
  Json output = {{"n", machine::hash_of_item({step, input}) % 1000}};
  if (script.large_output) output["text"] = std::string(5'000, 'x');
  return output;
}

Json output_of_failure(const Script& script, const std::string& step, const Json& input) {
  if (script.hangs) return kOutputOfStopped;
  Json output = output_with(script, step, input);
  output["failed"] = true;
  return output;
}

}  // namespace pawl::engine_sim
