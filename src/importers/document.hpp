// Reads JSON files of other programs, with error messages that name the member.
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
  std::string text;  // decompressed
  std::string sum;   // "sha256:..." of the file as stored
  Json json;         // an object
};

/// Reads and checks a file that contains one JSON object.
[[nodiscard]] Result<Document> read_document(const SourceTree& tree, const std::string& path);
/// The same for text that was already read.
[[nodiscard]] Result<Document> make_document(std::string file, std::string text, std::string_view raw,
                                             std::uint64_t bytes_max);

// Members. The need_ functions fail with import_invalid, which names the member, if it is missing or has another type.
[[nodiscard]] Result<std::string> need_text(const Json& object, const char* key);
[[nodiscard]] Result<std::uint64_t> need_number(const Json& object, const char* key);
[[nodiscard]] Result<const Json*> need_object(const Json& object, const char* key);
/// Returns null if the member is missing or null, or if `object` is not an object.
[[nodiscard]] const Json* find_member(const Json& object, const char* key);
[[nodiscard]] std::string text_or_empty(const Json& object, const char* key);
[[nodiscard]] std::uint64_t number_or(const Json& object, const char* key, std::uint64_t otherwise);
/// Returns the value exactly as it is written in the text; empty if it is missing.
[[nodiscard]] std::string_view raw_member(std::string_view object, std::string_view key);

/// Fails with invalid_run_id if the id can't be a run's.
[[nodiscard]] Result<void> check_run_name(std::string_view id);
/// Checks the id of a stage or step, which the other program uses as a folder name. Fails with invalid_label.
[[nodiscard]] Result<void> check_part_name(std::string_view what, std::string_view id);
/// Takes `1.0.0`, `1.0` or `1`. Fails with unsupported_version unless the first number is `major`.
[[nodiscard]] Result<void> check_version(std::string_view version, std::uint64_t major);

/// Parses ISO 8601 as programs write it: with a space instead of the T, with an offset, or without a zone (UTC).
[[nodiscard]] std::optional<Timestamp> parse_foreign_time(std::string_view text);

enum class Claim : std::uint8_t {
  none,  // there is no checksum
  fits,
  unreadable,  // not a SHA-256 in hexadecimal digits, so nothing can be compared
  differs,
};
/// Compares a claimed SHA-256 ("sha256:..." or the digits alone) with each of the texts that it may cover.
[[nodiscard]] Claim check_claim(std::string_view claimed, const std::vector<std::string>& candidates);
/// Returns the texts that programs hash for a JSON value: as written, compact, compact with sorted keys, Python's
/// default with sorted keys, and indented.
[[nodiscard]] std::vector<std::string> hashed_forms(std::string_view raw, const Json& value);

[[nodiscard]] std::string sum_text(std::string_view bytes);
[[nodiscard]] ImportProblem problem_of(const std::string& file, const Error& error, std::string item = {});

}  // namespace pawl
