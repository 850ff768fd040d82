#include "cli/command.hpp"
#include "cli/hints.hpp"
#include "cli/workflow_session.hpp"
#include "engine/workflow_warnings.hpp"
#include "workflow/parse_workflow.hpp"

namespace pawl::cli {
namespace {

struct CheckArguments {
  std::string file = "workflow.yaml";
};

/// The name of a file of templates is relative to the folder of the workflow.
std::string file_of(const WorkflowFault& fault, const std::string& file) {
  if (fault.file.empty()) return file;
  return fault.file.starts_with('/') ? fault.file : file.substr(0, file.find_last_of('/') + 1) + fault.file;
}

Json fault_json(const WorkflowFault& fault, const std::string& file) {
  return {{"file", file_of(fault, file)},        {"line", fault.place.line},       {"column", fault.place.column},
          {"code", code_text(fault.error.code)}, {"message", fault.error.message}, {"hint", fault.error.hint}};
}

Json warning_json(const WorkflowWarning& warning) {
  return {{"line", warning.place.line},
          {"column", warning.place.column},
          {"step", warning.step},
          {"message", warning.message}};
}

Error faulty(const std::string& file, const std::vector<WorkflowFault>& faults) {
  return Error{faults.front().error.code,
               fmt::format("{}: {} error{}", file, faults.size(), faults.size() == 1 ? "" : "s"),
               {},
               fmt::format("fix {}, then run: pawl check {}", faults.size() == 1 ? "it" : "them", shell_word(file)),
               0};
}

Result<void> show_faults(const Invocation& invocation, const std::string& file,
                         const std::vector<WorkflowFault>& faults) {
  if (invocation.json()) {
    Json document = {
        {"file", file}, {"ok", false}, {"faults", Json::array()}, {"warnings", Json::array()}, {"steps", 0}};
    for (const WorkflowFault& fault : faults) document["faults"].push_back(fault_json(fault, file));
    invocation.print(compact(document) + "\n");
    return fail(faulty(file, faults));
  }
  for (const WorkflowFault& fault : faults) {
    std::string line = fmt::format("{}: {}", place_text(file_of(fault, file), fault.place), fault.error.message);
    if (!fault.error.hint.empty()) line += fmt::format(" ({})", fault.error.hint);
    invocation.print(printable(line) + "\n");
  }
  return fail(faulty(file, faults));
}

void show_workflow(const Invocation& invocation, const std::string& file, const Workflow& workflow) {
  const WorkflowWorld& world = *invocation.context().workflows;
  const std::size_t steps = step_count(workflow);
  if (invocation.json()) {
    Json document = {
        {"file", file}, {"ok", true}, {"faults", Json::array()}, {"warnings", Json::array()}, {"steps", steps}};
    for (const WorkflowWarning& warning : workflow_warnings(workflow, world.files, world.handlers))
      document["warnings"].push_back(warning_json(warning));
    return invocation.print(compact(document) + "\n");
  }
  invocation.print(draw_workflow(workflow, world.columns ? world.columns() : kColumnsDefault));
  for (const std::string& warning : warnings_of(invocation.context(), workflow, file)) invocation.print(warning + "\n");
  invocation.print(fmt::format("{}: ok, {} step{}\n", printable(file), steps, steps == 1 ? "" : "s"));
}

Result<void> check(const Invocation& invocation, const CheckArguments& arguments) {
  CliContext& context = invocation.context();
  const std::string path = absolute_path(context, arguments.file);
  Result<std::string> read = context.read_file(path, kWorkflowFileBytesMax);
  if (!read) return fail(missing_workflow(std::move(read).error(), arguments.file));
  std::string& text = *read;
  const auto read_template = [&](const std::string& file) { return context.read_file(file, kWorkflowFileBytesMax); };
  const std::expected<Workflow, std::vector<WorkflowFault>> parsed =
      parse_workflow({std::move(text), path, read_template});
  if (!parsed) return show_faults(invocation, arguments.file, parsed.error());
  show_workflow(invocation, arguments.file, *parsed);
  return {};
}

}  // namespace

Command add_check(Options& root) {
  const auto arguments = std::make_shared<CheckArguments>();
  Options& app = root.command("check", "Check a workflow file and draw its steps without running them");
  app.group(kWorkflowGroup);
  app.text("FILE", arguments->file, "Workflow file (default: workflow.yaml)");
  app.footer(
      "Examples:\n"
      "  pawl check\n"
      "  pawl check notes.yaml --json\n"
      "\n"
      "Lists every error as FILE:LINE:COLUMN. Missing files and handlers are warnings,\n"
      "because they may exist by the time the step runs.\n"
      "Exit status: 0 no errors; 2 errors.");
  return {&app, [arguments](const Invocation& invocation) { return check(invocation, *arguments); }};
}

}  // namespace pawl::cli
