#include "engine/environment_entries.hpp"

#include <algorithm>

#include <algorithm>

namespace pawl {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Other names can't be used in a shell.
bool is_variable_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') && std::ranges::all_of(name, fits);
}

}  // namespace

const std::string* find_entry(const std::vector<std::string>& environment, std::string_view name) {
  const auto found = std::ranges::find_if(environment, [&](const std::string& entry) {
    return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
  });
  return found == environment.end() ? nullptr : &*found;
}

std::string_view entry_value(const std::string& entry) { return std::string_view(entry).substr(entry.find('=') + 1); }

void set_entry(std::vector<std::string>& environment, std::string entry) {
  const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
  const std::string* known = find_entry(environment, name);
  if (known == nullptr) {
    environment.push_back(std::move(entry));
  } else {
    environment[static_cast<std::size_t>(known - environment.data())] = std::move(entry);
  }
}

std::vector<std::string> shell_words_of(const ShellCommand& command, Shell shell) {
  if (shell == Shell::bash) return {"bash", "-eo", "pipefail", "-c", command.script};
  return {"/bin/sh", "-e", "-c", command.script};  // POSIX guarantees the path: no search in PATH
}

Result<Json> set_arguments(std::vector<std::string>& environment, const ShellCommand& command, const Names& names) {
  Json values = Json::array();
  for (const Expression& argument : command.arguments) {
    PAWL_TRY_ASSIGN(Json value, argument.evaluate(names));
    const std::string text = text_of(value);
    if (text.find('\0') != std::string::npos)
      return fail(Code::invalid_command,
                  "the value of ${{{}}} contains a NUL character, which an environment variable can't hold",
                  argument.text());
    values.push_back(std::move(value));
    set_entry(environment, fmt::format("PAWL_ARG_{}={}", values.size(), text));
  }
  return values;
}

Result<std::vector<std::string>> parse_env_file(std::string_view text, const std::string& path) {
  std::vector<std::string> entries;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.starts_with("export ")) line = trimmed(line.substr(7));
    if (line.empty() || line.front() == '#') continue;
    const std::size_t equals = line.find('=');
    const std::string_view name = trimmed(line.substr(0, equals));
    if (equals == std::string_view::npos || !is_variable_name(name)) {
      return fail(Error{Code::invalid_variable, "this line is not NAME=VALUE", fmt::format("{}:{}", path, number),
                        "write NAME=VALUE with a name of letters, digits and underscores, or begin a comment with #",
                        0});
    }
    std::string_view value = trimmed(line.substr(equals + 1));
    const bool quoted =
        value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front();
    if (quoted) value = value.substr(1, value.size() - 2);
    entries.push_back(std::string(name) + "=" + std::string(value));
  }
  return entries;
}

}  // namespace pawl
