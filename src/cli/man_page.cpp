#include "cli/man_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace pawl::cli {
namespace {

struct Entry {
  std::string_view name;
  std::string_view meaning;
};

constexpr Entry kEnvironment[] = {
    {"PAWL_STORE",
     "Store folder if --store is not given. Default: the nearest .pawl in this folder or a parent, else ./.pawl."},
    {"PAWL_RUN", "Run of `pawl step` if --run is not given. Set for the commands of a workflow's steps."},
    {"PAWL_KEY_FILE",
     "Key file of an encrypted store. Default: the setting encryption.key_file, else the file that `pawl init "
     "--encrypt` created."},
    {"PAWL_KEY, PAWL_PASSPHRASE", "The key itself, 32 bytes in hexadecimal or base64; or the passphrase of the store."},
    {"PAWL_NEW_KEY, PAWL_NEW_PASSPHRASE", "New key or passphrase for `pawl rekey`."},
    {"PAWL_ALLOW_NETWORK_FS", "1 allows a store on a network file system, where locks may be unreliable."},
    {"NO_COLOR", "If not empty, turns colours off. Colours are used on terminals only."},
    {"USER, LOGNAME", "User name recorded for decisions, forks and rollbacks. Default: the account name."},
};

constexpr Entry kStepEnvironment[] = {
    {"PAWL_RESULT",
     "File to which a step writes JSON lines: output, confidence, partial progress, scores, tokens, cost."},
    {"PAWL_PREVIOUS", "File with the partial progress reported by an earlier attempt."},
    {"PAWL_IDEMPOTENCY_KEY", "Key that is the same for every attempt at the same step of the same run."},
    {"PAWL_STEP, PAWL_ATTEMPT", "Name of the step, and number of the attempt, starting at 1."},
};

constexpr Entry kFiles[] = {
    {"./.pawl", "Default store. Its files are readable; don't edit them."},
    {".pawl/config.yaml", "Settings of the store."},
    {"~/.config/pawl/config.yaml", "Settings of the user."},
    {"~/.config/pawl/keys", "Keys of encrypted stores. Keep copies elsewhere."},
    {"./workflow.yaml", "Default workflow file of `pawl run` and `pawl check`."},
};

constexpr Entry kExitStatus[] = {
    {"0", "Done."},
    {"1", "The run failed; it can be resumed."},
    {"2", "Bad usage or input."},
    {"3", "The run is waiting for approval, a signal, a timer or a larger budget."},
    {"4", "Refused for integrity or safety."},
    {"5", "Storage error."},
    {"130", "Interrupted; the run can be resumed."},
};

/// Escapes the first character of a text line if it would make the line a request.
std::string line_text(std::string_view text) {
  const std::string safe = roff_text(text);
  return safe.starts_with('.') || safe.starts_with('\'') ? "\\&" + safe : safe;
}

/// The argument of a macro, in quotes.
std::string macro_argument(std::string_view text) {
  std::string out = "\"";
  for (const char c : roff_text(text)) out += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return out + "\"";
}

std::string bold(std::string_view text) { return text.empty() ? "" : fmt::format("\\fB{}\\fR", roff_text(text)); }
std::string italic(std::string_view text) { return text.empty() ? "" : fmt::format("\\fI{}\\fR", roff_text(text)); }

void add_entries(std::string& out, std::span<const Entry> entries) {
  for (const Entry& entry : entries) out += fmt::format(".TP\n{}\n{}\n", bold(entry.name), line_text(entry.meaning));
}

void add_option(std::string& out, const OptionInfo& option) {
  out += ".TP\n";
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(bold(name));
  out += fmt::format("{}", fmt::join(names, ", "));
  if (!option.value.empty()) out += (names.empty() ? "" : " ") + italic(option.value);
  out += "\n" + line_text(option.help) + "\n";
  // Completion offers long lists of words; the page names only a few.
  if (!option.names.empty() && !option.words.empty())
    out += fmt::format(".br\nOne of: {}.\n", roff_text(fmt::format("{}", fmt::join(option.words, ", "))));
}

/// Returns whether it is a global option, which the page describes only once.
bool is_global(const OptionInfo& option, const CommandInfo& root) {
  return std::ranges::any_of(root.options, [&](const OptionInfo& global) {
    return global.names == option.names && global.help == option.help;
  });
}

/// Adds lines unchanged, for the examples after a command's help.
void add_footer(std::string& out, std::string_view footer) {
  if (footer.empty()) return;
  out += ".nf\n";
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find('\n'), footer.size());
    out += end == 0 ? ".sp\n" : line_text(footer.substr(0, end)) + "\n";
    footer.remove_prefix(std::min(end + 1, footer.size()));
  }
  out += ".fi\n";
}

