// Reading JSON text without building a tree, and writing JSON strings.
//
// The text must be valid JSON (checked by codec/json_check). Values are returned as spans of the text. Nothing
// recurses. For invalid JSON the results are unspecified, but nothing outside the text is read and every loop ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

/// The maximum nesting of JSON text, everywhere in Pawl. It bounds recursion over values.
inline constexpr std::size_t kJsonDepthMax = 512;

enum class JsonType : std::uint8_t { object, array, string, number, boolean, null, none };

/// Returns the type of the value at the front of `json`, or `none` if no value begins there.
[[nodiscard]] JsonType json_type(std::string_view json);

[[nodiscard]] constexpr bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// Returns the first offset from `at` on that is not white space.
[[nodiscard]] std::size_t skip_json_space(std::string_view json, std::size_t at);
/// Returns the end of the value that begins exactly at `at`. One pass over the value; long strings are skipped quickly.
[[nodiscard]] std::size_t skip_json_value(std::string_view json, std::size_t at);
/// Returns the only value of the text, without white space around it.
[[nodiscard]] std::string_view trim_json(std::string_view json);

/// Returns the nesting of the text, which may be invalid.
[[nodiscard]] std::size_t json_depth(std::string_view json);

/// A member of an object. Both are spans of the text; `key` includes its quotes and escapes.
struct JsonMember {
  std::string_view key;
  std::string_view value;
};

/// Iterates over the members of an object in their order: `while (auto member = members.next())`.
class JsonMembers {
 public:
  /// There are no members unless `object` begins with '{'. Text after the end of the object is ignored.
  explicit JsonMembers(std::string_view object);
  [[nodiscard]] std::optional<JsonMember> next();

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// Iterates over the elements of an array in their order.
class JsonElements {
 public:
  explicit JsonElements(std::string_view array);
  [[nodiscard]] std::optional<std::string_view> next();

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// Returns the value of the member `key` (plain text) of an object.
[[nodiscard]] std::optional<std::string_view> find_json_member(std::string_view object, std::string_view key);

/// Returns the plain text of a JSON string, which includes its quotes. An unpaired surrogate becomes U+FFFD.
[[nodiscard]] std::string unescape_json(std::string_view quoted);
/// Returns whether a JSON string, which includes its quotes, represents `plain` (`"\u0061"` represents `a`).
[[nodiscard]] bool json_string_is(std::string_view quoted, std::string_view plain);

/// Appends `plain` as a JSON string with its quotes. Escapes only quotes, backslashes and control characters; UTF-8
/// stays unchanged.
void append_json_string(std::string& out, std::string_view plain);
/// Appends `"key":"value"` to the text of an object, preceded by a comma unless it is the first member.
void append_json_member(std::string& out, std::string_view key, std::string_view value);
/// Returns `plain` as a JSON string with its quotes.
[[nodiscard]] std::string escape_json(std::string_view plain);

/// Appends `/key` to a JSON pointer (RFC 6901), with `~` and `/` in the key escaped.
void append_json_pointer(std::string& pointer, std::string_view key);

}  // namespace pawl
