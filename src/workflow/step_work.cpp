// The actions of steps, by kind.
#include <algorithm>

#include "workflow/steps_parser.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kIterationsMax = 1'000'000;
constexpr std::uint64_t kItemsAtOnceMax = 10'000;
constexpr std::uint64_t kFailuresMax = std::uint64_t{1} << 53U;
constexpr std::size_t kLabelBytesMax = 128;

/// Names of signals and handlers must be one word.
bool is_label(std::string_view text) {
  return !text.empty() && text.size() <= kLabelBytesMax && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '/' || c == ':';
  });
}

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
  if (kind == "wait_for") return wait_for(node);
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
  auto command = reader_.command(node, run.shell, view);
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
    if (!name.empty() && !is_label(name)) {
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

Work StepsParser::wait_for(const YamlNode& node) const {
  WaitFor wait;
  const YamlNode* signal = &node;
  if (!node.is_scalar()) {
    const Fields fields(node, language::kWaitFor, "'wait_for'", reader_.faults());
    if (!fields.is_map()) return wait;
    if (const YamlNode* timeout = fields.find("timeout")) wait.timeout = reader_.duration(*timeout, "timeout");
    signal = fields.find("signal");
    if (signal == nullptr) {
      reader_.faults().add(node.place, "'wait_for' requires 'signal'", "write wait_for: { signal: release }");
      return wait;
    }
  }
  wait.signal = reader_.text(*signal, "signal").value_or("");
  if (!wait.signal.empty() && !is_label(wait.signal)) {
    reader_.faults().add(signal->place, fmt::format("invalid signal name '{}'", wait.signal.substr(0, 100)),
                         "use one word of letters, digits and _ - . / :");
  }
  return wait;
}

Work StepsParser::loop(const YamlNode& node, const Fields& fields, const View& view) {
  Loop loop;
  const Fields settings(node, language::kLoop, "'loop'", reader_.faults());
  if (const YamlNode* max = settings.find("max")) {
    loop.max = static_cast<std::uint32_t>(reader_.whole(*max, "max", 1, kIterationsMax).value_or(1));
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
  View inner = view;
  inner.in_loop = true;
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
  if (items != nullptr && from != nullptr) {
    reader_.faults().add(settings.place_of("items_from"), "a map has both 'items' and 'items_from'",
                         "remove one of them");
  } else if (items == nullptr && from == nullptr) {
    reader_.faults().add(settings.place(), "a map requires items",
                         "write items: \"${steps.ID.output}\", a list, or items_from: FILE");
  }
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

CircuitBreaker StepsParser::circuit_breaker(const YamlNode& node) const {
  CircuitBreaker breaker;
  const Fields fields(node, language::kCircuitBreaker, "'circuit_breaker'", reader_.faults());
  if (const YamlNode* value = fields.find("failures")) {
    breaker.failures = static_cast<std::uint32_t>(reader_.whole(*value, "failures", 1, kIterationsMax).value_or(1));
  }
  if (const YamlNode* value = fields.find("cool_down")) {
    breaker.cool_down = reader_.duration(*value, "cool_down").value_or(breaker.cool_down);
  }
  if (const YamlNode* value = fields.find("trips")) {
    breaker.trips = static_cast<std::uint32_t>(reader_.whole(*value, "trips", 1, kIterationsMax).value_or(1));
  }
  return breaker;
}

Work StepsParser::map(const YamlNode& node, const Fields& fields, const View& view) {
  Map map;
  const Fields settings(node, language::kMap, "'map'", reader_.faults());
  if (settings.is_map()) map_items(map, settings, view);
  if (const YamlNode* value = settings.find("parallel")) {
    map.parallel = static_cast<std::uint32_t>(reader_.whole(*value, "parallel", 1, kItemsAtOnceMax).value_or(1));
  }
  if (const YamlNode* value = settings.find("on_item_failure")) {
    const auto word = reader_.word(*value, "on_item_failure", {"fail", "dlq"});
    if (word && *word == 1) map.on_item_failure = Map::OnItemFailure::dlq;
  }
  if (const YamlNode* value = settings.find("max_failures")) {
    map.max_failures = reader_.whole(*value, "max_failures", 0, kFailuresMax);
  }
  if (const YamlNode* value = settings.find("circuit_breaker")) map.circuit_breaker = circuit_breaker(*value);
  if (const YamlNode* steps = fields.find("steps")) {
    View inner = view;
    inner.in_map = true;
    map.steps = parse(*steps, "steps", inner).steps;
  } else {
    reader_.faults().add(node.place, "a map requires 'steps'", "add them next to 'map'");
  }
  if (const YamlNode* reduce = fields.find("reduce")) {
    View outside = view;
    outside.in_reduce = true;
    const ParsedSteps parsed = parse({StepEntry{reduce, 0, "reduce", reduce->place}}, {Stage{}}, outside);
    if (parsed.steps != nullptr && !parsed.steps->empty())
      map.reduce = std::make_shared<const Step>(parsed.steps->front());
  }
  return map;
}

}  // namespace pawl