std::string call_of(const CommandInfo& command, std::string_view before) {
  std::string call = bold(fmt::format("{}{}", before, command.name));
  const bool has_options = !command.options.empty();
  if (has_options) call += " [" + italic("options") + "]";
  if (!command.commands.empty()) call += " " + italic("COMMAND");
  for (const OptionInfo& argument : command.arguments) {
    const std::string value = italic(argument.value) + (argument.repeats ? "..." : "");
    call += argument.required ? " " + value : " [" + value + "]";
  }
  if (!command.after_dashes.empty()) call += " " + roff_text("--") + " " + italic(command.after_dashes);
  return call;
}

void add_command(std::string& out, const CommandInfo& command, const CommandInfo& root, const std::string& before) {
  out += fmt::format(".SS {}\n{}\n.PP\n{}.\n", macro_argument(before + command.name),
                     call_of(command, "pawl " + before), line_text(command.help));
  for (const OptionInfo& argument : command.arguments) add_option(out, argument);
  for (const OptionInfo& option : command.options) {
    if (!is_global(option, root)) add_option(out, option);
  }
  if (!command.footer.empty()) out += ".PP\n";
  add_footer(out, command.footer);
  for (const CommandInfo& part : command.commands) add_command(out, part, root, before + command.name + " ");
}

std::vector<std::string> groups_of(const CommandInfo& root) {
  std::vector<std::string> groups;
  for (const CommandInfo& command : root.commands) {
    if (std::ranges::find(groups, command.group) == groups.end()) groups.push_back(command.group);
  }
  return groups;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

}  // namespace

std::string roff_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\(rs"; break;
      case '-': out += "\\-"; break;
      case '`': out += "\\(ga"; break;
      case '\'': out += "\\(aq"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      default: out += c;
    }
  }
  return out;
}

std::string man_page(const CommandInfo& root, const ManualTitle& title) {
  std::string out = fmt::format(".\\\" Generated by pawl from its commands.\n.TH PAWL 1 \"{}\" {} {}\n", title.date,
                                macro_argument("pawl " + title.version), macro_argument("Pawl"));
  out += ".nh\n.ad l\n";  // words such as {"$append": ...} must not be broken, and spaces not stretched
  out += ".SH NAME\npawl \\- durable workflows, checkpoints and steps\n";
  out += fmt::format(".SH SYNOPSIS\n{} {} [{}] [{}]\n.br\n{}\n", bold("pawl"), italic("COMMAND"), italic("options"),
                     italic("arguments"), bold("pawl --version"));
  out += fmt::format(".SH DESCRIPTION\n{}\n.PP\n", line_text(root.help));
  out +=
      "A workflow is a YAML file of steps; a run is one execution of it. Every completed\n"
      "step is recorded durably, and a run that crashed, failed, waited or was\n"
      "interrupted continues where it stopped. Programs and scripts can save their own\n"
      "states as checkpoints. Everything is kept in a store, which is a folder.\n";
  out += ".SH OPTIONS\nEvery command takes these, before or after its name.\n";
  for (const OptionInfo& option : root.options) add_option(out, option);
  for (const std::string& group : groups_of(root)) {
    out += fmt::format(".SH {}\n", macro_argument(upper(group)));
    for (const CommandInfo& command : root.commands) {
      if (command.group == group) add_command(out, command, root, "");
    }
  }
  out += ".SH ENVIRONMENT\n";
  add_entries(out, kEnvironment);
  out += ".PP\nSet in the environment of steps:\n";
  add_entries(out, kStepEnvironment);
  out += ".SH FILES\n";
  add_entries(out, kFiles);
  out += ".SH EXIT STATUS\n";
  add_entries(out, kExitStatus);
  out += ".SH EXAMPLES\n";
  add_footer(out, root.footer.substr(std::min(root.footer.find("  "), root.footer.size())));
  out += ".SH SEE ALSO\n" +
         line_text("`pawl help COMMAND` shows the help of a command; `pawl explain CODE` explains an error.") + "\n";
  return out;
}

}  // namespace pawl::cli
