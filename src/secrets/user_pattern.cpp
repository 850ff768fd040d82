#include "secrets/user_pattern.hpp"

#include <re2/re2.h>

#include <array>
#include <string_view>

namespace pawl {
namespace {

struct UnsupportedSyntax {
  std::string_view begin;
  std::string_view name;
};
/// Syntax of other dialects. A longer beginning precedes a shorter one.
constexpr auto kUnsupported = std::to_array<UnsupportedSyntax>({
    {"(?=", "lookahead (?=...)"},
    {"(?!", "negative lookahead (?!...)"},
    {"(?<=", "lookbehind (?<=...)"},
    {"(?<!", "negative lookbehind (?<!...)"},
    {"(?<", "the named group (?<name>...)"},
    {"(?>", "the atomic group (?>...)"},
    {"(?(", "the conditional (?(...)...)"},
    {"(?#", "the comment (?#...)"},
    {"(?R", "the recursion (?R)"},
    {"(?P=", "the backreference (?P=name)"},
    {"\\k", "the backreference \\k<name>"},
    {"\\u", "the escape \\u"},
    {"\\c", "the escape \\c"},
});

/// Returns the first unsupported syntax of a pattern that RE2 has refused, or an empty text.
std::string find_unsupported(std::string_view pattern) {
  bool in_class = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const std::string_view rest = pattern.substr(at);
    const char next = rest.size() > 1 ? rest[1] : '\0';
    if (!in_class || rest[0] == '\\') {
      for (const UnsupportedSyntax& syntax : kUnsupported) {
        if (rest.starts_with(syntax.begin)) return std::string(syntax.name);
      }
    }
    if (rest[0] == '\\') {
      if (!in_class && next >= '1' && next <= '9') return fmt::format("the backreference \\{}", next);
      ++at;
    } else if (rest[0] == '[' && !in_class) {
      in_class = true;
      if (rest.starts_with("[^]") || rest.starts_with("[]")) at += next == '^' ? 2 : 1;  // a literal ]
    } else if (rest[0] == ']') {
      in_class = false;
    } else if (!in_class && (rest[0] == '*' || rest[0] == '+' || rest[0] == '?' || rest[0] == '}') && next == '+') {
      return fmt::format("the possessive quantifier {}+", rest[0]);
    }
  }
  return {};
}

std::string_view error_text(re2::RE2::ErrorCode code) {
  switch (code) {
    case re2::RE2::ErrorBadEscape: return "unknown escape";
    case re2::RE2::ErrorBadCharClass: return "invalid character class";
    case re2::RE2::ErrorBadCharRange: return "invalid range in a character class";
    case re2::RE2::ErrorMissingBracket: return "missing ]";
    case re2::RE2::ErrorMissingParen: return "missing )";
    case re2::RE2::ErrorUnexpectedParen: return "unexpected )";
    case re2::RE2::ErrorTrailingBackslash: return "it ends with \\";
    case re2::RE2::ErrorRepeatArgument: return "nothing to repeat before";
    case re2::RE2::ErrorRepeatSize: return "repetition above 1,000 or out of order";
    case re2::RE2::ErrorRepeatOp: return "invalid repetition";
    case re2::RE2::ErrorBadPerlOp: return "unknown group";
    case re2::RE2::ErrorBadNamedCapture: return "invalid named group";
    case re2::RE2::ErrorPatternTooLarge: return "it is too large";
    case re2::RE2::ErrorBadUTF8:
    case re2::RE2::ErrorInternal:
    case re2::RE2::NoError: break;
  }
  return "it can't be compiled";
}

}  // namespace

Result<std::shared_ptr<const re2::RE2>> compile_pattern(const std::string& pattern) {
  // Latin-1 makes RE2 match bytes, so that texts with invalid UTF-8 are searched as well.
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  auto compiled = std::make_shared<const re2::RE2>(pattern, options);
  if (compiled->ok()) return compiled;
  std::string why = find_unsupported(pattern);
  if (!why.empty()) {
    why += " is not supported";
  } else {
    why = error_text(compiled->error_code());
    const bool names_part = compiled->error_code() != re2::RE2::ErrorTrailingBackslash &&
                            compiled->error_code() != re2::RE2::ErrorMissingParen &&
                            compiled->error_code() != re2::RE2::ErrorUnexpectedParen;
    if (const std::string& part = compiled->error_arg(); names_part && !part.empty()) why += fmt::format(" {}", part);
  }
  return fail(Error{Code::usage,
                    fmt::format("invalid regular expression '{}': {}", pattern, why),
                    {},
                    "fix it in the setting secrets.patterns (syntax: https://github.com/google/re2/wiki/Syntax)",
                    0});
}

}  // namespace pawl
