#include "workflow/parse_workflow.hpp"

#include <algorithm>
#include <exception>
#include <optional>

#include "base/hash.hpp"
#include "workflow/steps_parser.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kStepsAtOnceMax = 10'000;
constexpr std::uint64_t kKeepMax = 1'000'000;
constexpr double kUsdMax = 1e12;
constexpr std::uint64_t kPerMinuteMax = 1'000'000;
constexpr std::size_t kLimitsMax = 100;
constexpr std::uint64_t kTokensMax = std::uint64_t{1} << 53U;

std::string stem(const std::string& file) {
  std::string name = file.substr(file.find_last_of('/') + 1);
  const std::size_t dot = name.find_last_of('.');
  if (dot != std::string::npos && dot > 0) name.resize(dot);
  return name.empty() ? "workflow" : name;
}

std::vector<Variable> read_vars(const Fields& fields, Faults& faults) {
  std::vector<Variable> vars;
  const YamlNode* node = fields.find("vars");
  if (node == nullptr || node->is_null()) return vars;
  if (!node->is_map()) {
    faults.add(node->place, fmt::format("'vars' must be a map, not {}", kind_text(*node)),
               "write vars: { name: default }");
    return vars;
  }
  for (const YamlMember& member : node->members) {
    if (!is_step_id(member.key)) {
      faults.add(member.key_place, fmt::format("invalid variable name '{}'", member.key.substr(0, 100)),
                 "use a letter, then letters, digits, '_' or '-'; at most 64 characters");
      continue;
    }
    Json value = to_json(*member.value, faults);
    const bool required = value.is_null();
    vars.push_back({member.key, std::move(value), required});
  }
  return vars;
}

class WorkflowParser {
 public:
  WorkflowParser(const WorkflowSource& source, const YamlNode& root, Faults& faults)
      : source_(source),
        fields_(root, language::kWorkflow, "the workflow", faults),
        lines_(source.text),
        templates_(source, lines_, faults),
        vars_(read_vars(fields_, faults)),
        reader_(faults, lines_, names_of(vars_)),
        faults_(faults) {
    workflow_.file = source.file;
    workflow_.text = source.text;
    workflow_.hash = "sha256:" + to_hex(sha256(source.text));
    workflow_.name = stem(source.file);
  }

  Workflow run() && {
    if (!fields_.is_map()) return {};
    workflow_.vars = std::move(vars_);
    labels();
    environment();
    limits();
    budget();
    checkpoint();
    shared_limits();
    StepsParser::Inherited inherited;
    if (const YamlNode* node = fields_.find("retry"))
      workflow_.retry = StepsParser(reader_, {}).retry(*node, View::of_workflow());
    if (const YamlNode* node = fields_.find("shell")) {
      const auto word = reader_.word(*node, "shell", {"sh", "bash"});
      if (word && *word == 1) workflow_.shell = Shell::bash;
    }
    inherited.retry = workflow_.retry;
    inherited.shell = workflow_.shell;
    inherited.limits = workflow_.limits;
    inherited.templates = &templates_;
    inherited.unhonoured = source_.begun ? Unhonoured::remark : Unhonoured::refuse;
    StepsParser parser(reader_, std::move(inherited));
    view_.uses = workflow_.uses = parser.uses(fields_.find("uses"), view_);
    const ParsedSteps parsed = steps(parser);
    if (parsed.steps != nullptr) behind(parser, parsed);
    if (const YamlNode* node = fields_.find("notify"))
      workflow_.notify = reader_.command(*node, "notify", workflow_.shell, View::of_workflow());
    if (const std::string comments = templates_.comments(); !comments.empty()) {
      workflow_.text += comments;
      workflow_.hash = "sha256:" + to_hex(sha256(workflow_.text));
    }
    return std::move(workflow_);
  }

 private:
  static std::vector<std::string> names_of(const std::vector<Variable>& vars) {
    std::vector<std::string> names;
    for (const Variable& variable : vars) names.push_back(variable.name);
    return names;
  }

  void labels() {
    if (const YamlNode* node = fields_.find("name")) workflow_.name = reader_.text(*node, "name").value_or("");
    if (const YamlNode* node = fields_.find("description")) {
      workflow_.description = reader_.text(*node, "description").value_or("");
    }
  }

