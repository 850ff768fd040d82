// Reads a command as a shell would. Used only by shell_command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "language/expression_lexer.hpp"
#include "language/shell_command.hpp"

namespace pawl::shell_scanner {

/// A character of the command, or one of its expressions.
struct Unit {
  char character = 0;
  const Expression* expression = nullptr;
  std::size_t offset = 0;  // in the source of the template

  [[nodiscard]] bool is(char c) const { return expression == nullptr && character == c; }
};

struct HereDocument {
  std::string delimiter;
  bool literal = false;     // its delimiter was quoted
  bool strip_tabs = false;  // <<-
  std::size_t offset = 0;
};

enum class CasePhase : std::uint8_t { subject, in, pattern, body };

/// The state of the list of commands that is being read.
struct Level {
  std::vector<std::string> words = {};  // of the simple command, without assignments and redirections
  std::string word = {};                // as written, up to now
  bool in_word = false;
  bool command_position = true;  // a reserved word is recognised here
  bool redirected = false;       // the next word is a file name
  bool only_words = false;       // elements of an array
  bool in_test = false;          // between [[ and ]]
  bool test_evaluates = false;
  const Unit* test_value = nullptr;
  bool pattern_begun = false;
  std::vector<CasePhase> cases = {};
};

/// Follows the grammar of the shell for quotes, substitutions, parentheses, comments, here-documents and `case`. Copies
/// the command and replaces expressions by references. A method that is named after a construct is called after its
/// opening and returns after its closing.
class Scanner {
 public:
  Scanner(std::vector<Unit> units, std::string_view source, Shell shell)
      : units_(std::move(units)), source_(source), shell_(shell) {}

  /// Returns the whole command. Fails with invalid_command.
  [[nodiscard]] Result<ShellCommand> scan() {
    PAWL_TRY(commands(End::input));
    return std::move(made_);
  }

 private:
  enum class End : std::uint8_t { input, parenthesis, array };
  enum class Quotes : std::uint8_t { none, doubled };

  // Reading.
  [[nodiscard]] bool done() const { return at_ >= units_.size(); }
  [[nodiscard]] bool next_is(char c, std::size_t ahead = 0) const {
    return at_ + ahead < units_.size() && units_[at_ + ahead].is(c);
  }
  [[nodiscard]] bool next_is_name() const {
    return !done() && units_[at_].expression == nullptr && expression_tree::is_name_part(units_[at_].character);
  }
  const Unit& take() { return units_[at_++]; }
  char copy() {
    const char c = take().character;
    made_.script += c;
    if (level_ != nullptr) level_->word += c;
    return c;
  }
  /// Copies a character inside quotes or braces.
  Result<void> copy_inside() {
    if (next_is('\n') && !here_documents_.empty()) return unsure("a here-document begins while a quote is open");
    copy();
    return {};
  }

  // Failing.
  [[nodiscard]] Error fault(std::size_t offset, std::string message) const;
  [[nodiscard]] Error fault(std::size_t offset, std::string message, std::string hint) const;
  [[nodiscard]] std::size_t here() const { return at_ < units_.size() ? units_[at_].offset : source_.size(); }
  /// Fails because the text can't be followed with certainty, so the quotes around a value might be wrong.
  [[nodiscard]] std::unexpected<Error> unsure(std::string_view why) const {
    return fail(fault(here(), fmt::format("it is unclear how the shell reads this: {}", why)));
  }
  [[nodiscard]] std::unexpected<Error> refused(const Unit& unit, std::string_view place) const {
    return fail(fault(unit.offset, fmt::format("a value can't be used {}", place)));
  }

  /// Returns the number of the argument that contains the value of the expression.
  std::size_t argument(const Expression& expression) {
    const auto [entry, is_new] = numbers_.try_emplace(expression.text(), made_.arguments.size() + 1);
    if (is_new) made_.arguments.push_back(expression);
    return entry->second;
  }
  /// Reads the expression here and writes a reference to its value.
  Result<void> reference(std::string_view before, std::string_view after);

  Result<void> enter();

  Result<void> commands(End end);
  Result<void> one(Level& level);
  Result<void> separator(Level& level);
  Result<void> newline(Level& level);
  Result<void> opening(Level& level);
  Result<void> redirection(Level& level);
  Result<void> backslash(Level& level);
  Result<void> end_word();
  Result<void> keyword(const std::string& word);
  Result<void> comment();
  Result<void> here_delimiter();
  Result<void> here_body(const HereDocument& document);
  Result<void> quoted(char quote);
  Result<void> single_quoted();
  Result<void> double_quoted();
  Result<void> ansi_quoted();
  Result<void> backticks();
  Result<void> dollar(Quotes quotes);
  Result<void> substitution();
  Result<void> braces(Quotes quotes);
  Result<void> brace_word(Quotes quotes);
  Result<void> brace_pattern(Quotes quotes);
  Result<void> arithmetic(char opening_character, char closing_character, std::size_t depth);

  std::vector<Unit> units_;
  std::string_view source_;
  Shell shell_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  Level* level_ = nullptr;
  std::vector<HereDocument> here_documents_;  // their bodies begin after the next end of a line
  std::map<std::string, std::size_t, std::less<>> numbers_;
  ShellCommand made_;
};

}  // namespace pawl::shell_scanner
