#include "workflow/steps_parser.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.hpp"
#include "language/text_template.hpp"
#include "text/suggest.hpp"
#include "workflow/result_text.hpp"

namespace pawl {
namespace {

/// Collects the ids inside loops and maps of `step`, each with `around`. The depth is bounded by that of the tree.
void collect_inner(const YamlNode& step, const std::string& around,
                   std::map<std::string, std::string, std::less<>>& inner) {
  const YamlNode* steps = step.find("steps");
  if (steps == nullptr) return;
  for (const YamlPtr& item : steps->items) {
    const YamlNode* id = item->find("id");
    if (id != nullptr && id->is_scalar()) inner.emplace(id->text, around);
    collect_inner(*item, around, inner);
  }
}

/// `run: echo hi` for the command `echo hi`, and for `run echo hi`, which lacks the colon.
std::string as_step(std::string_view text) {
  const std::size_t blank = text.find(' ');
  const bool has_kind =
      blank != std::string_view::npos && std::ranges::find(kind_keys(), text.substr(0, blank)) != kind_keys().end();
  return has_kind ? fmt::format("{}: {}", text.substr(0, blank), text.substr(blank + 1)) : fmt::format("run: {}", text);
}

std::string whereabouts(const std::string& id, const Scope& scope, const View& outer) {
  if (const auto found = scope.inner.find(id); found != scope.inner.end()) {
    return fmt::format("it is inside '{}'; use that step instead", found->second);
  }
  for (const Frame& frame : outer.frames) {
    if (frame.scope->index.contains(id)) return "it is outside this list of steps";
  }
  return {};
}

/// `uses` of other tools.
std::string foreign_action(const YamlNode& uses) {
  if (!uses.is_scalar()) return {};
  if (uses.text.find('#') != std::string::npos) return fmt::format("write use: {}", uses.text.substr(0, 60));
  if (uses.text.find_first_of("/@") == std::string::npos) return {};
  return "actions of GitHub can't be used: write the command with 'run'";
}

}  // namespace

ParsedSteps StepsParser::parse(const YamlNode& node, std::string_view key, const View& outer) {
  if (!node.is_list() || node.items.empty()) {
    reader_.faults().add(
        node.place,
        fmt::format("'{}' must be a list of steps, not {}", key, node.is_list() ? "an empty one" : kind_text(node)),
        node.is_map() && !node.members.empty()
            ? fmt::format("begin each step with '-': - id: {}", node.members.front().key.substr(0, 60))
            : "write '- run: ./script.sh' below it");
    return {};
  }
  return parse(entries_of(node), {Stage{}}, outer);
}

ParsedSteps StepsParser::parse(const std::vector<StepEntry>& entries, const std::vector<Stage>& stages,
                               const View& outer) {
  Outline all;
  outline(all, entries);
  return finish(all, stages, 0, outer);
}

ParsedSteps StepsParser::parse_added(const std::vector<StepEntry>& entries, const Steps& siblings, std::size_t after,
                                     const View& outer) {
  Outline all;
  for (const Step& sibling : siblings) {
    const std::size_t index = all.entries.size();
    all.scope->ids.push_back(sibling.id);
    all.scope->index.emplace(sibling.id, index);
    if (!sibling.capture.alias.empty()) all.scope->aliases.emplace(sibling.capture.alias, index);
    all.entries.push_back({nullptr, 0, sibling.id, sibling.place});
    OrderEntry order;
    order.id = sibling.id;
    order.fixed_after = sibling.after;
    all.order.push_back(std::move(order));
  }
  outline(all, entries);
  if (all.order.size() > siblings.size() && !all.order[siblings.size()].needs) {
    all.order[siblings.size()].fixed_after = std::vector<std::size_t>{after};
  }
  return finish(all, {Stage{}}, siblings.size(), outer);
}

std::vector<StepEntry> StepsParser::entries_of(const YamlNode& node) {
  std::vector<StepEntry> entries;
  for (const YamlPtr& item : node.items) entries.push_back({item, 0, {}, item->place});
  return entries;
}

void StepsParser::outline(Outline& outline, const std::vector<StepEntry>& entries) {
  for (const StepEntry& entry : entries) {
    if (inherited_.steps_left == 0) {
      reader_.faults().add(entry.place, fmt::format("more than {} steps", kStepsMax),
                           "for many items use 'map' with 'items_from'");
      return;
    }
    --inherited_.steps_left;
    outline_step(outline, entry);
  }
}

std::string StepsParser::step_id(const StepEntry& entry, std::size_t position) const {
  std::string derived = entry.given_id.empty() ? fmt::format("step-{}", position + 1) : entry.given_id;
  const YamlNode* const id = entry.node == nullptr ? nullptr : entry.node->find("id");
  if (id == nullptr) return derived;
  if (!id->is_scalar() || !is_step_id(id->text)) {
    reader_.faults().add(
        id->place, fmt::format("invalid step id '{}'", id->is_scalar() ? id->text.substr(0, 100) : kind_text(*id)),
        "use a letter, then letters, digits, '_' or '-'; at most 64 characters");
    return derived;
  }
  if (!entry.given_id.empty() && id->text != entry.given_id) {
    reader_.faults().add(id->place, fmt::format("the id of this step is always '{}'", entry.given_id), "remove the id");
    return derived;
  }
  return id->text;
}

/// Replaces a step that uses a template. Returns false and adds an error if it can't.
bool StepsParser::expand(StepEntry& entry) {
  if (entry.node == nullptr || entry.node->find("use") == nullptr) return true;
  if (inherited_.templates == nullptr) {
    reader_.faults().add(entry.node->find("use")->place, "steps that a step adds can't use templates",
                         "write the keys of the template into the step");
    return false;
  }
  entry.use = inherited_.templates->find(entry.node);
  if (!entry.use) return false;
  entry.node = entry.use->merged;
  return true;
}

void StepsParser::outline_step(Outline& outline, StepEntry entry) {
  Scope& scope = *outline.scope;
  if (entry.node != nullptr && !entry.node->is_map()) {
    reader_.faults().add(entry.place, fmt::format("a step must be a map, not {}", kind_text(*entry.node)),
                         entry.node->is_scalar() ? fmt::format("write '- {}'", as_step(entry.node->text.substr(0, 60)))
                                                 : "write '- run: ./script.sh'");
    return;
  }
  const bool usable = expand(entry);
  const std::size_t index = outline.entries.size();
  OrderEntry order;
  order.id = step_id(entry, index);
  order.place = entry.place;
  order.stage = entry.stage;
  const auto [same, fresh] = scope.index.emplace(order.id, index);
  if (!fresh) {
    const Place first = outline.entries[same->second].place;
    const YamlNode* id = entry.node == nullptr ? nullptr : entry.node->find("id");
    reader_.faults().add(id == nullptr ? entry.place : id->place,
                         fmt::format("duplicate step id '{}'{}", order.id,
                                     first.line > 0 ? fmt::format(", first on line {}", first.line) : ""),
                         "choose another id: ids must be unique within a list of steps");
  }
  scope.ids.push_back(order.id);
  if (entry.node != nullptr) {
    if (const YamlNode* needs = entry.node->find("needs")) {
      if (!entry.given_id.empty()) {
        reader_.faults().add(needs->place, fmt::format("'{}' can't have 'needs'", entry.given_id),
                             "it runs when its map has finished");
      } else {
        order.needs = reader_.texts(*needs, "needs");
      }
    }
    declare_alias(outline, *entry.node, index);
    // A command may report an output itself.
    const YamlNode* const command = entry.node->find("run");
    if (command != nullptr && entry.node->find("capture") == nullptr &&
        command->text.find("PAWL_RESULT") == std::string::npos)
      scope.silent.insert(order.id);
    collect_inner(*entry.node, order.id, scope.inner);
  }
  if (!usable) entry.node = nullptr;  // the error was reported
  outline.entries.push_back(std::move(entry));
  outline.order.push_back(std::move(order));
}

void StepsParser::declare_alias(Outline& outline, const YamlNode& step, std::size_t index) {
  const YamlNode* capture = step.find("capture");
  const YamlNode* alias = capture != nullptr && capture->is_map() ? capture->find("as") : capture;
  if (alias == nullptr || !alias->is_scalar()) return;  // its type is checked when the step is read
  const std::string& name = alias->text;
  // A run that was begun with such a file can still be resumed.
  const bool is_format = alias == capture && (name == "text" || name == "json" || name == "lines");
  if (is_format && inherited_.unhonoured == Unhonoured::refuse) {
    reader_.faults().add(
        alias->place, fmt::format("'capture: {}' names the output '{}'; it does not set its format", name, name),
        fmt::format("write capture: {{ format: {0} }}, or, for the name, capture: {{ as: {0} }}", name));
    return;
  }
  if (!is_identifier(name)) {
    reader_.faults().add(alias->place, fmt::format("invalid name of a captured value: '{}'", name.substr(0, 100)),
                         "use a letter, then letters, digits or '_'");
    return;
  }
  if (reserved_names().contains(name)) {
    reader_.faults().add(alias->place, fmt::format("the name '{}' is reserved", name),
                         fmt::format("choose another name, for example {}_output", name));
    return;
  }
  const auto [same, fresh] = inherited_.aliases.emplace(name, alias->place);
  if (!fresh) {
    reader_.faults().add(alias->place,
                         fmt::format("duplicate captured name '{}'{}", name,
                                     same->second.line > 0 ? fmt::format(", first on line {}", same->second.line) : ""),
                         "choose another name: captured names must be unique in a file");
    return;
  }
  outline.scope->aliases.emplace(name, index);
}

ParsedSteps StepsParser::finish(const Outline& outline, const std::vector<Stage>& stages, std::size_t first,
                                const View& outer) {
  std::vector<Stage::Type> types;
  for (const Stage& stage : stages) types.push_back(stage.type);
  Order order = order_steps(
      outline.order, types, [&](const std::string& id) { return whereabouts(id, *outline.scope, outer); },
      reader_.faults());
  if (order.acyclic) outline.scope->precedence = std::move(order.precedence);
  const View inside = outer.inside({outline.scope, std::nullopt, Frame::Own::hidden});
  Steps steps;
  for (std::size_t i = first; i < outline.entries.size(); ++i) {
    steps.push_back(step(outline.entries[i], outline.order[i].id, inside.at(i)));
    steps.back().after = std::move(order.after[i]);
    steps.back().needed = std::move(order.needed[i]);
    steps.back().layer = order.layer[i];
    steps.back().stage = stages[outline.entries[i].stage].id;
  }
  return {std::make_shared<const Steps>(std::move(steps)), outline.scope};
}

/// Returns the view of a step that uses a template: with the values of the inputs.
View StepsParser::inside_template(const TemplateUse& use, const View& view) const {
  Faults& faults = reader_.faults();
  Inputs values;
  std::vector<std::string> known;
  const YamlNode* with = use.with != nullptr && use.with->is_map() ? use.with : nullptr;
  if (use.with != nullptr && with == nullptr) {
    faults.add(use.with->place, fmt::format("'with' must be a map, not {}", kind_text(*use.with)),
               "write with: { name: value }");
  }
  const auto take = [&](const YamlNode& node, const std::string& name, const View& from) {
    const auto value = reader_.value(node, from);
    auto expression = value ? value->as_expression() : ValueTemplate().as_expression();
    if (!expression) faults.add(node.place, expression.error().message, expression.error().hint);
    values.emplace(name, expression ? *expression : *ValueTemplate().as_expression());
  };
  if (const YamlNode* inputs = use.definition->find("inputs")) {
    for (const YamlMember& input : inputs->members) {
      known.push_back(input.key);
      const YamlNode* given = with == nullptr ? nullptr : with->find(input.key);
      take(given == nullptr ? *input.value : *given, input.key, given == nullptr ? View::of_workflow() : view);
      if (given == nullptr && input.value->is_null()) {
        faults.add(use.place, fmt::format("the template '{}' requires the input '{}'", use.text, input.key),
                   fmt::format("add it: with: {{ {}: ... }}", input.key));
      }
    }
  }
  for (const YamlMember& member : with == nullptr ? std::vector<YamlMember>() : with->members) {
    if (std::ranges::find(known, member.key) != known.end()) continue;
    faults.add(member.key_place,
               fmt::format("the template '{}' has no input '{}'", use.text, member.key.substr(0, 100)),
               did_you_mean(member.key, known,
                            known.empty() ? "remove 'with': it has no inputs" : "its inputs: " + one_of(known)));
  }
  return view.in_template(std::move(values), canonical_text(*use.step));
}

Step StepsParser::step(const StepEntry& entry, const std::string& id, const View& outside) {
  const View view = entry.use ? inside_template(*entry.use, outside) : outside;
  Step step;
  step.id = id;
  step.place = entry.place;
  step.retry = inherited_.retry;
  if (entry.node == nullptr) {
    step.definition_hash = to_hex(sha256("barrier ", id));
    step.result_hash = step.definition_hash;
    return step;
  }
  if (entry.use) {
    const std::string text = canonical_text(*entry.use->step);
    const std::string definition = canonical_text(*entry.use->definition);
    step.definition_hash = to_hex(sha256("template ", text, definition));
    step.result_hash = to_hex(sha256("result of template ", text_for_result(*entry.use->step, text), definition));
  } else {
    const std::string text = canonical_text(*entry.node);
    step.definition_hash = to_hex(sha256(text, view.inputs_text));
    step.result_hash = to_hex(sha256("result ", text_for_result(*entry.node, text), view.inputs_text));
  }
  const Fields fields(*entry.node, language::kStep, fmt::format("step '{}'", id), reader_.faults());
  const auto kind_key = kind(fields);
  if (kind_key) {
    check_honoured(fields, *kind_key, view, inherited_.unhonoured, reader_.faults());
    const std::vector<ComputedSetting> around = std::exchange(computed_, {});
    step.work = work(*kind_key, fields, view);
    step.computed = std::exchange(computed_, around);
  }
  step.capture = capture(fields, step.work);
  settings(step, fields, view);
  consequences(step, fields, view);
  return step;
}

std::optional<std::string_view> StepsParser::kind(const Fields& fields) const {
  std::optional<std::string_view> found;
  for (const std::string_view key : kind_keys()) {
    if (fields.find(key) == nullptr) continue;
    if (found) {
      reader_.faults().add(
          fields.place_of(key), fmt::format("a step can't have both '{}' and '{}'", *found, key),
          key == "map" || key == "loop"
              ? fmt::format("put '{0}' under 'steps:' of the {1}: steps: [{{ {0}: ... }}]", *found, key)
              : "split it into two steps");
      return {};
    }
    found = key;
  }
  if (!found) {
    const std::vector<std::string> keys(kind_keys().begin(), kind_keys().end());
    // The error about the key that was intended as the action is more helpful.
    if (std::ranges::any_of(keys, [&](const std::string& key) { return fields.meant(key); })) return {};
    if (const YamlNode* uses = fields.find("uses"); uses != nullptr && !foreign_action(*uses).empty()) {
      reader_.faults().add(uses->place, fmt::format("'{}' is not the name of a limit", uses->text.substr(0, 60)),
                           foreign_action(*uses));
      return {};
    }
    reader_.faults().add(fields.place(), "the step has no action", "add one of " + one_of(keys));
    return {};
  }
  return found;
}

std::vector<std::string> StepsParser::uses(const YamlNode* node, const View& view) const {
  std::vector<std::string> all = view.uses;
  if (node == nullptr) return all;
  std::vector<std::string> known;
  for (const Limit& limit : inherited_.limits) known.push_back(limit.name);
  for (const auto& [name, place] : reader_.texts(*node, "uses")) {
    if (std::ranges::find(known, name) == known.end()) {
      const std::string foreign = foreign_action(*node);
      reader_.faults().add(place, fmt::format("unknown limit '{}'", name.substr(0, 100)),
                           !foreign.empty()
                               ? foreign
                               : did_you_mean(name, known,
                                              known.empty() ? fmt::format("declare it at the top level: "
                                                                          "limits: {{ {}: {{ parallel: 8 }} }}",
                                                                          name.substr(0, 60))
                                                            : "limits: " + one_of(known)));
    } else if (std::ranges::find(all, name) == all.end()) {
      all.push_back(name);
    }
  }
  return all;
}

Capture StepsParser::capture(const Fields& fields, const Work& work) const {
  Capture capture;
  const YamlNode* node = fields.find("capture");
  if (node == nullptr) return capture;
  capture.format = CaptureFormat::text;
  if (node->is_scalar()) {
    capture.alias = node->text;
    return capture;
  }
  const Fields settings(*node, language::kCapture, "'capture'", reader_.faults());
  if (const YamlNode* alias = settings.find("as")) capture.alias = reader_.text(*alias, "as").value_or("");
  if (const YamlNode* format = settings.find("format")) {
    if (!std::holds_alternative<RunCommand>(work) && !std::holds_alternative<Nothing>(work)) {
      reader_.faults().add(settings.place_of("format"), "'format' applies only to the output of a command",
                           "remove 'format'");
    }
    static constexpr std::array kFormats = {CaptureFormat::text, CaptureFormat::json, CaptureFormat::lines};
    if (const auto word = reader_.word(*format, "format", {"text", "json", "lines"})) capture.format = kFormats[*word];
  }
  return capture;
}

}  // namespace pawl
