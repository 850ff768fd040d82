// Quotes, substitutions and arithmetic.
#include <algorithm>
#include <utility>

#include "language/shell_scanner.hpp"

namespace pawl::shell_scanner {

// ---- quotes

Result<void> Scanner::quoted(char quote) { return quote == '"' ? double_quoted() : single_quoted(); }

Result<void> Scanner::single_quoted() {
  while (!done()) {
    if (units_[at_].expression != nullptr) {
      PAWL_TRY(reference("'\"$", "\"'"));
      continue;
    }
    const bool end = next_is('\'');
    PAWL_TRY(copy_inside());
    if (end) return {};
  }
  return unsure("a quote is not closed");
}

Result<void> Scanner::double_quoted() {
  PAWL_TRY(enter());
  while (!done()) {
    const Unit& unit = units_[at_];
    if (unit.expression != nullptr) {
      PAWL_TRY(reference("${", "}"));
    } else if (unit.is('\\')) {
      copy();
      if (!done() && units_[at_].expression != nullptr) return refused(units_[at_], "after a backslash");
      if (!done()) PAWL_TRY(copy_inside());
    } else if (unit.is('$')) {
      PAWL_TRY(dollar(Quotes::doubled));
    } else if (unit.is('`')) {
      PAWL_TRY(backticks());
    } else {
      PAWL_TRY(copy_inside());
      if (unit.is('"')) {
        --depth_;
        return {};
      }
    }
  }
  return unsure("a quote is not closed");
}

/// $'...': bash has escapes in it; for other shells it may be a `$` and a plain quote.
Result<void> Scanner::ansi_quoted() {
  while (!done()) {
    const Unit& unit = units_[at_];
    if (unit.expression != nullptr) return refused(unit, "in $'...'");
    PAWL_TRY(copy_inside());
    if (unit.is('\'')) return {};
    if (!unit.is('\\')) continue;
    if (shell_ != Shell::bash) return unsure("shells differ about $'...' with a backslash in it");
    if (done()) break;
    if (units_[at_].expression != nullptr) return refused(units_[at_], "in $'...'");
    PAWL_TRY(copy_inside());
  }
  return unsure("a quote is not closed");
}

Result<void> Scanner::backticks() {
  copy();
  while (!done()) {
    const Unit& unit = units_[at_];
    if (unit.expression != nullptr)
      return fail(fault(unit.offset, "a value can't be used in backticks", "use $( ) instead of backticks"));
    PAWL_TRY(copy_inside());
    if (unit.is('`')) return {};
    if (!unit.is('\\') || done()) continue;
    if (units_[at_].expression != nullptr) return refused(units_[at_], "after a backslash");
    PAWL_TRY(copy_inside());
  }
  return unsure("a backtick is not closed");
}

// ---- $

Result<void> Scanner::dollar(Quotes quotes) {
  copy();
  if (done()) return {};
  const Unit& unit = units_[at_];
  if (unit.expression != nullptr) return refused(unit, "after a '$'");
  if (unit.is('\\') && next_is('\n', 1)) return unsure("a '$' continues on the next line");
  if (unit.is('(') && next_is('(', 1)) {
    copy();
    copy();
    return arithmetic('(', ')', 2);
  }
  if (unit.is('(')) return substitution();
  if (unit.is('{')) {
    copy();
    return braces(quotes);
  }
  if (unit.is('[')) {
    copy();
    return arithmetic('[', ']', 1);
  }
  if (quotes == Quotes::none && unit.is('\'')) {
    copy();
    return ansi_quoted();
  }
  // Variables of one character that belong to the shell: the # of `$#` does not start a comment.
  if (unit.is('#') || unit.is('$') || unit.is('!') || unit.is('?') || unit.is('@') || unit.is('*') || unit.is('-'))
    copy();
  return {};
}

Result<void> Scanner::substitution() {
  copy();
  const std::string word = level_ != nullptr ? level_->word : std::string();
  const auto outer = std::exchange(here_documents_, {});
  const std::size_t begin = at_;
  PAWL_TRY(commands(End::parenthesis));
  if (!here_documents_.empty()) return unsure("the body of a here-document comes after its $( )");
  if (!outer.empty() &&
      std::any_of(units_.begin() + static_cast<std::ptrdiff_t>(begin),
                  units_.begin() + static_cast<std::ptrdiff_t>(at_), [](const Unit& unit) { return unit.is('\n'); }))
    return unsure("a here-document begins while a $( ) is open");
  here_documents_ = outer;
  if (level_ != nullptr) level_->word = word + ")";
  return {};
}

/// ${ } of the shell.
Result<void> Scanner::braces(Quotes quotes) {
  PAWL_TRY(enter());
  if (done()) return unsure("'${' is not closed");
  if (units_[at_].expression != nullptr) return refused(units_[at_], "as the name of a variable");
  if (!next_is_name()) {
    if (std::string_view("@*#?-$!").find(units_[at_].character) == std::string_view::npos)
      return unsure("'${' is not followed by a name");
    copy();
  }
  while (next_is_name()) copy();
  if (done()) return unsure("'${' is not closed");
  const std::size_t colon = next_is(':') ? 1 : 0;
  const bool plain = next_is('-', colon) || next_is('+', colon) || next_is('=', colon) || next_is('?', colon);
  if (next_is('}')) {
    copy();
  } else if (plain) {
    for (std::size_t i = 0; i <= colon; ++i) copy();
    PAWL_TRY(brace_word(quotes));
  } else {
    PAWL_TRY(brace_pattern(quotes));
  }
  --depth_;
  return {};
}

/// Reads the word of ${X:-word}. Shells differ about the meaning of quotes in it if it is itself quoted.
Result<void> Scanner::brace_word(Quotes quotes) {
  while (!done()) {
    const Unit& unit = units_[at_];
    if (unit.expression != nullptr) {
      PAWL_TRY(quotes == Quotes::none ? reference("\"$", "\"") : reference("${", "}"));
    } else if (unit.is('\\')) {
      copy();
      if (!done() && units_[at_].expression != nullptr) return refused(units_[at_], "after a backslash");
      if (!done()) PAWL_TRY(copy_inside());
    } else if (unit.is('$')) {
      PAWL_TRY(dollar(quotes));
    } else if (unit.is('`')) {
      PAWL_TRY(backticks());
    } else if ((unit.is('"') || unit.is('\'')) && quotes == Quotes::doubled) {
      return unsure("a quoted ${ } contains a quote");
    } else {
      PAWL_TRY(copy_inside());
      if (unit.is('}')) return {};
      if (unit.is('"') || unit.is('\'')) PAWL_TRY(quoted(unit.character));
    }
  }
  return unsure("'${' is not closed");
}

/// Reads the rest of ${X#pattern}, ${X[index]}, ${X:offset} and all others, which can't contain values.
Result<void> Scanner::brace_pattern(Quotes quotes) {
  while (!done()) {
    const Unit& unit = units_[at_];
    if (unit.expression != nullptr) return refused(unit, "in this ${ }, which would evaluate it");
    if (unit.is('\\')) {
      copy();
      if (!done() && units_[at_].expression == nullptr) PAWL_TRY(copy_inside());
    } else if (unit.is('$')) {
      PAWL_TRY(dollar(quotes));
    } else if (unit.is('`')) {
      PAWL_TRY(backticks());
    } else if (unit.is('\'') || unit.is('"')) {
      if (quotes == Quotes::doubled) return unsure("a quoted ${ } contains a quote");
      PAWL_TRY(copy_inside());
      PAWL_TRY(quoted(unit.character));
    } else {
      PAWL_TRY(copy_inside());
      if (unit.is('}')) return {};
    }
  }
  return unsure("'${' is not closed");
}

/// Reads up to the closing of `depth` brackets. The last ones must be adjacent; otherwise it was not arithmetic.
Result<void> Scanner::arithmetic(char opening_character, char closing_character, std::size_t depth) {
  const std::size_t least = depth;
  while (!done()) {
    const Unit& unit = units_[at_];
    if (unit.expression != nullptr) return refused(unit, "in arithmetic, which would execute it");
    if (unit.is('\'') || unit.is('`') || unit.is('\\')) return unsure("arithmetic contains a quote");
    if (unit.is('$')) {
      PAWL_TRY(dollar(Quotes::doubled));
      continue;
    }
    PAWL_TRY(copy_inside());
    if (unit.is('"')) PAWL_TRY(double_quoted());
    if (unit.is(opening_character)) ++depth;
    if (!unit.is(closing_character)) continue;
    --depth;
    if (depth > 0 && depth < least && !next_is(closing_character)) return unsure("'((' is not closed by '))'");
    if (depth == 0) return {};
  }
  return unsure("arithmetic is not closed");
}

}  // namespace pawl::shell_scanner
