// The commands and options as plain data, read from the parser itself: what completion and the manual are made of.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

/// What may stand where a value is expected. It follows from the value's name, so that a new option says it by the
/// name it has in its help: FILE, FOLDER or URI, RUN, COMMAND.
enum class Wants : std::uint8_t { nothing, text, word, file, folder, run, command };

/// An option, or an argument by position, which has no names.
struct OptionInfo {
  std::vector<std::string> names;  // "--state", "-o"; the long ones first
  std::string value;               // the name of its value; empty for a flag
  std::string help;
  Wants wants = Wants::nothing;
  std::vector<std::string> words;  // of Wants::word
  bool repeats = false;
  bool required = false;
};

struct CommandInfo {
  std::string name;
  std::string help;
  std::string footer;
  std::string group;
  std::vector<OptionInfo> options;
  std::vector<OptionInfo> arguments;
  std::vector<CommandInfo> commands;
};

/// All that is not hidden. A command or option is hidden by an empty group.
[[nodiscard]] CommandInfo command_tree(CLI::App& root);

/// Tells the tree which words an option takes, without showing them in its help.
void know_words(CLI::Option& option, const std::vector<std::string>& words);

/// An app that helps Pawl rather than people: no help lists it, and no misspelt word suggests it.
[[nodiscard]] bool is_hidden(const CLI::App& app);

}  // namespace pawl::cli
