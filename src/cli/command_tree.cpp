#include "cli/command_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::cli {
namespace {

/// "{a,b,c}" as words, and nothing of anything else.
std::vector<std::string> listed(std::string_view text) {
  std::vector<std::string> words;
  if (!text.starts_with('{') || !text.ends_with('}')) return words;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// From know_words, or from CLI::IsMember: both describe themselves as {a,b,c}.
std::vector<std::string> known_words(CLI::Option& option) {
  try {
    for (int i = 0;; ++i) {
      CLI::Validator validator = *option.get_validator(i);
      std::vector<std::string> words = listed(validator.active().get_description());
      if (!words.empty()) return words;
    }
  } catch (const CLI::OptionNotFound&) {
    return {};  // that was the last one
  }
}

Wants wanted(std::string_view value) {
  if (value.empty()) return Wants::nothing;
  if (value == "FILE" || value == "PATH") return Wants::file;
  if (value == "FOLDER" || value == "URI") return Wants::folder;
  if (value == "COMMAND") return Wants::command;
  if (value == "BEFORE" || value == "AFTER" || value == "RUN" || value.starts_with("RUN@") || value.starts_with("RUN["))
    return Wants::run;
  return Wants::text;
}

OptionInfo option_info(CLI::Option& option) {
  OptionInfo info;
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  const bool is_argument = info.names.empty();
  const std::string type = option.get_type_name();
  if (is_argument) {
    info.value = option.get_name(true);
  } else if (option.get_items_expected_max() > 0) {
    info.value = type.substr(0, type.find(':'));
    if (info.value.empty()) info.value = "VALUE";
  }
  info.help = option.get_description();
  info.wants = wanted(info.value);
  info.words = known_words(option);
  if (!info.words.empty()) info.wants = Wants::word;
  info.repeats =
      option.get_items_expected_max() > 1 || option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  info.required = option.get_required();
  return info;
}

/// CLI11 gives a command without a footer that of the app around it.
bool has_inherited_footer(const CLI::App& app) {
  for (const CLI::App* outer = app.get_parent(); outer != nullptr; outer = outer->get_parent()) {
    if (outer->get_footer() == app.get_footer()) return true;
  }
  return false;
}

CommandInfo command_info(CLI::App& app) {
  CommandInfo info{.name = app.get_name(),
                   .help = app.get_description(),
                   .footer = app.get_footer(),
                   .group = app.get_group(),
                   .options = {},
                   .arguments = {},
                   .commands = {}};
  if (has_inherited_footer(app)) info.footer.clear();
  for (CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    OptionInfo read = option_info(*option);
    (read.names.empty() ? info.arguments : info.options).push_back(std::move(read));
  }
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!is_hidden(*command)) info.commands.push_back(command_info(*command));
  }
  return info;
}

}  // namespace

CommandInfo command_tree(CLI::App& root) { return command_info(root); }

void know_words(CLI::Option& option, const std::vector<std::string>& words) {
  CLI::Validator validator([](std::string&) { return std::string(); }, fmt::format("{{{}}}", fmt::join(words, ",")));
  option.check(validator.active(false));  // else the help would print all of them
}

bool is_hidden(const CLI::App& app) { return app.get_group().empty(); }

}  // namespace pawl::cli
