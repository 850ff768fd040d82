#include "engine/workflow_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <tuple>

#include "engine/shell_names.hpp"

namespace pawl {
namespace {

using Visit = std::function<void(const Step& step, const std::string& path)>;

void visit_steps(const Steps& steps, const std::string& prefix, const Visit& visit);

void visit_step(const Step& step, const std::string& path, const Visit& visit) {
  visit(step, path);
  if (const auto* loop = std::get_if<Loop>(&step.work); loop != nullptr && loop->steps)
    visit_steps(*loop->steps, path + ".", visit);
  if (const auto* map = std::get_if<Map>(&step.work)) {
    if (map->steps) visit_steps(*map->steps, path + ".", visit);
    if (map->reduce) visit_step(*map->reduce, path + ".reduce", visit);
  }
  if (step.confidence && step.confidence->then) visit_steps(*step.confidence->then, path + ".then.", visit);
  if (step.on_failure) visit_steps(*step.on_failure, path + ".on_failure.", visit);
}

void visit_steps(const Steps& steps, const std::string& prefix, const Visit& visit) {
  for (const Step& step : steps) visit_step(step, prefix + step.id, visit);
}

void visit_all(const Workflow& workflow, const Visit& visit) {
  visit_steps(workflow.steps, "", visit);
  if (workflow.on_failure) visit_steps(*workflow.on_failure, "on_failure.", visit);
  if (workflow.finally) visit_steps(*workflow.finally, "finally.", visit);
}

bool is_fixed(const TextTemplate& text) {
  return std::ranges::none_of(text.parts(), [](const TextTemplate::Part& part) { return part.expression.has_value(); });
}

/// Returns whether the shell takes the word literally.
bool is_plain(std::string_view word) { return word.find_first_of("$`\"'\\*?[]{}()<>|;&~#!") == std::string_view::npos; }

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  return std::ranges::all_of(word.substr(0, equals), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

/// Returns the size of the first word, with its quotes.
std::size_t word_size(std::string_view text) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (c == '\\' && quote != '\'') {
      ++i;
    } else if (quote == 0 && std::string_view(" \t\n;|&<>()").find(c) != std::string_view::npos) {
      return i;
    }
  }
  return text.size();
}

/// Returns the option of the interpreter that is followed by a program; empty if it is none.
std::string_view option_for_program(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  if (name == "python" || name == "python3") return "-c";
  if (name == "perl" || name == "ruby" || name == "node") return "-e";
  return name == "php" ? "-r" : "";
}

class Collector {
 public:
  Collector(const Workflow& workflow, LocalFiles& files, const HandlerRegistry& handlers)
      : workflow_(workflow), files_(files), handlers_(handlers) {
    const std::string beside = workflow.file.empty() ? files.absolute(".", "") : files.absolute("..", workflow.file);
    beside_ = beside;
    folder_ = beside;
    visit_all(workflow, [this](const Step& step, const std::string&) { steps_.insert(step.id); });
    if (!workflow.working_dir) return;
    known_folder_ = is_fixed(*workflow.working_dir);
    if (known_folder_) folder_ = files.absolute(workflow.working_dir->source(), beside);
  }

  void look_at(const Step& step, const std::string& path) {
    if (const auto* command = std::get_if<RunCommand>(&step.work)) {
      look_at_command(step, path, command->command.script);
      look_for_shell_names(step, path, command->command.script);
      if (const std::string interpreter = interpreter_of_value(command->command.script); !interpreter.empty())
        add(step.place, path,
            fmt::format("'{}' executes the value as a part of its program; pass it as an argument or in 'env'",
                        interpreter));
    }
    if (const auto* call = std::get_if<CallHandler>(&step.work); call != nullptr && !handlers_.has(call->name))
      add(step.place, path, fmt::format("handler '{}' is not registered in this program", call->name));
    if (const auto* map = std::get_if<Map>(&step.work); map != nullptr && map->items_from && is_fixed(*map->items_from))
      want_file(step.place, path, map->items_from->source(), "items_from");
    if (const auto* call = std::get_if<CallWorkflow>(&step.work);
        call != nullptr && !files_.exists(files_.absolute(call->file, beside_)))
      add(step.place, path, fmt::format("workflow '{}' does not exist", call->file));
    for (const std::string& file : step.env_files) want_file(step.place, path, file, "env_file");
  }

  void want_file(Place place, const std::string& path, const std::string& file, std::string_view what) {
    if (known_folder_ && !files_.exists(files_.absolute(file, folder_)))
      add(place, path, fmt::format("{} '{}' does not exist", what, file));
  }

  void add(Place place, const std::string& path, std::string message) {
    warnings_.push_back({place, path, std::move(message)});
  }

