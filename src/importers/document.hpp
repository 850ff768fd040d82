// A JSON file of another program, checked, and its members with words for what is wrong with them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"
#include "importers/imported.hpp"
#include "importers/source_tree.hpp"

namespace pawl {

struct Document {
  std::string file;
  std::string text;  // unpacked
  std::string sum;   // "sha256:..." of the file as it is
  Json json;         // an object
};

/// Reads and checks a file that holds one JSON object.
[[nodiscard]] Result<Document> read_document(const SourceTree& tree, const std::string& path);
/// The same for text that is known already.
[[nodiscard]] Result<Document> make_document(std::string file, std::string text, std::string_view raw,
                                             std::uint64_t bytes_max);

// Members. What is missing or of another type fails with import_invalid, which names the member.
[[nodiscard]] Result<std::string> need_text(const Json& object, const char* key);
[[nodiscard]] Result<std::uint64_t> need_number(const Json& object, const char* key);
[[nodiscard]] Result<const Json*> need_object(const Json& object, const char* key);
/// Null where it is missing, null or no such thing.
[[nodiscard]] const Json* find_member(const Json& object, const char* key);
[[nodiscard]] std::string text_or_empty(const Json& object, const char* key);
[[nodiscard]] std::uint64_t number_or(const Json& object, const char* key, std::uint64_t otherwise);
/// The value as it is written in the text; empty where it is missing.
[[nodiscard]] std::string_view raw_member(std::string_view object, std::string_view key);

/// An id that becomes a run's: invalid_run_id.
[[nodiscard]] Result<void> check_run_name(std::string_view id);
/// A stage's or step's id, which the other program uses as a folder's name: the same characters, invalid_label.
[[nodiscard]] Result<void> check_part_name(std::string_view what, std::string_view id);
/// `1.0.0`, `1.0`, `1`: unsupported_version unless the first number is `major`.
[[nodiscard]] Result<void> check_version(std::string_view version, std::uint64_t major);

/// ISO 8601 as programs write it: with a space for the T, with an offset, or without a zone, which then means UTC.
[[nodiscard]] std::optional<Timestamp> parse_foreign_time(std::string_view text);

enum class Claim : std::uint8_t {
  none,  // there is no checksum
  fits,
  unreadable,  // it is no SHA-256 in hexadecimal digits, so nothing can be compared
  differs,
};
/// Compares a claimed SHA-256 ("sha256:..." or the digits alone) with each of the texts that it may cover.
[[nodiscard]] Claim check_claim(std::string_view claimed, const std::vector<std::string>& candidates);
/// Ways in which programs write a JSON value before they hash it: as it stands there, compact, compact with sorted
/// keys, Python's way with sorted keys, indented.
[[nodiscard]] std::vector<std::string> hashed_forms(std::string_view raw, const Json& value);

[[nodiscard]] std::string sum_text(std::string_view bytes);
[[nodiscard]] ImportProblem problem_of(const std::string& file, const Error& error, std::string item = {});

}  // namespace pawl
