// Commands and options as plain data, from which help, completion and the manual are generated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

/// What a value can be. It is derived from the value's name in the help (FILE, FOLDER, URI, RUN, COMMAND), so that a
/// new option needs nothing else for completion.
enum class Wants : std::uint8_t { nothing, text, word, file, folder, run, command };

/// An option, or a positional argument, which has no names.
struct OptionInfo {
  std::vector<std::string> names;  // "--state", "-o"; long names first
  std::string value;               // the name of its value; empty for a flag
  std::string help;
  Wants wants = Wants::nothing;
  std::vector<std::string> words;  // for Wants::word
  bool repeats = false;
  bool required = false;
  std::string group;  // the heading in the help; empty: hidden
};

struct CommandInfo {
  std::string name;
  std::string help;
  std::string footer;
  std::string group;
  std::vector<OptionInfo> options;
  std::vector<OptionInfo> arguments;
  std::string after_dashes;  // what follows `--`; empty: nothing
  std::vector<CommandInfo> commands;
};

}  // namespace pawl::cli
