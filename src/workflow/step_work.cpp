// The actions of steps, by kind.
#include <algorithm>

#include "workflow/steps_parser.hpp"

namespace pawl {
namespace {

constexpr std::size_t kMatrixKeysMax = 20;

}  // namespace

Work StepsParser::work(std::string_view kind, const Fields& fields, const View& view) {
  const YamlNode& node = *fields.find(kind);
  if (kind == "run") return run_command(node, fields, view);
  if (kind == "handler" || kind == "workflow") return call(kind, node, fields, view);
  if (kind == "approve") {
    auto prompt = reader_.text_template(node, "approve", view, TextTemplate::Unknown::refuse);
    return Approve{prompt ? std::move(*prompt) : TextTemplate()};
  }
  if (kind == "sleep") {
    auto duration = reader_.text_template(node, "sleep", view, TextTemplate::Unknown::refuse);
    if (duration) reader_.check_sleep(node, *duration);
    return Sleep{duration ? std::move(*duration) : TextTemplate()};
  }
  if (kind == "wait_for") return wait_for(node, view);
  if (kind == "loop") return loop(node, fields, view);
  return map(node, fields, view);
}

Work StepsParser::run_command(const YamlNode& node, const Fields& fields, const View& view) const {
  RunCommand run;
  run.shell = inherited_.shell;
  if (const YamlNode* shell = fields.find("shell")) {
    const auto word = reader_.word(*shell, "shell", {"sh", "bash"});
    if (word) run.shell = *word == 0 ? Shell::sh : Shell::bash;
  }
  auto command = reader_.command(node, "run", run.shell, view);
  if (command) run.command = std::move(*command);
  return run;
}

Work StepsParser::call(std::string_view kind, const YamlNode& node, const Fields& fields, const View& view) const {
  std::string name = reader_.text(node, kind).value_or("");
  ValueTemplate with;
  if (const YamlNode* values = fields.find("with")) {
    if (!values->is_map()) {
      reader_.faults().add(values->place, fmt::format("'with' must be a map, not {}", kind_text(*values)),
                           "write with: { name: value }");
    } else if (auto parsed = reader_.value(*values, view)) {
      with = std::move(*parsed);
    }
  }
  if (kind == "handler") {
    if (!name.empty() && !is_signal_name(name)) {
      reader_.faults().add(node.place, fmt::format("invalid handler name '{}'", name.substr(0, 100)),
                           "use one word of letters, digits and _ - . / :");
    }
    return CallHandler{std::move(name), std::move(with)};
  }
  if (name.find("${") != std::string::npos) {
    reader_.faults().add(node.place, "the file of a child workflow can't be an expression",
                         "use several steps with 'when'");
  }
  return CallWorkflow{std::move(name), std::move(with)};
}

Work StepsParser::wait_for(const YamlNode& node, const View& view) {
  WaitFor wait;
  const YamlNode* signal = &node;
  if (!node.is_scalar()) {
    const Fields fields(node, language::kWaitFor, "'wait_for'", reader_.faults());
    if (!fields.is_map()) return wait;
    reader_.duration_setting(fields.find("timeout"), Setting::signal_timeout, view, computed_, wait.timeout);
    signal = fields.find("signal");
    if (signal == nullptr) {
      reader_.faults().add(node.place, "'wait_for' requires 'signal'", "write wait_for: { signal: release }");
      return wait;
    }
  }
  const auto constant = reader_.constant(*signal, Setting::signal, view, computed_);
  if (!constant) return wait;
  wait.signal = reader_.text(*constant, "signal").value_or("");
  if (!wait.signal.empty() && !is_signal_name(wait.signal)) {
    reader_.faults().add(signal->place, fmt::format("invalid signal name '{}'", wait.signal.substr(0, 100)),
                         "use one word of letters, digits and _ - . / :");
  }
  return wait;
}

Work StepsParser::loop(const YamlNode& node, const Fields& fields, const View& view) {
  Loop loop;
  const Fields settings(node, language::kLoop, "'loop'", reader_.faults());
  if (const YamlNode* max = settings.find("max")) {
    reader_.whole_setting(max, Setting::loop_max, view, computed_, loop.max);
  } else if (settings.is_map()) {
    reader_.faults().add(node.place, "'loop' requires 'max'", "write loop: { max: 10, until: ... }");
  }
  if (const YamlNode* on_max = settings.find("on_max")) {
    const auto word = reader_.word(*on_max, "on_max", {"fail", "continue"});
    if (word && *word == 1) loop.on_max = Loop::OnMax::go_on;
  }
  const YamlNode* steps = fields.find("steps");
  if (steps == nullptr) {
    reader_.faults().add(node.place, "a loop requires 'steps'", "add them next to 'loop'");
    return loop;
  }
  View inner = view.in_loop();
  inner.uses = uses(fields.find("uses"), view);
  ParsedSteps parsed = parse(*steps, "steps", inner);
  loop.steps = std::move(parsed.steps);
  const YamlNode* until = settings.find("until");
  if (until != nullptr && parsed.scope != nullptr) {
    loop.until = reader_.expression(*until, "until", inner.inside({parsed.scope, std::nullopt, Frame::Own::hidden}));
  }
  return loop;
}

void StepsParser::map_items(Map& map, const Fields& settings, const View& view) const {
  const YamlNode* items = settings.find("items");
  const YamlNode* from = settings.find("items_from");
  const YamlNode* matrix = settings.find("matrix");
  std::vector<std::string_view> given;
  for (const std::string_view key : {"items", "items_from", "matrix"}) {
    if (settings.find(key) != nullptr) given.push_back(key);
  }
  if (given.size() > 1) {
    reader_.faults().add(settings.place_of(given[1]), fmt::format("a map has both '{}' and '{}'", given[0], given[1]),
                         "remove one of them");
  } else if (given.empty()) {
    reader_.faults().add(settings.place(), "a map requires items",
                         "write items: \"${steps.ID.output}\", a list, items_from: FILE, or matrix: { a: [1, 2] }");
  }
  if (matrix != nullptr) return map_matrix(map, *matrix, view);
  if (from != nullptr) map.items_from = reader_.text_template(*from, "items_from", view, TextTemplate::Unknown::refuse);
  if (items == nullptr) return;
  const bool expression = items->is_scalar() && items->text.find("${") != std::string::npos;
  if (!items->is_list() && !expression) {
    reader_.faults().add(
        items->place,
        fmt::format("'items' must be a list or an expression that returns one, not {}", kind_text(*items)),
        "write [a, b] or \"${steps.ID.output}\"");
    return;
  }
  map.items = reader_.value(*items, view);
}

void StepsParser::map_matrix(Map& map, const YamlNode& matrix, const View& view) const {
  Faults& faults = reader_.faults();
  if (!matrix.is_map() || matrix.members.empty()) {
    return faults.add(matrix.place, fmt::format("'matrix' must be a map of lists, not {}", kind_text(matrix)),
                      "write matrix: { model: [a, b], case: \"${range(10)}\" }");
  }
  if (matrix.members.size() > kMatrixKeysMax)
    return faults.add(matrix.place, fmt::format("a matrix has at most {} lists", kMatrixKeysMax), "use 'items'");
  const std::size_t before = faults.size();
  for (const YamlMember& member : matrix.members) {
    const bool expression = member.value->is_scalar() && member.value->text.find("${") != std::string::npos;
    if (!is_step_id(member.key)) {
      faults.add(member.key_place, fmt::format("invalid key of a matrix: '{}'", member.key.substr(0, 100)),
                 "use a letter, then letters, digits, '_' or '-'; at most 64 characters");
    } else if (!member.value->is_list() && !expression) {
      faults.add(member.value->place,
                 fmt::format("'{}' must be a list or an expression that returns one, not {}", member.key,
                             kind_text(*member.value)),
                 fmt::format("write {}: [{}]", member.key, member.value->is_scalar() ? member.value->text : "a, b"));
    }
  }
  if (faults.size() == before) map.items = reader_.value(matrix, view, ValueTemplate::Form::product);
}

void StepsParser::max_failures(Map& map, const YamlNode& node, const View& view) {
  const auto constant = reader_.constant(node, Setting::max_failures, view, computed_);
  if (!constant) return;
  const auto limit = failure_limit(constant->is_scalar() ? to_json(*constant, reader_.faults()) : Json());
  if (!limit) {
    const std::string shown =
        constant->is_scalar() ? fmt::format("'{}'", constant->text.substr(0, 60)) : kind_text(*constant);
    return reader_.faults().add(node.place,
                                fmt::format("'max_failures' must be a whole number or a percentage, not {}", shown),
                                "for example 10, or 10%");
  }
  map.max_failures = limit->count;
  map.max_failures_percent = limit->percent;
}

CircuitBreaker StepsParser::circuit_breaker(const YamlNode& node, const View& view) {
  CircuitBreaker breaker;
  const Fields fields(node, language::kCircuitBreaker, "'circuit_breaker'", reader_.faults());
  reader_.whole_setting(fields.find("failures"), Setting::breaker_failures, view, computed_, breaker.failures);
  reader_.whole_setting(fields.find("trips"), Setting::breaker_trips, view, computed_, breaker.trips);
  std::optional<Milliseconds> cool_down;
  reader_.duration_setting(fields.find("cool_down"), Setting::breaker_cool_down, view, computed_, cool_down);
  breaker.cool_down = cool_down.value_or(breaker.cool_down);
  return breaker;
}

Work StepsParser::map(const YamlNode& node, const Fields& fields, const View& view) {
  Map map;
  const Fields settings(node, language::kMap, "'map'", reader_.faults());
  if (settings.is_map()) map_items(map, settings, view);
  reader_.whole_setting(settings.find("parallel"), Setting::parallel, view, computed_, map.parallel);
  if (const YamlNode* value = settings.find("on_item_failure")) {
    const auto word = reader_.word(*value, "on_item_failure", {"fail", "dlq"});
    if (word && *word == 1) map.on_item_failure = Map::OnItemFailure::dlq;
  }
  if (const YamlNode* value = settings.find("max_failures")) max_failures(map, *value, view);
  if (const YamlNode* value = settings.find("circuit_breaker")) map.circuit_breaker = circuit_breaker(*value, view);
  if (const YamlNode* steps = fields.find("steps")) {
    View inner = view.in_map();
    inner.uses = uses(fields.find("uses"), view);
    map.steps = parse(*steps, "steps", inner).steps;
  } else {
    reader_.faults().add(node.place, "a map requires 'steps'", "add them next to 'map'");
  }
  if (const YamlNode* reduce = fields.find("reduce")) {
    const YamlPtr shared = fields.share("reduce");
    const ParsedSteps parsed = parse({StepEntry{shared, 0, "reduce", reduce->place}}, {Stage{}}, view.in_reduce());
    if (parsed.steps != nullptr && !parsed.steps->empty())
      map.reduce = std::make_shared<const Step>(parsed.steps->front());
  }
  return map;
}

}  // namespace pawl
