#include "cli/cli.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/assert.hpp"
#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/help_text.hpp"
#include "cli/hints.hpp"
#include "cli/json_out.hpp"
#include "cli/wrap_text.hpp"

namespace pawl::cli {
namespace {

constexpr const char* kDescription = "Run workflows that survive crashes: completed steps are never lost or repeated.";

constexpr const char* kExamples =
    "Examples:\n"
    "  pawl run notes.yaml              run a workflow; prints its run id first\n"
    "  pawl resume                      continue a run that crashed, failed or waits\n"
    "  pawl show notes-k3f9             show its steps and what to do next\n"
    "  pawl logs notes-k3f9 -f          follow the output of its steps\n"
    "  pawl list                        list runs, newest first\n"
    "  echo '{\"done\": 3}' | pawl save nightly   save the state of your own program\n"
    "  pawl restore nightly             print its newest state, byte for byte\n"
    "  pawl fsck                        check the store for damage\n"
    "  pawl explain PAWL-0201           explain an error\n"
    "\n"
    "A checkpoint is RUN@SEQ, RUN@latest, RUN@name:X, RUN@stage:X, RUN@step:X or\n"
    "RUN@UUID.\n"
    "Exit status: 0 done; 1 the workflow failed; 2 wrong usage or input; 3 waiting\n"
    "for a person, a signal, a timer or a budget; 4 refused for integrity or safety;\n"
    "5 storage error; 130 interrupted; 141 standard output was closed.";

constexpr const char* kGlobalGroup = "Options for all commands";

/// Commands that open a run for writing.
constexpr std::string_view kLockingCommands[] = {"run",      "resume", "step",  "save", "fork",
                                                 "rollback", "prune",  "erase", "rm"};

/// Those that create the run that they name.
constexpr std::string_view kCreatingCommands[] = {"run", "save", "step", "import"};

struct CommandEntry {
  std::string_view name;
  Command (*add)(Options&);
};
constexpr CommandEntry kCommands[] = {
    {"run", add_run},
    {"resume", add_resume},
    {"step", add_step},
    {"approve", add_approve},
    {"reject", add_reject},
    {"signal", add_signal},
    {"cancel", add_cancel},
    {"dlq", add_dlq},
    {"list", add_list},
    {"show", add_show},
    {"logs", add_logs},
    {"handoff", add_handoff},
    {"save", add_save},
    {"restore", add_restore},
    {"diff", add_diff},
    {"replay", add_replay},
    {"fork", add_fork},
    {"rollback", add_rollback},
    {"check", add_check},
    {"schema", add_schema},
    {"init", add_init},
    {"rekey", add_rekey},
    {"audit", add_audit},
    {"prune", add_prune},
    {"erase", add_erase},
    {"rm", add_rm},
    {"verify", add_verify},
    {"import", add_import},
    {"export", add_export},
    {"backup", add_backup},
    {"fsck", add_fsck},
    {"stats", add_stats},
    {"config", add_config},
    {"doctor", add_doctor},
    {"explain", add_explain},
    {"help", add_help},
    {"version", add_version},
    {"completion", add_completion},
    {"__complete", add_complete},
    {"__man", add_man},
};

/// Commands that use the options of other commands.
constexpr std::array<std::string_view, 4> kNeedAll = {"help", "completion", "__complete", "__man"};

/// The commands, and the variables that their options set. The options refer to it, so it can't be moved.
struct Parser {
  /// `word` is the command on the command line, if any. Only its options are made, because making those of all commands
  /// takes longer than many of the commands.
  explicit Parser(std::string_view word);
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  Options root{"pawl", kDescription};
  Globals globals;
  bool help_or_version = false;  // handled by the parser
  std::vector<Command> commands;
};

Parser::Parser(std::string_view word) {
  root.for_all(root.flag("-h,--help", help_or_version, "Show this help")).group(kGlobalGroup);
  root.for_all(
          root.text("--store", globals.store, "Store folder (default: $PAWL_STORE, else .pawl here or in a parent)"))
      .value("URI")
      .group(kGlobalGroup);
  root.for_all(root.flag("--json", globals.json, "Print JSON; schemas: pawl schema --of COMMAND")).group(kGlobalGroup);
  root.for_all(root.flag("--utc", globals.utc, "Show exact times in UTC (default: local and relative times)"))
      .group(kGlobalGroup);
  root.for_all(root.flag("--version", help_or_version, "Show the version")).group(kGlobalGroup);
  root.footer(kExamples);
  const bool known = std::ranges::find(kCommands, word, &CommandEntry::name) != std::end(kCommands);
  for (const CommandEntry& entry : kCommands) {
    if (!known || std::ranges::find(kNeedAll, word) != kNeedAll.end() || entry.name == word)
      commands.push_back(entry.add(root));
  }
  const auto add_wait_lock = [&](Options& command) {
    command
        .parsed("--wait-lock", "Wait for a run that another process has open, at most this long (default: 0s)",
                take_duration(globals.wait_lock, LowestDuration::zero))
        .value("DURATION");
  };
  for (const Command& command : commands) {
    if (std::ranges::find(kLockingCommands, command.options->name()) != std::end(kLockingCommands))
      add_wait_lock(*command.options);
    if (command.options->name() != "dlq") continue;
    for (const std::unique_ptr<Options>& part : command.options->commands()) {
      if (part->name() == "retry" || part->name() == "drop") add_wait_lock(*part);
    }
  }
}

/// Keeps line breaks, so that lists and differences stay readable.
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

/// Where the first line of a message ends, without the colon that announces more lines.
std::size_t end_of_summary(std::string_view message) {
  const std::size_t end = message.find('\n');
  if (end == std::string_view::npos) return message.size();
  return end > 0 && message[end - 1] == ':' ? end - 1 : end;
}

int report(CliContext& context, Error error, bool json, const HintStyle& hints = {}) {
  error = with_rendered_hint(std::move(error), hints);
  std::string text = fmt::format("pawl: {}: {}", code_text(error.code), printable_lines(error.message));
  if (!error.where.empty()) text.insert(end_of_summary(text), fmt::format(" ({})", printable(error.where)));
  text += fmt::format("\nhint: {}\n", printable(error.hint));
  if (context.err_is_terminal) text = wrap_text(text, columns_of(context, true), kMessageIndent);
  if (json) text += error_json(error) + "\n";
  context.err.write(text);
  return exit_status(error.code);
}

constexpr int kPipeStatus = 128 + SIGPIPE;

/// Returns whether the reader of standard output has closed it, or it was closed from the start.
bool is_closed(const Error& error) { return error.os_error == EPIPE || error.os_error == EBADF; }

/// Flushes the output and returns the exit status: that of an earlier error, otherwise that of the flush.
int finish(CliContext& context, int status, ClosedOutput closed_output, bool json) {
  const Result<void> sent = context.out.flush();
  if (!sent) {
    if (is_closed(sent.error()) && closed_output == ClosedOutput::ignored) {
      // The exit status is the outcome of the work.
    } else if (sent.error().os_error == EPIPE && closed_output == ClosedOutput::ends) {
      if (status == 0) status = kPipeStatus;
    } else if (status == 0) {
      status = report(context, sent.error(), json);
    }
  }
  static_cast<void>(context.err.flush());  // there is nowhere left to report an error
  return status;
}

int run_command(const Command& command, ClosedOutput closed_output, const Globals& globals, CliContext& context) {
  Result<void> result = command.run(Invocation(context, globals));
  if (result) return context.status;
  const bool is_broken_pipe = result.error().os_error == EPIPE && result.error().code == Code::write_failed;
  if (is_broken_pipe && closed_output == ClosedOutput::ends) return kPipeStatus;
  Error error = std::move(result).error();
  if (std::ranges::find(kCreatingCommands, command.options->name()) != std::end(kCreatingCommands))
    error = for_new_run(std::move(error));
  return report(context, std::move(error), globals.json, {.store = globals.store});
}

/// Parsing can fail before --json is bound, but its errors must already be printed in the right form.
bool asks_for_json(const std::vector<std::string>& args) {
  return std::find(args.begin(), std::ranges::find(args, "--"), "--json") != std::ranges::find(args, "--");
}

/// Returns the first argument that is neither an option nor the value of one.
std::string_view command_word(const std::vector<std::string>& args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--store") {
      ++i;
    } else if (!args[i].starts_with('-')) {
      return args[i];
    }
  }
  return {};
}

