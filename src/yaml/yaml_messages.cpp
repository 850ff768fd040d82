#include "yaml/yaml_messages.hpp"

#include <algorithm>
#include <array>

namespace pawl {
namespace {

struct Translation {
  std::string_view raw;  // the beginning of the parser's message
  YamlProblem ours;
};

constexpr std::string_view kGeneral = "check this line and the one above for indentation, quotes and ': ' inside text";
constexpr std::string_view kQuoteStar = "put text that begins with '*' in quotes";
constexpr std::string_view kQuoteAnd = "put text that begins with '&' in quotes";
constexpr std::string_view kQuoteMark = "put text that begins with '!' in quotes";
constexpr std::string_view kNoDirective = "remove the line that begins with '%'";
constexpr std::string_view kSingleQuotes =
    "use single quotes for text with backslashes, or write \\\\ for each of them";
constexpr std::string_view kBrackets = "add the missing bracket or comma, or put the text in quotes";

/// All messages of yaml-cpp/exceptions.h. If one starts with another, the longer one comes first.
constexpr auto kTranslations = std::to_array<Translation>({
    {"YAML directives must have exactly one argument", {"invalid '%YAML' line", kNoDirective}},
    {"bad YAML version: ", {"invalid version in the '%YAML' line", kNoDirective}},
    {"YAML major version too large", {"unsupported version in the '%YAML' line", kNoDirective}},
    {"repeated YAML directive", {"a second '%YAML' line", kNoDirective}},
    {"TAG directives must have exactly two arguments", {"invalid '%TAG' line", kNoDirective}},
    {"repeated TAG directive", {"a second '%TAG' line", kNoDirective}},
    {"illegal character found while scanning tag handle", {"invalid tag after '!'", kQuoteMark}},
    {"tag handle with no suffix", {"incomplete tag after '!'", kQuoteMark}},
    {"end of verbatim tag not found", {"'!<' is not closed with '>'", kQuoteMark}},
    {"end of map flow not found", {"'{' is not closed with '}'", kBrackets}},
    {"end of map not found",
     {"the keys of this map are not aligned", "indent all keys of a map by the same number of spaces"}},
    {"end of sequence flow not found", {"'[' is not closed with ']'", kBrackets}},
    {"end of sequence not found",
     {"the items of this list are not aligned", "indent every '-' of a list by the same number of spaces"}},
    {"cannot assign multiple tags to the same node", {"a value with two tags", kQuoteMark}},
    {"cannot assign multiple anchors to the same node", {"a value with two anchors", kQuoteAnd}},
    {"cannot assign multiple aliases to the same node", {"two aliases in one place", kQuoteStar}},
    {"aliases can't have any content, *including* tags", {"text after an alias", kQuoteStar}},
    {"bad character found while scanning hex number", {"invalid \\x or \\u escape in double quotes", kSingleQuotes}},
    {"invalid unicode: ", {"the escape in double quotes is not a Unicode character", kSingleQuotes}},
    {"unknown escape character: ", {"unknown escape in double quotes", kSingleQuotes}},
    {"unknown token", {"text can't begin with this character", "put the text in quotes"}},
    {"illegal document indicator in scalar", {"'---' or '...' inside quoted text", "close the quotes above"}},
    {"illegal EOF in scalar", {"a quote is not closed", "add the missing quote"}},
    {"illegal character in scalar", {"invalid character in text", "put the text in quotes"}},
    {"illegal tab when looking for indentation", {"the line is indented with a tab", "indent with spaces"}},
    {"illegal flow end", {"brackets do not match", kBrackets}},
    {"illegal block entry",
     {"a list item ('- ') is not allowed here", "begin the list on its own line, below its key"}},
    {"illegal map key", {"a key is not allowed here", kGeneral}},
    {"illegal map value",
     {"':' is not allowed here", "put text with ': ' in quotes, or indent the line as those around it"}},
    {"alias not found after *", {"'*' is not followed by a name", kQuoteStar}},
    {"anchor not found after &", {"'&' is not followed by a name", kQuoteAnd}},
    {"illegal character found while scanning alias", {"invalid name after '*'", kQuoteStar}},
    {"illegal character found while scanning anchor", {"invalid name after '&'", kQuoteAnd}},
    {"cannot set zero indentation for a block scalar", {"0 is not an indentation for '|' or '>'", "remove the number"}},
    {"unexpected character in block scalar", {"text after '|' or '>'", "begin the text on the next line"}},
    {"cannot assign the same alias to multiple nodes",
     {"an anchor is defined twice", "give each '&name' its own name"}},
    {"the referenced anchor is not defined",
     {"'*' refers to an anchor that is not defined above",
      "define it with '&name' above this line; put text that begins with '*' in quotes"}},
    {"invalid node", {"invalid value", kGeneral}},
    {"invalid scalar", {"invalid value", kGeneral}},
    {"key not found", {"a key is missing", kGeneral}},
    {"bad conversion", {"invalid value", kGeneral}},
    {"bad dereference", {"invalid value", kGeneral}},
    {"operator[] call on a scalar", {"a map or list is expected here", kGeneral}},
    {"appending to a non-sequence", {"a list is expected here", kGeneral}},
    {"inserting in a non-convertible-to-map", {"a map is expected here", kGeneral}},
    {"unmatched group tag", {"indentation does not match", kGeneral}},
    {"unexpected end sequence token", {"a list ends where none began", kGeneral}},
    {"unexpected end map token", {"a map ends where none began", kGeneral}},
    {"invalid character in single-quoted string",
     {"invalid character in single quotes", "use double quotes, with an escape for the character"}},
    {"invalid anchor", {"invalid name after '&'", kQuoteAnd}},
    {"invalid alias", {"invalid name after '*'", kQuoteStar}},
    {"invalid tag", {"invalid tag after '!'", kQuoteMark}},
    {"bad file", {"the file can't be read", "check that it exists and is text"}},
});

}  // namespace

YamlProblem explain_yaml_error(std::string_view raw) {
  const auto found =
      std::ranges::find_if(kTranslations, [&](const Translation& one) { return raw.starts_with(one.raw); });
  return found == kTranslations.end() ? YamlProblem{"invalid YAML", kGeneral} : found->ours;
}

}  // namespace pawl
