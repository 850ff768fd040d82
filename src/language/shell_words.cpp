#include "language/shell_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "language/expression_lexer.hpp"

namespace pawl::shell_words {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Removes quotes and backslashes: `"eval"` and `\eval` are eval.
std::string plain(std::string_view word) {
  std::string text;
  for (const char c : word)
    if (c != '\'' && c != '"' && c != '\\') text += c;
  return text;
}

std::size_t name_size(std::string_view word) {
  std::size_t size = 0;
  if (!word.empty() && expression_tree::is_name_start(word[0]))
    while (size < word.size() && expression_tree::is_name_part(word[size])) ++size;
  return size;
}

bool is_option_with(std::string_view word, char letter) {
  return word.size() > 1 && (word[0] == '-' || word[0] == '+') && word[1] != '-' &&
         word.find(letter) != std::string_view::npos;
}

/// Returns whether the next word is the script that a shell gets with `-c`.
bool is_script(const std::vector<std::string>& words) {
  if (words.empty() || !is_option_with(words.back(), 'c')) return false;
  for (std::size_t i = words.size() - 1; i-- > 0;) {
    const std::string_view word = words[i];
    const std::string_view name = word.substr(word.find_last_of('/') + 1);
    if (is_one_of(name, {"sh", "bash", "dash", "ash", "ksh", "zsh"})) return true;
    const bool option = word[0] == '-' || word[0] == '+';
    const bool option_value = i > 0 && (is_option_with(words[i - 1], 'o') || is_option_with(words[i - 1], 'O'));
    if (!option && !option_value) return false;
  }
  return false;
}

}  // namespace

bool is_reserved(std::string_view word) {
  return is_one_of(word, {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "time"});
}

bool is_assignment(std::string_view word) {
  std::size_t at = name_size(word);
  if (at == 0) return false;
  if (at < word.size() && word[at] == '[') {
    const std::size_t end = word.find(']', at);
    if (end == std::string_view::npos) return false;
    at = end + 1;
  }
  if (at < word.size() && word[at] == '+') ++at;
  return at < word.size() && word[at] == '=';
}

bool is_evaluating_test(std::string_view word) {
  return is_one_of(word, {"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"});
}

std::string evaluated(const std::vector<std::string>& words, std::string_view word) {
  const std::size_t name = name_size(word);
  if (name < word.size() && word[name] == '[' &&
      std::count(word.begin(), word.end(), '[') > std::count(word.begin(), word.end(), ']'))
    return "an index in [ ] is arithmetic, which would execute the value";
  std::vector<std::string> plain_words;
  for (const std::string& each : words) {
    std::string text = plain(each);
    if (plain_words.empty() && is_one_of(text, {"command", "builtin", "exec"})) continue;
    if (!text.empty()) plain_words.push_back(std::move(text));
  }
  if (plain_words.empty()) return {};
  if (is_script(plain_words)) return "the script of `sh -c` is parsed by that shell";
  const std::string& command = plain_words[0];
  const std::string& last = plain_words.back();
  if (is_one_of(command, {"eval", "let", "unset", "read", "trap", "alias", "mapfile", "readarray", "getopts"}))
    return fmt::format("`{}` evaluates its arguments", command);
  if (is_one_of(command, {"printf", "test", "[", "wait"}) && is_one_of(last, {"-v", "-p", "-R"}))
    return fmt::format("`{} {}` takes the name of a variable, whose index it evaluates", command, last);
  if (is_one_of(command, {"declare", "typeset", "local", "export", "readonly"})) {
    for (const std::string& each : plain_words)
      if (is_option_with(each, 'i') || is_option_with(each, 'n'))
        return fmt::format("`{} {}` evaluates values", command, each);
    if (!is_assignment(plain(word))) return fmt::format("`{}` evaluates names of variables", command);
  }
  return {};
}

}  // namespace pawl::shell_words
