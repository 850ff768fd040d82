// `pawl help`, `pawl version`, and the hidden `pawl __man`.
#include "cli/command.hpp"
#include "cli/help_text.hpp"
#include "cli/man_page.hpp"
#include "text/suggest.hpp"

namespace pawl::cli {
namespace {

Result<void> help(const Invocation& invocation, const Options& root, const std::string& name) {
  if (name.empty()) {
    invocation.print(help_text(root, invocation.columns()));
    return {};
  }
  std::vector<std::string> names;
  for (const auto& known : root.commands()) {
    if (known->name() == name) {
      invocation.print(help_text(*known, invocation.columns()));
      return {};
    }
    if (!known->is_hidden()) names.push_back(known->name());
  }
  const std::string nearest = suggest(name, names);
  return fail(Error{Code::usage,
                    fmt::format("unknown command '{}'", name),
                    {},
                    nearest.empty() ? "run: pawl --help" : fmt::format("did you mean `pawl help {}`?", nearest),
                    0});
}

Result<void> version(const Invocation& invocation) {
  const CliContext& context = invocation.context();
  invocation.print(invocation.json() ? version_json(context.version, context.build) + "\n"
                                     : version_text(context.version, context.build));
  return {};
}

}  // namespace

Command add_help(Options& root) {
  const auto name = std::make_shared<std::string>();
  Options& app = root.command("help", "Show help for a command");
  app.group(kCareGroup);
  app.text("COMMAND", *name, "Command (default: this overview)");
  return {&app, [name, &root](const Invocation& invocation) { return help(invocation, root, *name); }};
}

Command add_version(Options& root) {
  Options& app = root.command("version", "Show the version, commit and built-in features");
  app.group(kCareGroup);
  return {&app, version};
}

Command add_man(Options& root) {
  Options& app = root.command("__man", "Print the source of the manual page pawl(1)");
  app.group("");
  return {&app, [&root](const Invocation& invocation) -> Result<void> {
            const CliContext& context = invocation.context();
            invocation.print(man_page(root.tree(), {.version = context.version, .date = context.build.date}));
            return {};
          }};
}

}  // namespace pawl::cli