  void environment() {
    const View view = View::of_workflow();
    if (const YamlNode* node = fields_.find("env")) workflow_.env = reader_.env(*node, view);
    if (const YamlNode* node = fields_.find("env_file")) {
      for (auto& [file, place] : reader_.texts(*node, "env_file")) workflow_.env_files.push_back(std::move(file));
    }
    if (const YamlNode* node = fields_.find("secrets")) {
      for (auto& [name, place] : reader_.texts(*node, "secrets")) {
        if (!is_identifier(name)) {
          faults_.add(place, fmt::format("invalid name of an environment variable: '{}'", name.substr(0, 100)),
                      "list names such as API_KEY, not the secrets themselves");
        }
        workflow_.secrets.push_back(std::move(name));
      }
    }
    if (const YamlNode* node = fields_.find("working_dir")) {
      workflow_.working_dir = reader_.text_template(*node, "working_dir", view, TextTemplate::Unknown::refuse);
    }
  }

  void limits() {
    if (const YamlNode* node = fields_.find("fail_fast"))
      workflow_.fail_fast = reader_.boolean(*node, "fail_fast").value_or(false);
    if (const YamlNode* node = fields_.find("parallel")) {
      workflow_.parallel = static_cast<std::uint32_t>(reader_.whole(*node, "parallel", 1, kStepsAtOnceMax).value_or(1));
    }
    if (const YamlNode* node = fields_.find("grace"))
      workflow_.grace = reader_.duration(*node, "grace").value_or(workflow_.grace);
    if (const YamlNode* node = fields_.find("timeout")) workflow_.timeout = reader_.duration(*node, "timeout");
  }

  void shared_limits() {
    const YamlNode* node = fields_.find("limits");
    if (node == nullptr) return;
    if (!node->is_map() || node->members.empty() || node->members.size() > kLimitsMax) {
      const bool many = node->is_map() && !node->members.empty();
      faults_.add(node->place,
                  many ? fmt::format("more than {} limits", kLimitsMax)
                       : fmt::format("'limits' must be a map of limits, not {}",
                                     node->is_map() ? "an empty one" : kind_text(*node)),
                  "write limits: { openai: { per_minute: 60, parallel: 8 } }");
      return;
    }
    for (const YamlMember& member : node->members) limit(member);
  }

  void limit(const YamlMember& member) {
    const std::string& name = member.key;
    if (!is_step_id(name)) {
      faults_.add(member.key_place, fmt::format("invalid name of a limit: '{}'", name.substr(0, 100)),
                  "use a letter, then letters, digits, '_' or '-'; at most 64 characters");
      return;
    }
    Limit limit{.name = name};
    const YamlNode& node = *member.value;
    if (node.is_scalar()) {
      const std::string number = node.text.substr(0, node.text.find_first_not_of("0123456789"));
      const std::string rate = fmt::format("{}: {{ per_minute: {} }}", name, number.empty() ? "60" : number);
      const std::string width = fmt::format("{}: {{ parallel: {} }}", name, number.empty() ? "8" : number);
      const bool is_rate = node.text.find('/') != std::string::npos;
      faults_.add(node.place, fmt::format("the limit '{}' must be a map, not '{}'", name, node.text.substr(0, 60)),
                  is_rate ? "write " + rate : fmt::format("write {} or {}", rate, width));
    } else {
      const Fields fields(node, language::kLimit, fmt::format("the limit '{}'", name), faults_);
      if (const YamlNode* value = fields.find("per_minute")) {
        limit.per_minute =
            static_cast<std::uint32_t>(reader_.whole(*value, "per_minute", 1, kPerMinuteMax).value_or(1));
      }
      if (const YamlNode* value = fields.find("parallel")) {
        limit.parallel = static_cast<std::uint32_t>(reader_.whole(*value, "parallel", 1, kStepsAtOnceMax).value_or(1));
      }
      const bool meant = fields.meant("per_minute") || fields.meant("parallel");
      if (fields.is_map() && !limit.per_minute && !limit.parallel && !meant)
        faults_.add(member.key_place, fmt::format("the limit '{}' has neither 'per_minute' nor 'parallel'", name),
                    "write for example { per_minute: 60, parallel: 8 }");
    }
    workflow_.limits.push_back(std::move(limit));
  }

