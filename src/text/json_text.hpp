// A cursor over JSON text that is known to be valid (codec/json_check has seen it), and JSON strings.
//
// Values are handed out as spans of the text, so whoever splices text needs no tree. Nothing recurses.
// With text that is not valid JSON the answers mean nothing, but nothing outside the text is read and
// every loop ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

/// How deep a JSON text may be nested, everywhere in Pawl. Recursion over values is bounded by it.
inline constexpr std::size_t kJsonDepthMax = 512;

enum class JsonType : std::uint8_t { object, array, string, number, boolean, null, none };

/// What the value that begins at the front of `json` is (`none`: no value begins there).
[[nodiscard]] JsonType json_type(std::string_view json);

[[nodiscard]] constexpr bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// The first place from `at` on that is not white space.
[[nodiscard]] std::size_t skip_json_space(std::string_view json, std::size_t at);
/// The end of the value that begins exactly at `at`. One pass over it; long strings are jumped over.
[[nodiscard]] std::size_t skip_json_value(std::string_view json, std::size_t at);
/// The text's only value, without the white space around it.
[[nodiscard]] std::string_view trim_json(std::string_view json);

/// How deep the text is nested; also of text that is not known to be valid.
[[nodiscard]] std::size_t json_depth(std::string_view json);

/// A member of an object; both are spans of the text. `key` is with its quotes and escapes.
struct JsonMember {
  std::string_view key;
  std::string_view value;
};

/// The members of an object in their order: `while (auto member = members.next())`.
class JsonMembers {
 public:
  /// `object` begins with '{' (else there are no members) and may go on behind the object's end.
  explicit JsonMembers(std::string_view object);
  [[nodiscard]] std::optional<JsonMember> next();

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// The elements of an array in their order.
class JsonElements {
 public:
  explicit JsonElements(std::string_view array);
  [[nodiscard]] std::optional<std::string_view> next();

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// The value of the member `key` (plain text) of an object.
[[nodiscard]] std::optional<std::string_view> find_json_member(std::string_view object, std::string_view key);

/// The plain text of a JSON string that is given with its quotes. A lone surrogate becomes U+FFFD.
[[nodiscard]] std::string unescape_json(std::string_view quoted);
/// Whether a JSON string, given with its quotes, stands for `plain` (`"\u0061"` stands for `a`).
[[nodiscard]] bool json_string_is(std::string_view quoted, std::string_view plain);

/// Appends `plain` as a JSON string with its quotes. UTF-8 goes through unchanged; only quotes,
/// backslashes and control characters are escaped.
void append_json_string(std::string& out, std::string_view plain);
/// Appends `"key":"value"` to an object whose text is being written, after a comma unless it is the first member.
void append_json_member(std::string& out, std::string_view key, std::string_view value);
/// `plain` as a JSON string with its quotes.
[[nodiscard]] std::string escape_json(std::string_view plain);

/// Appends `/key`, with `~` and `/` in the key escaped: one step of a JSON pointer (RFC 6901).
void append_json_pointer(std::string& pointer, std::string_view key);

}  // namespace pawl
