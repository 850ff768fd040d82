#include "language/shell_scanner.hpp"

#include <algorithm>
#include <utility>

#include "language/shell_words.hpp"
#include "text/utf8.hpp"

namespace pawl::shell_scanner {

namespace {

constexpr std::size_t kNestingMax = 64;
constexpr const char* kUseEnv = "pass the value in `env:` and use \"$NAME\"";
// Arithmetic evaluates the value of a variable, too, so only a number may be passed.
constexpr const char* kUseNumber = "pass a number in `env:`, for example N: \"${number(vars.n)}\", and use $N";

bool is_blank(const Unit& unit) { return unit.is(' ') || unit.is('\t'); }

/// Characters that end a word if they are not quoted.
bool is_meta(const Unit& unit) {
  return unit.expression == nullptr && std::string_view(" \t\n;&|<>()").find(unit.character) != std::string_view::npos;
}

}  // namespace

Error Scanner::fault(std::size_t offset, std::string message) const {
  const char* const hint = message.find("arithmetic") == std::string::npos ? kUseEnv : kUseNumber;
  return fault(offset, std::move(message), hint);
}

Error Scanner::fault(std::size_t offset, std::string message, std::string hint) const {
  std::size_t line = 1;
  std::size_t column = 1;
  for (std::size_t i = 0; i < offset && i < source_.size(); ++i) {
    if (source_[i] == '\n') {
      ++line;
      column = 1;
    } else if (!is_utf8_continuation(source_[i])) {
      ++column;
    }
  }
  return Error{Code::invalid_command, std::move(message), fmt::format("line {}, column {}", line, column),
               std::move(hint), 0};
}

Result<void> Scanner::reference(std::string_view before, std::string_view after) {
  const Unit& unit = take();
  if (level_ != nullptr) {
    const std::string problem = shell_words::evaluated(level_->words, level_->word);
    if (!problem.empty() && !level_->redirected) return fail(fault(unit.offset, problem));
    if (level_->in_test) level_->test_value = &unit;
    level_->in_word = true;
    level_->word += "\"$\"";  // a placeholder without a special meaning
  }
  made_.script += fmt::format("{}PAWL_ARG_{}{}", before, argument(*unit.expression), after);
  return {};
}

Result<void> Scanner::enter() {
  if (++depth_ > kNestingMax) return unsure("it is nested too deeply");
  return {};
}

// ---- lists of commands

Result<void> Scanner::commands(End end) {
  PAWL_TRY(enter());
  Level level;
  level.only_words = end == End::array;
  Level* const outer = std::exchange(level_, &level);
  for (;;) {
    if (done()) {
      PAWL_TRY(end_word());
      if (end != End::input) return unsure("'(' is not closed");
      if (!level.cases.empty()) return unsure("'case' without 'esac'");
      if (level.in_test) return unsure("'[[' is not closed");
      if (!here_documents_.empty()) return unsure("a here-document has no body");
      break;
    }
    if (!next_is(')') || level.in_test) {
      PAWL_TRY(one(level));
      continue;
    }
    PAWL_TRY(end_word());
    copy();
    level.word.clear();
    if (!level.cases.empty() && level.cases.back() == CasePhase::pattern) {
      level.cases.back() = CasePhase::body;
      level.command_position = true;
      level.words.clear();
      continue;
    }
    if (end == End::input || !level.cases.empty()) return unsure("')' without '('");
    break;
  }
  level_ = outer;
  --depth_;
  return {};
}

/// Reads one part of a word, operator or blank of a list of commands.
Result<void> Scanner::one(Level& level) {
  const Unit& unit = units_[at_];
  if (unit.expression != nullptr) return reference("\"$", "\"");
  switch (unit.character) {
    case ' ':
    case '\t':
      PAWL_TRY(end_word());
      copy();
      level.word.clear();
      return {};
    case '\n': return newline(level);
    case ';':
    case '&':
    case '|': return separator(level);
    case '(':
    case ')': return opening(level);
    case '<':
    case '>': return redirection(level);
    case '\\': return backslash(level);
    case '#':
      if (!level.in_word) return comment();
      break;
    case '\'':
    case '"': level.in_word = true; return quoted(copy());
    case '`': level.in_word = true; return backticks();
    case '$': level.in_word = true; return dollar(Quotes::none);
    default: break;
  }
  level.in_word = true;
  copy();
  return {};
}

Result<void> Scanner::backslash(Level& level) {
  if (next_is('\n', 1)) {
    // A backslash joins lines even within operators (`<\` and `<EOF`), which would be unreadable.
    if (!made_.script.empty() && std::string_view("<>;&|($").find(made_.script.back()) != std::string_view::npos)
      return unsure("an operator continues on the next line");
    if (!here_documents_.empty()) return unsure("a line with a here-document continues on the next one");
    const std::string word = level.word;
    copy();
    copy();
    level.word = word;
    return {};
  }
  level.in_word = true;
  copy();
  if (done()) return unsure("it ends with a backslash");
  if (units_[at_].expression != nullptr) return refused(units_[at_], "after a backslash");
  copy();
  return {};
}

Result<void> Scanner::separator(Level& level) {
  // `>&` and `<&` and `&>` are parts of redirections.
  if (next_is('&') && !made_.script.empty() && !level.in_word &&
      (made_.script.back() == '>' || made_.script.back() == '<')) {
    copy();
    level.word.clear();
    return {};
  }
  PAWL_TRY(end_word());
  if (shell_ == Shell::bash && next_is('&') && next_is('>', 1)) {
    copy();  // &>file
    return redirection(level);
  }
  std::string text;
  while (next_is(';') || next_is('&') || next_is('|')) text += copy();
  const bool ends_case = text.find(";;") != std::string::npos || text.find(";&") != std::string::npos;
  level.word.clear();
  if (!level.cases.empty() && level.cases.back() == CasePhase::pattern) {
    level.pattern_begun = true;  // a|b
    return {};
  }
  level.words.clear();
  level.redirected = false;
  if (level.in_test) return {};
  level.command_position = true;
  if (!ends_case) return {};
  if (level.cases.empty() || level.cases.back() != CasePhase::body) return unsure("';;' is not inside a 'case'");
  level.cases.back() = CasePhase::pattern;
  level.pattern_begun = false;
  return {};
}

Result<void> Scanner::newline(Level& level) {
  PAWL_TRY(end_word());
  copy();
  level.word.clear();
  for (const HereDocument& document : std::exchange(here_documents_, {})) PAWL_TRY(here_body(document));
  level.word.clear();
  if (level.in_test || level.only_words) return {};
  if (!level.cases.empty() && level.cases.back() != CasePhase::body) return {};
  level.words.clear();
  level.redirected = false;
  level.command_position = true;
  return {};
}

Result<void> Scanner::opening(Level& level) {
  if (level.in_test) {
    PAWL_TRY(end_word());
    copy();
    level.word.clear();
    return {};
  }
  if (!level.cases.empty() && level.cases.back() == CasePhase::pattern && !level.in_word && !level.pattern_begun) {
    copy();  // the optional '(' of a pattern
    level.word.clear();
    level.pattern_begun = true;
    return {};
  }
  if (next_is('(', 1)) {
    PAWL_TRY(end_word());
    copy();
    copy();
    PAWL_TRY(arithmetic('(', ')', 2));
    level.word.clear();
    level.command_position = true;
    return {};
  }
  const bool array = level.in_word && level.word.ends_with('=');
  const bool pattern = level.in_word && !level.word.empty() &&
                       std::string_view("?*+@<>").find(level.word.back()) != std::string_view::npos;
  const std::size_t pending = here_documents_.size();
  copy();
  const std::string word = level.word;
  PAWL_TRY(commands(array ? End::array : End::parenthesis));
  if (here_documents_.size() != pending)
    return unsure("a here-document begins inside parentheses and continues after them");
  if (array || pattern) {
    level.in_word = true;
    level.word = word;
    level.word += ')';
    return {};
  }
  level.word.clear();
  level.in_word = false;
  level.words.clear();
  level.command_position = true;
  return {};
}

Result<void> Scanner::redirection(Level& level) {
  const bool number = !level.word.empty() && level.word.find_first_not_of("0123456789") == std::string::npos;
  if (number && level.in_word) {
    level.in_word = false;  // 2>file
  } else {
    PAWL_TRY(end_word());
  }
  const std::size_t begin = at_;
  while (next_is('<') || next_is('>')) copy();
  const bool here = at_ - begin == 2 && units_[begin].is('<') && units_[begin + 1].is('<');
  if (at_ - begin > 3) return unsure("there are too many '<' or '>'");
  level.word.clear();
  if (level.in_test) return {};
  if (here) return here_delimiter();
  if (next_is('(')) {
    level.in_word = true;  // <(...) is a word
    level.word.assign(1, '<');
    return opening(level);
  }
  if (next_is('|')) copy();
  level.word.clear();
  level.redirected = true;
  return {};
}

Result<void> Scanner::comment() {
  Level* const level = std::exchange(level_, nullptr);
  while (!done() && !next_is('\n')) {
    if (units_[at_].expression != nullptr) {
      PAWL_TRY(reference("${", "}"));
    } else {
      copy();
    }
  }
  level_ = level;
  return {};
}

// ---- words

Result<void> Scanner::end_word() {
  Level& level = *level_;
  if (!level.in_word) return {};
  level.in_word = false;
  const std::string word = std::exchange(level.word, {});
  if (level.only_words) return {};
  if (level.in_test) {
    if (shell_words::is_evaluating_test(word)) level.test_evaluates = true;
    if (word != "]]") return {};
    if (level.test_evaluates && level.test_value != nullptr)
      return refused(*level.test_value, "in [[ ]] with an arithmetic comparison, which would execute it");
    level.in_test = false;
    return {};
  }
  if (std::exchange(level.redirected, false)) {
    level.command_position = false;
    return {};
  }
  return keyword(word);
}

/// Handles the effect of a complete word on what follows.
Result<void> Scanner::keyword(const std::string& word) {
  Level& level = *level_;
  if (!level.cases.empty() && level.cases.back() != CasePhase::body) {
    CasePhase& phase = level.cases.back();
    if (phase == CasePhase::pattern) {
      const bool first = !std::exchange(level.pattern_begun, true);
      if (first && word == "esac") {
        level.cases.pop_back();
        level.command_position = true;
      }
      return {};
    }
    if (phase == CasePhase::in && word != "in") return unsure("'case' without 'in'");
    phase = phase == CasePhase::subject ? CasePhase::in : CasePhase::pattern;
    level.pattern_begun = false;
    return {};
  }
  const bool loop = !level.words.empty() && (level.words[0] == "for" || level.words[0] == "select");
  const bool function = !level.words.empty() && level.words[0] == "function";
  const bool behind_name = level.words.size() == 2 && ((loop && word == "do") || (function && word == "{"));
  if (level.command_position || behind_name) {
    if (word == "coproc") return unsure("it uses 'coproc'");
    if (word == "case") {
      level.cases.push_back(CasePhase::subject);
      level.words.clear();
      return {};
    }
    if (word == "esac") {
      if (level.cases.empty()) return unsure("'esac' without 'case'");
      level.cases.pop_back();
      return {};
    }
    if (shell_words::is_reserved(word)) {
      level.words.clear();
      level.command_position = true;
      return {};
    }
    if (word == "[[") {
      level.in_test = true;
      level.test_evaluates = false;
      level.test_value = nullptr;
    }
  }
  level.command_position = false;
  if (level.words.empty() && shell_words::is_assignment(word)) return {};
  level.words.push_back(word);
  return {};
}

// ---- here-documents

Result<void> Scanner::here_delimiter() {
  HereDocument document;
  document.offset = here();
  if (next_is('-')) {
    document.strip_tabs = true;
    copy();
  }
  while (!done() && is_blank(units_[at_])) copy();
  bool given = false;
  while (!done() && !is_meta(units_[at_])) {
    const Unit& unit = units_[at_];
    if (unit.expression != nullptr) return refused(unit, "in a here-document's delimiter");
    if (unit.is('$') || unit.is('`')) return unsure("a here-document's delimiter is not plain");
    given = true;
    const char c = copy();
    if (c == '\\') {
      document.literal = true;
      if (done() || next_is('\n') || units_[at_].expression != nullptr)
        return unsure("a here-document's delimiter is not plain");
      document.delimiter += copy();
    } else if (c == '\'' || c == '"') {
      document.literal = true;
      while (!done() && !next_is(c)) {
        if (units_[at_].expression != nullptr) return refused(units_[at_], "in a here-document's delimiter");
        if (next_is('\n') || next_is('\\') || next_is('$') || next_is('`'))
          return unsure("a here-document's delimiter is not plain");
        document.delimiter += copy();
      }
      if (done()) return unsure("a quote is not closed");
      copy();
    } else {
      document.delimiter += c;
    }
  }
  if (!given) return unsure("a here-document has no delimiter");
  level_->word.clear();
  here_documents_.push_back(std::move(document));
  return {};
}

Result<void> Scanner::here_body(const HereDocument& document) {
  bool joined = false;  // to the previous line, by a backslash
  while (!done()) {
    std::string line;
    while (!done() && !next_is('\n')) {
      if (units_[at_].expression != nullptr) return refused(units_[at_], "in a here-document");
      line += copy();
    }
    if (!done()) copy();
    const std::string_view text =
        document.strip_tabs ? std::string_view(line).substr(std::min(line.find_first_not_of('\t'), line.size()))
                            : std::string_view(line);
    if (text == document.delimiter) {
      if (!joined) return {};
      return fail(fault(document.offset, "it is unclear where this here-document ends"));
    }
    joined = !document.literal && line.ends_with('\\');
  }
  return fail(fault(document.offset, "this here-document is not closed"));
}

}  // namespace pawl::shell_scanner