  [[nodiscard]] std::vector<WorkflowWarning> take() { return std::move(warnings_); }

 private:
  void look_at_command(const Step& step, const std::string& path, const std::string& script) {
    const std::string program = first_program(script);
    if (program.empty() || !known_folder_ || (step.working_dir && !is_fixed(*step.working_dir))) return;
    const std::string folder = step.working_dir ? files_.absolute(step.working_dir->source(), folder_) : folder_;
    const std::string file = files_.absolute(program, folder);
    if (!files_.exists(file)) return add(step.place, path, fmt::format("'{}' does not exist", program));
    if (!files_.is_executable(file)) add(step.place, path, fmt::format("'{}' is not executable", program));
  }

  /// The shell does not know the variables and steps of the workflow.
  void look_for_shell_names(const Step& step, const std::string& path, const std::string& script) {
    const auto has_name = [](const EnvTemplates& env, std::string_view name) {
      return std::ranges::any_of(env, [&](const auto& entry) { return entry.first == name; });
    };
    const bool unknown_env = !step.env_files.empty() || !workflow_.env_files.empty();
    const auto is_variable = [this](std::string_view name) {
      return std::ranges::any_of(workflow_.vars, [&](const Variable& one) { return one.name == name; });
    };
    const auto is_step = [this](std::string_view id) { return steps_.contains(id); };
    for (const MistakenName& name : mistaken_names(script, is_variable, is_step)) {
      const bool is_set =
          !name.variable.empty() && (unknown_env || has_name(step.env, name.variable) ||
                                     has_name(workflow_.env, name.variable) || may_set(script, name.variable));
      if (!is_set)
        add(step.place, path,
            fmt::format("{}; write ${{{}}}",
                        name.variable.empty() ? fmt::format("'{}' is not replaced by a value", name.written)
                                              : fmt::format("'{}' is a variable of the shell", name.written),
                        name.meant));
    }
  }

  const Workflow& workflow_;
  LocalFiles& files_;
  const HandlerRegistry& handlers_;
  std::string beside_;  // the folder of the workflow's file
  std::string folder_;  // where its steps run
  bool known_folder_ = true;
  std::set<std::string, std::less<>> steps_;  // ids
  std::vector<WorkflowWarning> warnings_;
};

}  // namespace

std::string first_program(const std::string& script) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::size_t begin = script.find_first_not_of(kSpace);
  while (begin != std::string::npos) {
    const std::size_t end = script.find_first_of(kSpace, begin);
    std::string word = script.substr(begin, end == std::string::npos ? end : end - begin);
    if (word.ends_with(';')) word.pop_back();
    if (!is_assignment(word)) return word.find('/') != std::string::npos && is_plain(word) ? word : "";
    if (!is_plain(word)) return "";  // its value may continue after the space
    begin = script.find_first_not_of(kSpace, end);
  }
  return "";
}

std::string interpreter_of_value(std::string_view script) {
  std::string_view interpreter;
  std::string_view option;
  bool is_program = false;  // the next word
  while (!script.empty()) {
    const std::size_t size = word_size(script);
    if (size == 0) {
      if (script.front() != ' ' && script.front() != '\t') option = {};  // the end of the command
      is_program = is_program && !option.empty();
      script.remove_prefix(1);
      continue;
    }
    const std::string_view word = script.substr(0, size);
    script.remove_prefix(size);
    if (is_program && word.find("PAWL_ARG_") != std::string_view::npos)
      return fmt::format("{} {}", interpreter, option);
    is_program = !option.empty() && word == option;
    if (!word.starts_with('-')) option = {};  // a file: options after it are its own
    if (const std::string_view starts = option_for_program(word); !starts.empty()) {
      interpreter = word;
      option = starts;
    }
  }
  return "";
}

std::vector<WorkflowWarning> workflow_warnings(const Workflow& workflow, LocalFiles& files,
                                               const HandlerRegistry& handlers) {
  Collector collector(workflow, files, handlers);
  for (const std::string& file : workflow.env_files) collector.want_file({}, "", file, "env_file");
  visit_all(workflow, [&](const Step& step, const std::string& path) { collector.look_at(step, path); });
  for (const Remark& remark : workflow.remarks) collector.add(remark.place, "", remark.message);
  std::vector<WorkflowWarning> warnings = collector.take();
  std::ranges::sort(warnings, {},
                    [](const WorkflowWarning& one) { return std::tie(one.place.line, one.place.column, one.message); });
  return warnings;
}

std::size_t step_count(const Workflow& workflow) {
  std::size_t count = 0;
  visit_all(workflow, [&](const Step&, const std::string&) { ++count; });
  return count;
}

}  // namespace pawl