/// Removes and returns what follows `--` in `pawl step` and `pawl __complete`: another command line, which is not
/// parsed here.
std::vector<std::string> take_command(std::vector<std::string>& args) {
  const auto mark = std::ranges::find(args, "--");
  auto word = args.begin();
  while (word != mark && word->starts_with('-')) word += *word == "--store" && word + 1 != mark ? 2 : 1;
  if (mark == args.end() || word == mark || (*word != "step" && *word != "__complete")) return {};
  std::vector<std::string> command(mark + 1, args.end());
  args.erase(mark, args.end());
  return command;
}

int parse_and_run(std::vector<std::string> args, CliContext& context, ClosedOutput& closed_output, bool json) {
  std::string word(command_word(args));
  if (word.empty() && std::ranges::find(args, "--version") != args.end()) word = "version";
  Parser parser(word);
  parser.globals.command = take_command(args);
  const Result<ParsedCall> call = parse_arguments(parser.root, std::move(args));
  if (!call) return report(context, call.error(), json);
  if (call->asks == ParsedCall::Asks::help) {
    context.out.write(help_text(*call->command, Invocation(context, parser.globals).columns()));
    return 0;
  }
  if (call->asks == ParsedCall::Asks::version) {
    context.out.write(json ? version_json(context.version, context.build) + "\n"
                           : version_text(context.version, context.build));
    return 0;
  }
  const auto command = std::ranges::find_if(parser.commands, [](const Command& one) { return one.options->chosen(); });
  PAWL_ASSERT(command != parser.commands.end());
  closed_output = call->command->closed_output();
  return run_command(*command, closed_output, parser.globals, context);
}

}  // namespace

int run_cli(std::vector<std::string> args, CliContext& context) {
  const bool json = asks_for_json(args);
  int status = 0;
  ClosedOutput closed_output = ClosedOutput::ends;
  try {
    status = parse_and_run(std::move(args), context, closed_output, json);
  } catch (const std::bad_alloc&) {
    status = report(context, Error{Code::read_failed, "not enough memory", {}, {}, 0}, json);
  } catch (const std::system_error& error) {  // a thread could not be started
    Error trouble{Code::process_failed, fmt::format("can't start a thread: {}", error.code().message()), {}, {}, 0};
    trouble.hint = "check the limits of processes (ulimit -u) and memory, then run the command again";
    status = report(context, trouble, json);
  }
  return finish(context, status, closed_output, json);
}

}  // namespace pawl::cli
