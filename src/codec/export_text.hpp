// The lines of an export: docs/formats/export.md.
//
//   {"pawl":"export/1","run":"nightly","uuid":"...","key":{"id":"...","wrapped":"..."}}
//   {"file":"audit/audit_trail.jsonl","bytes":1234}
//   1234 bytes and a newline; the next file; and, last:
//   {"files":7,"bytes":98765,"sha256":"..."}
//
// Invariants: files are sorted by their path and stand there once; `sha256` covers every byte before the last line.
// Nothing in it depends on when or where it was written, so the same run becomes the same file.
#pragma once

#include <optional>
#include <pawl/types.hpp>
#include <string>
#include <string_view>

#include "codec/aead.hpp"

namespace pawl {

/// The key of an encrypted run, wrapped for the journey.
struct ExportKey {
  std::string id = {};       // of the key that wraps it
  std::string wrapped = {};  // bytes
};

struct ExportHeader {
  std::string run = {};
  Uuid uuid = {};
  std::optional<ExportKey> key = {};  // nothing: the run is not encrypted
};

struct ExportEntry {
  std::string file = {};  // below the run's folder
  std::uint64_t bytes = 0;
};

struct ExportEnd {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  // before this line
  std::string sha256 = {};
};

constexpr std::size_t kExportLineMax = 8192;

/// By its first bytes.
[[nodiscard]] bool is_export(std::string_view begin);

// With a newline at the end.
[[nodiscard]] std::string encode_export(const ExportHeader& header);
[[nodiscard]] std::string encode_export(const ExportEntry& entry);
[[nodiscard]] std::string encode_export(const ExportEnd& end);
// Without it. export_damaged, or unsupported_version for a header of another format.
[[nodiscard]] Result<ExportHeader> decode_export_header(std::string_view line);
[[nodiscard]] Result<ExportEntry> decode_export_entry(std::string_view line);
[[nodiscard]] Result<ExportEnd> decode_export_end(std::string_view line);

/// Whether a path may stand in an export: relative, without `.` and `..`, no lock, no key, nothing on its way.
[[nodiscard]] bool may_be_exported(std::string_view file);

/// Always the same for the same keys.
[[nodiscard]] ExportKey wrap_for_export(const SecretKey& outer, const SecretKey& run_key, const Uuid& run);
/// key_wrong where `outer` is another key.
[[nodiscard]] Result<SecretKey> unwrap_exported(const SecretKey& outer, const ExportKey& key, const Uuid& run);

}  // namespace pawl
