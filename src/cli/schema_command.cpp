#include "cli/command.hpp"
#include "workflow/parse_workflow.hpp"

namespace pawl::cli {

Command add_schema(Options& root) {
  Options& app = root.command("schema", "Print the JSON Schema of workflow files, for editors");
  app.group(kCareGroup);
  app.footer(
      "Examples:\n"
      "  pawl schema > workflow.schema.json\n"
      "  # yaml-language-server: $schema=./workflow.schema.json     as the first line of a workflow");
  return {&app, [](const Invocation& invocation) -> Result<void> {
            std::string text = workflow_schema();
            if (!text.ends_with('\n')) text += '\n';
            invocation.print(text);
            return {};
          }};
}

}  // namespace pawl::cli
