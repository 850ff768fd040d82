#include "codec/export_text.hpp"

#include <algorithm>

#include "codec/base64.hpp"
#include "codec/json_check.hpp"
#include "codec/object_members.hpp"
#include "codec/store_keys.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::string_view kMark = R"({"pawl":"export/)";
constexpr std::string_view kFormat1 = "export/1";
constexpr std::size_t kPathBytesMax = 1024;
constexpr std::size_t kNameBytesMax = 255;

std::string place_of(const Uuid& run) { return fmt::format("pawl/2 export key {}", run.text()); }

std::unexpected<Error> unreadable_part(std::string_view what) {
  return fail(Code::export_damaged, "{} can't be read", what);
}

Result<ObjectMembers> members_of(std::string_view line, std::string_view what) {
  if (line.size() > kExportLineMax || !line.starts_with('{') || !line.ends_with('}') ||
      !check_json(line, kExportLineMax))
    return unreadable_part(what);
  auto members = ObjectMembers::parse(line.substr(1, line.size() - 2));
  if (!members) return unreadable_part(what);
  return std::move(*members);
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax || name == "." || name == ".." || name.ends_with(".tmp"))
    return false;
  return std::ranges::none_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

}  // namespace

bool is_export(std::string_view begin) { return begin.starts_with(kMark); }

std::string encode_export(const ExportHeader& header) {
  std::string line =
      fmt::format(R"({{"pawl":"{}","run":{},"uuid":"{}")", kFormat1, escape_json(header.run), header.uuid.text());
  if (header.key)
    line += fmt::format(R"(,"key":{{"id":"{}","wrapped":"{}"}})", header.key->id, to_base64(header.key->wrapped));
  return line + "}\n";
}

std::string encode_export(const ExportEntry& entry) {
  return fmt::format("{{\"file\":{},\"bytes\":{}}}\n", escape_json(entry.file), entry.bytes);
}

std::string encode_export(const ExportEnd& end) {
  return fmt::format("{{\"files\":{},\"bytes\":{},\"sha256\":\"{}\"}}\n", end.files, end.bytes, end.sha256);
}

Result<ExportHeader> decode_export_header(std::string_view line) {
  PAWL_TRY_ASSIGN(const ObjectMembers members, members_of(line, "the first line of the export"));
  const std::string format = members.text("pawl");
  if (!format.starts_with("export/")) return unreadable_part("the first line of the export");
  if (format != kFormat1)
    return fail(Code::unsupported_version, "the export has format '{}'; this version of pawl reads '{}'", format,
                kFormat1);
  const auto uuid = Uuid::parse(members.text("uuid"));
  const auto run = RunId::parse(members.text("run"));
  if (!uuid || !run) return unreadable_part("the first line of the export");
  ExportHeader header{.run = run->text(), .uuid = *uuid, .key = {}};
  const std::string key = members.raw("key");
  if (key.empty()) return header;
  PAWL_TRY_ASSIGN(const ObjectMembers inner, members_of(key, "the key of the export"));
  const auto wrapped = from_base64(inner.text("wrapped"));
  if (!wrapped) return unreadable_part("the key of the export");
  header.key = ExportKey{.id = inner.text("id"), .wrapped = *wrapped};
  return header;
}

Result<ExportEntry> decode_export_entry(std::string_view line) {
  PAWL_TRY_ASSIGN(const ObjectMembers members, members_of(line, "a line of the export"));
  ExportEntry entry{.file = members.text("file"), .bytes = members.number("bytes")};
  if (!may_be_exported(entry.file) || encode_export(entry) != std::string(line) + "\n") {
    return fail(Code::export_damaged, "the export contains the file '{}', which is not allowed", entry.file);
  }
  return entry;
}

Result<ExportEnd> decode_export_end(std::string_view line) {
  PAWL_TRY_ASSIGN(const ObjectMembers members, members_of(line, "the last line of the export"));
  ExportEnd end{.files = members.number("files"), .bytes = members.number("bytes"), .sha256 = members.text("sha256")};
  if (encode_export(end) != std::string(line) + "\n") return unreadable_part("the last line of the export");
  return end;
}

bool may_be_exported(std::string_view file) {
  if (file.empty() || file.size() > kPathBytesMax || file == "lock" || file == "reaper" || file == "key.json")
    return false;
  while (true) {
    const std::size_t end = std::min(file.find('/'), file.size());
    if (!is_name(file.substr(0, end))) return false;
    if (end == file.size()) return true;
    file.remove_prefix(end + 1);
  }
}

ExportKey wrap_for_export(const SecretKey& outer, const SecretKey& run_key, const Uuid& run) {
  // The nonce is derived from both keys, so it is never used for other bytes.
  const std::string nonce = nonce_of(outer, std::string(run_key.bytes()) + place_of(run));
  return {.id = key_id(outer), .wrapped = seal_secret(outer, nonce, run_key.bytes(), place_of(run))};
}

Result<SecretKey> unwrap_exported(const SecretKey& outer, const ExportKey& key, const Uuid& run) {
  if (key_id(outer) != key.id) {
    return fail(Error{Code::key_wrong,
                      fmt::format("wrong key: the export requires key {}, not {}", key.id, key_id(outer)),
                      {},
                      "set PAWL_EXPORT_KEY_FILE to the key file that it was exported with",
                      0});
  }
  PAWL_TRY_ASSIGN(const std::string bytes, open_secret(outer, key.wrapped, place_of(run)));
  if (bytes.size() != SecretKey::kBytes) return fail(Code::export_damaged, "the key in the export has the wrong size");
  return SecretKey::of(bytes);
}

}  // namespace pawl
