// The lines of an export: docs/formats/export.md.
//
//   {"pawl":"export/1","run":"nightly","uuid":"...","key":{"id":"...","wrapped":"..."}}
//   {"file":"audit/audit_trail.jsonl","bytes":1234}
//   1234 bytes and a newline; the next file; and, last:
//   {"files":7,"bytes":98765,"sha256":"..."}
//
// Invariants: files are sorted by path, and each occurs once; `sha256` covers every byte before the last line. Nothing
// in it depends on when or where it was written, so exporting the same run again produces the same bytes.
#pragma once

#include <optional>
#include <pawl/types.hpp>
#include <string>
#include <string_view>

#include "codec/aead.hpp"

namespace pawl {

/// The key of an encrypted run, encrypted with the export key.
struct ExportKey {
  std::string id = {};       // ID of the export key
  std::string wrapped = {};  // bytes
};

struct ExportHeader {
  std::string run = {};
  Uuid uuid = {};
  std::optional<ExportKey> key = {};  // not set if the run is not encrypted
};

struct ExportEntry {
  std::string file = {};  // relative to the folder of the run
  std::uint64_t bytes = 0;
};

struct ExportEnd {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  // before this line
  std::string sha256 = {};
};

constexpr std::size_t kExportLineMax = 8192;

/// Returns whether the file is an export, judging by its first bytes.
[[nodiscard]] bool is_export(std::string_view begin);

// These return a line with its newline.
[[nodiscard]] std::string encode_export(const ExportHeader& header);
[[nodiscard]] std::string encode_export(const ExportEntry& entry);
[[nodiscard]] std::string encode_export(const ExportEnd& end);
// These read a line without its newline. They fail with export_damaged, or with unsupported_version for a header of
// another format.
[[nodiscard]] Result<ExportHeader> decode_export_header(std::string_view line);
[[nodiscard]] Result<ExportEntry> decode_export_entry(std::string_view line);
[[nodiscard]] Result<ExportEnd> decode_export_end(std::string_view line);

/// Returns whether an export may contain this path: relative, without `.` and `..`, and not a lock, a key or a
/// temporary file.
[[nodiscard]] bool may_be_exported(std::string_view file);

/// Encrypts the key of a run. The result is the same for the same keys.
[[nodiscard]] ExportKey wrap_for_export(const SecretKey& outer, const SecretKey& run_key, const Uuid& run);
/// Decrypts the key of a run. Fails with key_wrong if `outer` is another key.
[[nodiscard]] Result<SecretKey> unwrap_exported(const SecretKey& outer, const ExportKey& key, const Uuid& run);

}  // namespace pawl