  void budget() {
    const YamlNode* node = fields_.find("budget");
    if (node == nullptr) return;
    const Fields fields(*node, language::kBudget, "'budget'", faults_);
    if (const YamlNode* value = fields.find("usd")) workflow_.budget.usd = reader_.number(*value, "usd", 0, kUsdMax);
    if (const YamlNode* value = fields.find("tokens"))
      workflow_.budget.tokens = reader_.whole(*value, "tokens", 0, kTokensMax);
  }

  void checkpoint() {
    const YamlNode* node = fields_.find("checkpoint");
    if (node == nullptr) return;
    CheckpointTriggers& settings = workflow_.checkpoint;
    const Fields fields(*node, language::kCheckpoint, "'checkpoint'", faults_);
    if (const YamlNode* value = fields.find("interval")) settings.interval = reader_.duration(*value, "interval");
    if (const YamlNode* value = fields.find("keep")) {
      if (const auto keep = reader_.whole(*value, "keep", 1, kKeepMax))
        settings.keep = static_cast<std::uint32_t>(*keep);
    }
    if (const YamlNode* value = fields.find("on_storage_failure")) {
      const auto word = reader_.word(*value, "on_storage_failure", {"pause", "continue"});
      if (word && *word == 1) settings.on_storage_failure = OnStorageFailure::go_on;
    }
    if (const YamlNode* value = fields.find("memory_limit")) {
      settings.memory_limit_bytes = reader_.size_bytes(*value, "memory_limit");
    }
    if (const YamlNode* value = fields.find("folder")) {
      const auto word = reader_.word(*value, "folder", {"report", "refuse"});
      if (word && *word == 1) settings.folder = FolderCheck::refuse;
    }
  }

  ParsedSteps steps(StepsParser& parser) {
    const YamlNode* plain = fields_.find("steps");
    const YamlNode* staged = fields_.find("stages");
    if (plain != nullptr && staged != nullptr) {
      faults_.add(fields_.place_of("stages"), "a workflow has both 'steps' and 'stages'",
                  "move the steps into a stage, or remove one of the two");
      return {};
    }
    ParsedSteps parsed;
    if (plain != nullptr) {
      parsed = parser.parse(*plain, "steps", view_);
    } else if (staged != nullptr) {
      const std::vector<StepEntry> entries = stages(*staged);
      if (entries.empty()) return {};
      parsed = parser.parse(entries, workflow_.stages, view_);
    } else if (!fields_.meant("steps") && !fields_.meant("stages")) {
      faults_.add(fields_.place(), "a workflow requires 'steps'", "add them: steps: [{ run: ./script.sh }]");
    }
    if (parsed.steps == nullptr) return parsed;
    workflow_.steps = *parsed.steps;
    return parsed;
  }

  std::vector<StepEntry> stages(const YamlNode& list) {
    std::vector<StepEntry> entries;
    if (!list.is_list() || list.items.empty()) {
      faults_.add(
          list.place,
          fmt::format("'stages' must be a list of stages, not {}", list.is_list() ? "an empty one" : kind_text(list)),
          "write stages: [{ id: build, steps: [...] }]");
      return entries;
    }
    for (const YamlPtr& item : list.items) stage(*item, entries);
    return entries;
  }

  void stage(const YamlNode& node, std::vector<StepEntry>& entries) {
    const Fields fields(node, language::kStage, "a stage", faults_);
    if (!fields.is_map()) return;
    Stage stage;
    const YamlNode* label = fields.find("id") != nullptr ? fields.find("id") : fields.find("name");
    if (label == nullptr) {
      faults_.add(node.place, "a stage requires an id", "add one: id: build");
    } else {
      stage.id = reader_.text(*label, fields.find("id") != nullptr ? "id" : "name").value_or("");
      if (fields.find("id") != nullptr && !stage.id.empty() && !is_step_id(stage.id)) {
        faults_.add(label->place, fmt::format("invalid stage id '{}'", stage.id.substr(0, 100)),
                    "use a letter, then letters, digits, '_' or '-'; at most 64 characters");
      }
      if (fields.find("id") != nullptr && fields.find("name") != nullptr) {
        static_cast<void>(reader_.text(*fields.find("name"), "name"));
      }
      const bool taken = std::any_of(workflow_.stages.begin(), workflow_.stages.end(),
                                     [&](const Stage& other) { return other.id == stage.id && !stage.id.empty(); });
      if (taken) faults_.add(label->place, fmt::format("duplicate stage id '{}'", stage.id), "choose another id");
    }
    if (const YamlNode* type = fields.find("type")) {
      const auto word = reader_.word(*type, "type", {"sequential", "parallel", "barrier"});
      if (word) stage.type = static_cast<Stage::Type>(*word);
    }
    stage_steps(node, fields, stage, entries);
    workflow_.stages.push_back(std::move(stage));
  }

