// `pawl help` and `pawl version`, for those who type them instead of --help and --version; and the manual's source.
#include "cli/command.hpp"
#include "cli/man_page.hpp"
#include "text/suggest.hpp"

namespace pawl::cli {
namespace {

Result<void> help(const Invocation& invocation, CLI::App& root, const std::string& name) {
  if (name.empty()) {
    root.clear();  // else it would show the help of `help`
    invocation.print(root.help());
    return {};
  }
  std::vector<std::string> names;
  for (const CLI::App* known : root.get_subcommands([](const CLI::App*) { return true; })) {
    if (known->get_name() == name) {
      invocation.print(known->help("pawl"));
      return {};
    }
    if (!is_hidden(*known)) names.push_back(known->get_name());
  }
  const std::string nearest = suggest(name, names);
  return fail(
      Error{Code::usage,
            fmt::format("unknown command '{}'", name),
            {},
            nearest.empty() ? "`pawl help` lists what there is" : fmt::format("did you mean `pawl help {}`?", nearest),
            0});
}

Result<void> version(const Invocation& invocation) {
  const CliContext& context = invocation.context();
  invocation.print(invocation.json() ? version_json(context.version, context.build) + "\n"
                                     : version_text(context.version, context.build));
  return {};
}

}  // namespace

Command add_help(CLI::App& root) {
  const auto name = std::make_shared<std::string>();
  CLI::App* app = root.add_subcommand("help", "Show this help, or that of a command");
  app->group(kCareGroup);
  app->add_option("COMMAND", *name, "The command")->type_name("");
  return {app, [name, &root](const Invocation& invocation) { return help(invocation, root, *name); }};
}

Command add_version(CLI::App& root) {
  CLI::App* app = root.add_subcommand("version", "Show the version, the commit and what is built in");
  app->group(kCareGroup);
  return {app, version};
}

Command add_man(CLI::App& root) {
  CLI::App* app = root.add_subcommand("__man", "Print the source of the manual, pawl(1)");
  app->group("");
  return {app, [&root](const Invocation& invocation) -> Result<void> {
            const CliContext& context = invocation.context();
            invocation.print(man_page(command_tree(root), {.version = context.version, .date = context.build.date}));
            return {};
          }};
}

}  // namespace pawl::cli
