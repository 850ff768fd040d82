// `pawl help` and `pawl version`, for those who type them instead of --help and --version.
#include "base/suggest.hpp"
#include "cli/command.hpp"
#include "cli/json_out.hpp"

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
    names.push_back(known->get_name());
  }
  const std::string nearest = suggest(name, names);
  return fail(Error{Code::usage, fmt::format("unknown command '{}'", name), {},
                    nearest.empty() ? "`pawl help` lists what there is" : fmt::format("did you mean `pawl help {}`?", nearest), 0});
}

Result<void> version(const Invocation& invocation) {
  const std::string& number = invocation.context().version;
  invocation.print(invocation.json() ? JsonObject().text("version", number).done() + "\n" : fmt::format("pawl {}\n", number));
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
  CLI::App* app = root.add_subcommand("version", "Show the version");
  app->group(kCareGroup);
  return {app, version};
}

}  // namespace pawl::cli
