#include <algorithm>

#include "cli/command.hpp"
#include "cli/output_schemas.hpp"
#include "workflow/parse_workflow.hpp"

namespace pawl::cli {
namespace {

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const OutputSchema& schema : kOutputSchemas) names.emplace_back(schema.command);
  return names;
}

/// The words of a command may be joined by a space or by a dash.
std::string schema_name(std::string name) {
  std::ranges::replace(name, '-', ' ');
  return name;
}

Result<void> print_schema(const Invocation& invocation, const std::optional<std::string>& command) {
  std::string text;
  if (command) {
    text = std::ranges::find(kOutputSchemas, schema_name(*command), &OutputSchema::command)->text;
  } else {
    text = workflow_schema();
  }
  if (!text.ends_with('\n')) text += '\n';
  invocation.print(text);
  return {};
}

}  // namespace

Command add_schema(Options& root) {
  const auto command = std::make_shared<std::optional<std::string>>();
  Options& app = root.command("schema", "Print the JSON Schema of workflow files, or of a command's output");
  app.group(kCareGroup);
  app.parsed("--of", "Print the schema of what COMMAND prints with --json (default: of workflow files)",
             [command](const std::string& name) {
               const std::vector<std::string> names = schema_names();
               if (std::ranges::find(names, schema_name(name)) == names.end()) return unknown_word(name, names);
               *command = name;
               return std::string();
             })
      .value("COMMAND")
      .suggests(schema_names());
  app.footer(
      "Examples:\n"
      "  pawl schema > workflow.schema.json\n"
      "  pawl schema --of list\n"
      "  pawl schema --of 'audit list'\n"
      "  pawl schema --of error       of the last line of standard error\n"
      "\n"
      "For editors, put this on the first line of a workflow:\n"
      "  # yaml-language-server: $schema=./workflow.schema.json");
  return {&app, [command](const Invocation& invocation) { return print_schema(invocation, *command); }};
}

}  // namespace pawl::cli
