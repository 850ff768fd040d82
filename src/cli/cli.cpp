#include "cli/cli.hpp"

#include <algorithm>

#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/hints.hpp"
#include "cli/json_out.hpp"
#include "text/suggest.hpp"

namespace pawl::cli {
namespace {

constexpr const char* kDescription =
    "Pawl makes workflows durable: a step that finished stays finished, whatever crashes.";

constexpr const char* kExamples =
    "Examples:\n"
    "  pawl run notes.yaml                      run a workflow; its run's id is printed first\n"
    "  pawl resume                              go on with the run that crashed, failed or waited\n"
    "  pawl show notes-k3f9                     what a run has done, and what to type next\n"
    "  pawl logs notes-k3f9 -f                  what its steps print, while it runs\n"
    "  pawl list                                all runs, newest first\n"
    "  echo '{\"done\": 3}' | pawl save nightly   save a state of your own program, durably\n"
    "  pawl restore nightly                     print the newest state, byte for byte\n"
    "  pawl fsck                                check the store for damage\n"
    "  pawl explain PAWL-0201                   what an error means and what to do\n"
    "\n"
    "A checkpoint is RUN@SEQ, RUN@latest, RUN@name:X, RUN@stage:X, RUN@step:X or RUN@UUID.\n"
    "Exit status: 0 done; 1 the workflow failed; 2 bad usage or input; 3 it waits for a person or a signal;\n"
    "4 refused for integrity or safety; 5 storage trouble; 130 interrupted.";

/// The parser, and what it fills. The commands' options refer to it, so it stays where it is.
struct Parser {
  explicit Parser(const std::string& version);
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  CLI::App app{kDescription, "pawl"};
  Globals globals;
  std::vector<Command> commands;
};

/// `pawl audit list` is a part of `pawl audit`.
std::vector<CLI::App*> parts_of(CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> part_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(part->get_name());
  return names;
}

void add_globals(CLI::App& app, Globals& globals, const std::string& version) {
  app.set_help_flag("-h,--help", "Show this help")->group("Options for all commands");
  app.add_option("--store", globals.store, "The store: a folder ($PAWL_STORE, else ./.pawl)")
      ->type_name("URI")
      ->group("Options for all commands");
  app.add_flag("--json", globals.json, "Print one JSON document")->group("Options for all commands");
  app.set_version_flag("--version", "pawl " + version, "Show the version")->group("Options for all commands");
}

Parser::Parser(const std::string& version) {
  add_globals(app, globals, version);
  app.require_subcommand(0, 1);
  app.footer(kExamples);
  commands = {add_run(app),        add_resume(app),   add_step(app),     add_approve(app), add_reject(app),
              add_signal(app),     add_cancel(app),   add_dlq(app),      add_list(app),    add_show(app),
              add_logs(app),       add_handoff(app),  add_save(app),     add_restore(app), add_diff(app),
              add_replay(app),     add_fork(app),     add_rollback(app), add_check(app),   add_schema(app),
              add_init(app),       add_rekey(app),    add_audit(app),    add_prune(app),   add_erase(app),
              add_verify(app),     add_import(app),   add_export(app),   add_fsck(app),    add_stats(app),
              add_config(app),     add_doctor(app),   add_explain(app),  add_help(app),    add_version(app),
              add_completion(app), add_complete(app), add_man(app)};
  for (const Command& command : commands) {
    add_globals(*command.app, globals, version);
    for (CLI::App* part : parts_of(*command.app)) {
      add_globals(*part, globals, version);
      if (part->get_footer() == kExamples)
        part->footer(command.app->get_footer());  // CLI11 passes it on to whatever is added
    }
  }
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const Parser& parser) {
  std::vector<std::string> names;
  for (const Command& command : parser.commands) {
    if (!is_hidden(*command.app)) names.push_back(command.app->get_name());
  }
  return names;
}

/// The innermost that the arguments name.
const CLI::App& chosen_app(const Parser& parser) {
  const CLI::App* app = &parser.app;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

/// `pawl audit add`
std::string call_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : fmt::format("{} {}", call_of(*app.get_parent()), app.get_name());
}

std::string help_call(const Parser& parser) { return call_of(chosen_app(parser)) + " --help"; }

/// Where a command has parts, they are named at once.
std::string parts_hint(const Parser& parser, const CLI::App& app) {
  return fmt::format("one of: {}; `{}` says more", fmt::join(part_names(app), ", "), help_call(parser));
}

/// What is said about the first argument that nothing took.
Error unexpected_argument(const Parser& parser, const std::string& argument) {
  const CLI::App& app = chosen_app(parser);
  const bool is_option = argument.starts_with('-');
  const bool is_part = !is_option && &app != &parser.app && !part_names(app).empty();
  const bool is_command = !is_option && (&app == &parser.app || is_part);
  const std::string word = argument.substr(0, argument.find('='));
  const std::string nearest = suggest(word, is_option    ? option_names(app)
                                            : is_part    ? part_names(app)
                                            : is_command ? command_names(parser)
                                                         : std::vector<std::string>());
  Error error{Code::usage,
              fmt::format("unknown {} '{}'",
                          is_option    ? "option"
                          : is_command ? "command"
                                       : "argument",
                          word),
              {},
              {},
              0};
  if (!is_option && !is_command) error.message = fmt::format("'{}' is one argument too many", argument);
  error.hint = nearest.empty() ? fmt::format("`{}` lists what there is", help_call(parser))
                               : fmt::format("did you mean `{}`?", nearest);
  if (is_part) error.message += fmt::format(" of `{}`", call_of(app));
  if (is_part && nearest.empty()) error.hint = parts_hint(parser, app);
  return error;
}

Error usage_error(const Parser& parser, const CLI::ParseError& error) {
  const std::vector<std::string> extras = parser.app.remaining(true);
  if (!extras.empty()) return unexpected_argument(parser, extras.front());
  std::string message = error.what();
  while (message.ends_with('\n') || message.ends_with('.')) message.pop_back();
  if (const CLI::App& app = chosen_app(parser);
      &app != &parser.app && !part_names(app).empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return Error{
        Code::usage, fmt::format("`{}` needs to know what to do", call_of(app)), {}, parts_hint(parser, app), 0};
  return Error{Code::usage, message, {}, fmt::format("`{}` shows how it is used", help_call(parser)), 0};
}

/// Line breaks stay: lists and differences are easier to read.
std::string printable_lines(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t end = text.find('\n');
    out += printable(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

int report(CliContext& context, Error error, bool json, const HintStyle& hints = {}) {
  error = with_rendered_hint(std::move(error), hints);
  std::string text = fmt::format("pawl: {}: {}", code_text(error.code), printable_lines(error.message));
  if (!error.where.empty()) text += fmt::format(" ({})", printable(error.where));
  text += fmt::format("\nhint: {}\n", printable(error.hint));
  if (json) text += error_json(error) + "\n";
  context.err.write(text);
  return exit_status(error.code);
}

/// Sends what was printed, and gives the exit status: an earlier trouble counts, else that of printing.
int finish(CliContext& context, int status, bool json) {
  if (Result<void> sent = context.out.flush(); !sent && status == 0)
    status = report(context, std::move(sent).error(), json);
  static_cast<void>(context.err.flush());  // there is no third place to complain
  return status;
}

int run_command(const Parser& parser, CliContext& context) {
  const std::vector<CLI::App*> chosen = parser.app.get_subcommands();
  if (chosen.empty()) {
    return report(context, Error{Code::usage, "a command is missing", {}, "`pawl --help` lists the commands", 0},
                  parser.globals.json);
  }
  const auto command = std::ranges::find(parser.commands, chosen.front(), &Command::app);
  Result<void> result = command->run(Invocation(context, parser.globals));
  if (result) return context.status;
  return report(context, std::move(result).error(), parser.globals.json, {.store = parser.globals.store});
}

/// Parsing can fail before --json is bound, and its errors have to know.
bool asks_for_json(const std::vector<std::string>& args) {
  return std::find(args.begin(), std::ranges::find(args, "--"), "--json") != std::ranges::find(args, "--");
}

/// Takes away what stands behind `--` of `pawl step` and `pawl __complete`: another command line, not to be parsed
/// here.
std::vector<std::string> take_command(std::vector<std::string>& args) {
  const auto mark = std::ranges::find(args, "--");
  auto word = args.begin();
  while (word != mark && word->starts_with('-')) word += *word == "--store" && word + 1 != mark ? 2 : 1;
  if (mark == args.end() || word == mark || (*word != "step" && *word != "__complete")) return {};
  std::vector<std::string> command(mark + 1, args.end());
  args.erase(mark, args.end());
  return command;
}

int parse_and_run(std::vector<std::string> args, CliContext& context, bool json) {
  Parser parser(context.version);
  parser.globals.command = take_command(args);
  std::ranges::reverse(args);  // CLI11 takes them from the end
  try {
    parser.app.parse(std::move(args));
  } catch (const CLI::CallForHelp&) {
    context.out.write(parser.app.help());
    return 0;
  } catch (const CLI::CallForVersion&) {
    context.out.write(json ? version_json(context.version, context.build) + "\n"
                           : version_text(context.version, context.build));
    return 0;
  } catch (const CLI::ParseError& error) {
    return report(context, usage_error(parser, error), json);
  }
  return run_command(parser, context);
}

}  // namespace

int run_cli(std::vector<std::string> args, CliContext& context) {
  const bool json = asks_for_json(args);
  int status = 0;
  try {
    status = parse_and_run(std::move(args), context, json);
  } catch (const std::bad_alloc&) {
    status = report(context, Error{Code::read_failed, "there is not enough memory", {}, {}, 0}, json);
  }
  return finish(context, status, json);
}

}  // namespace pawl::cli