  void stage_steps(const YamlNode& node, const Fields& fields, const Stage& stage, std::vector<StepEntry>& entries) {
    const std::size_t number = workflow_.stages.size();
    const YamlNode* steps = fields.find("steps");
    const bool none = steps == nullptr || steps->is_null() || (steps->is_list() && steps->items.empty());
    if (none && stage.type == Stage::Type::barrier) {
      if (!is_step_id(stage.id)) faults_.add(node.place, "an empty barrier requires an id", "add one: id: meet");
      entries.push_back({nullptr, number, stage.id, node.place});
    } else if (none) {
      faults_.add(node.place, fmt::format("the stage '{}' has no steps", stage.id), "add steps, or set type: barrier");
    } else if (!steps->is_list()) {
      faults_.add(steps->place, fmt::format("'steps' must be a list of steps, not {}", kind_text(*steps)),
                  "write '- run: ./script.sh' below it");
    } else {
      for (const YamlPtr& item : steps->items) entries.push_back({item, number, {}, item->place});
    }
  }

  /// Parses the parts that can refer to all steps.
  void behind(StepsParser& parser, const ParsedSteps& parsed) {
    const View view = view_.inside({parsed.scope, std::nullopt, Frame::Own::hidden});
    if (const YamlNode* node = fields_.find("on_failure"))
      workflow_.on_failure = parser.parse(*node, "on_failure", view).steps;
    if (const YamlNode* node = fields_.find("finally")) {
      workflow_.finally = parser.parse(*node, "finally", view).steps;
      const auto taken = std::ranges::find(workflow_.steps, std::string_view("finally"), &Step::id);
      if (taken != workflow_.steps.end())
        faults_.add(taken->place, "a step of a workflow with 'finally' can't have the id 'finally'",
                    "choose another id");
    }
    const YamlNode* outputs = fields_.find("outputs");
    if (outputs == nullptr) return;
    if (!outputs->is_map()) {
      faults_.add(outputs->place, fmt::format("'outputs' must be a map, not {}", kind_text(*outputs)),
                  "write outputs: { name: \"${steps.ID.output}\" }");
      return;
    }
    for (const YamlMember& member : outputs->members) {
      if (auto value = reader_.value(*member.value, view))
        workflow_.outputs.emplace_back(member.key, std::move(*value));
    }
  }

  const WorkflowSource& source_;
  Fields fields_;
  SourceLines lines_;
  StepTemplates templates_;
  View view_ = View::of_workflow();
  std::vector<Variable> vars_;
  Reader reader_;
  Faults& faults_;
  Workflow workflow_;
};

std::expected<Workflow, std::vector<WorkflowFault>> parse(const WorkflowSource& source) {
  Faults faults(source.file);
  const YamlPtr root = read_yaml(source.text, faults);
  if (root == nullptr) return std::unexpected(faults.take());
  Workflow workflow = WorkflowParser(source, *root, faults).run();
  if (!faults.empty()) return std::unexpected(faults.take());
  workflow.remarks = faults.take_remarks();
  return workflow;
}

}  // namespace

std::expected<Workflow, std::vector<WorkflowFault>> parse_workflow(const WorkflowSource& source) {
  try {
    return parse(source);
  } catch (const std::exception& exception) {  // of the libraries below: out of memory
    Faults faults(source.file);
    faults.add({}, fmt::format("the file can't be read: {}", exception.what()));
    return std::unexpected(faults.take());
  }
}

Result<Workflow> parse_or_fail(const WorkflowSource& source) {
  std::expected<Workflow, std::vector<WorkflowFault>> parsed = parse_workflow(source);
  if (parsed) return std::move(*parsed);
  const std::vector<WorkflowFault>& faults = parsed.error();
  Error error = faults.front().error;
  for (std::size_t i = 1; i < faults.size(); ++i) {
    const Error& next = faults[i].error;
    error.message += fmt::format("\n  {}: {}{}", next.where, next.message, next.hint.empty() ? "" : "; " + next.hint);
  }
  return fail(error);
}

}  // namespace pawl
