// `pawl help`, `pawl version`, and the hidden `pawl __man`.
#include "cli/command.hpp"
#include "cli/help_text.hpp"
#include "cli/man_page.hpp"
#include "text/suggest.hpp"

namespace pawl::cli {
namespace {

/// Returns the command `name` of `parent`, whose words in the command line are `before`, such as "audit ".
Result<const Options*> command_of(const Options& parent, const std::string& before, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& known : parent.commands()) {
    if (known->name() == name) return known.get();
    if (!known->is_hidden()) names.push_back(known->name());
  }
  const std::string nearest = suggest(name, names);
  return fail(Error{Code::usage,
                    fmt::format("unknown command '{}{}'", before, name),
                    {},
                    nearest.empty() ? fmt::format("run: pawl {}--help", before)
                                    : fmt::format("did you mean `pawl help {}{}`?", before, nearest),
                    0});
}

Result<void> help(const Invocation& invocation, const Options& root, const std::vector<std::string>& names) {
  const Options* found = &root;
  std::string before;
  for (const std::string& name : names) {
    PAWL_TRY_ASSIGN(found, command_of(*found, before, name));
    before += name + " ";
  }
  invocation.print(help_text(*found, invocation.columns()));
  return {};
}

Result<void> version(const Invocation& invocation) {
  const CliContext& context = invocation.context();
  invocation.print(invocation.json() ? version_json(context.version, context.build) + "\n"
                                     : version_text(context.version, context.build));
  return {};
}

}  // namespace

Command add_help(Options& root) {
  const auto names = std::make_shared<std::vector<std::string>>();
  Options& app = root.command("help", "Show help for a command");
  app.group(kCareGroup);
  app.list("COMMAND", *names, "Command, for example: audit report (default: this overview)");
  return {&app, [names, &root](const Invocation& invocation) { return help(invocation, root, *names); }};
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
