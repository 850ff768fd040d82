#include "importers/document.hpp"

#include <algorithm>
#include <charconv>

#include "base/hash.hpp"
#include "codec/json_check.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

std::unexpected<Error> wrong(const char* key, std::string_view what) {
  return fail(Code::import_invalid, "member '{}' {}", key, what);
}

/// Writes like Python's json.dumps(value, sort_keys=True): a space after ':' and ','.
void append_python(std::string& out, const nlohmann::json& value) {
  if (value.is_object()) {
    out += '{';
    const char* separator = "";
    for (const auto& [key, inner] : value.items()) {
      out += separator + nlohmann::json(key).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + ": ";
      append_python(out, inner);
      separator = ", ";
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    const char* separator = "";
    for (const auto& inner : value) {
      out += separator;
      append_python(out, inner);
      separator = ", ";
    }
    out += ']';
  } else {
    out += value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  }
}

bool is_hash(std::string_view digits) {
  return digits.size() == 64 &&
         std::ranges::all_of(digits, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string sum_text(std::string_view bytes) { return "sha256:" + to_hex(sha256(bytes)); }

ImportProblem problem_of(const std::string& file, const Error& error, std::string item) {
  std::string reason = error.message;
  if (!error.where.empty() && error.where != file) reason += fmt::format(" ({})", error.where);
  return {error.code, file, std::move(item), std::move(reason)};
}

Result<Document> make_document(std::string file, std::string text, std::string_view raw, std::uint64_t bytes_max) {
  PAWL_TRY(check_json(text, bytes_max));
  Document document{.file = std::move(file), .text = std::move(text), .sum = sum_text(raw), .json = {}};
  document.json = Json::parse(document.text, nullptr, false);
  if (!document.json.is_object()) return fail(Code::import_invalid, "the file is not a JSON object");
  return document;
}

Result<Document> read_document(const SourceTree& tree, const std::string& path) {
  PAWL_TRY_ASSIGN(std::string raw, tree.read(path));
  const std::string sum = sum_text(raw);
  PAWL_TRY_ASSIGN(std::string text, tree.unpacked(std::move(raw)));
  PAWL_TRY_ASSIGN(Document document, make_document(path, std::move(text), {}, tree.limits().file_bytes_max));
  document.sum = sum;
  return document;
}

const Json* find_member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Result<std::string> need_text(const Json& object, const char* key) {
  const Json* member = find_member(object, key);
  if (member == nullptr || !member->is_string()) return wrong(key, "is missing or not a string");
  return member->get<std::string>();
}

Result<std::uint64_t> need_number(const Json& object, const char* key) {
  const Json* member = find_member(object, key);
  if (member == nullptr || !member->is_number_unsigned()) return wrong(key, "is missing or not a non-negative integer");
  return member->get<std::uint64_t>();
}

Result<const Json*> need_object(const Json& object, const char* key) {
  const Json* member = find_member(object, key);
  if (member == nullptr || !member->is_object()) return wrong(key, "is missing or not an object");
  return member;
}

std::string text_or_empty(const Json& object, const char* key) {
  const Json* member = find_member(object, key);
  return member != nullptr && member->is_string() ? member->get<std::string>() : std::string();
}

std::uint64_t number_or(const Json& object, const char* key, std::uint64_t otherwise) {
  const Json* member = find_member(object, key);
  return member != nullptr && member->is_number_unsigned() ? member->get<std::uint64_t>() : otherwise;
}

std::string_view raw_member(std::string_view object, std::string_view key) {
  return find_json_member(trim_json(object), key).value_or(std::string_view());
}

Result<void> check_run_name(std::string_view id) {
  PAWL_TRY(RunId::parse(id));
  return {};
}

Result<void> check_part_name(std::string_view what, std::string_view id) {
  if (RunId::parse(id)) return {};
  return fail(Code::invalid_label, "invalid {} name '{}'", what, id);
}

Result<void> check_version(std::string_view version, std::uint64_t major) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(version.data(), version.data() + version.size(), number);
  const bool whole = end == version.data() + version.size() || *end == '.';
  if (problem != std::errc{} || !whole || number != major) {
    return fail(Code::unsupported_version, "unsupported version '{}'; this program reads version {}", version, major);
  }
  return {};
}

std::optional<Timestamp> parse_foreign_time(std::string_view text) {
  if (text.size() < 19 || text.size() > 40) return std::nullopt;
  std::string normal(text);
  if (normal[10] == ' ') normal[10] = 'T';
  std::int64_t offset_minutes = 0;
  const std::size_t sign = normal.find_first_of("+-", 19);
  if (sign != std::string::npos) {
    std::string digits = normal.substr(sign + 1);
    std::erase(digits, ':');
    const bool all_digits = std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    if (!all_digits || (digits.size() != 2 && digits.size() != 4)) return std::nullopt;
    offset_minutes = (digits[0] - '0') * 600 + (digits[1] - '0') * 60;
    if (digits.size() == 4) offset_minutes += (digits[2] - '0') * 10 + (digits[3] - '0');
    if (normal[sign] == '-') offset_minutes = -offset_minutes;
    normal.resize(sign);
  }
  if (!normal.ends_with('Z')) normal += 'Z';
  constexpr std::size_t kMicroseconds = 26;  // "2026-01-11T14:30:02.000002"
  if (normal.size() > kMicroseconds + 1 && normal[19] == '.')
    normal.erase(kMicroseconds, normal.size() - 1 - kMicroseconds);
  const auto parsed = Timestamp::parse(normal);
  if (!parsed) return std::nullopt;
  return Timestamp{parsed->us - offset_minutes * 60'000'000};
}

Claim check_claim(std::string_view claimed, const std::vector<std::string>& candidates) {
  if (claimed.empty()) return Claim::none;
  if (claimed.starts_with("sha256:")) claimed.remove_prefix(7);
  if (!is_hash(claimed)) return Claim::unreadable;
  for (const std::string& candidate : candidates) {
    if (to_hex(sha256(candidate)) == claimed) return Claim::fits;
  }
  return Claim::differs;
}

std::vector<std::string> hashed_forms(std::string_view raw, const Json& value) {
  const nlohmann::json sorted(value);
  std::string python;
  append_python(python, sorted);
  const auto replace = Json::error_handler_t::replace;
  return {std::string(raw),
          compact(value),
          sorted.dump(-1, ' ', false, replace),
          std::move(python),
          value.dump(2, ' ', false, replace),
          sorted.dump(2, ' ', false, replace)};
}

}  // namespace pawl
