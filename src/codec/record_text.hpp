// The readable form of what a store keeps: docs/formats/checkpoint.md.
//
// The same text stands in the journal and in the published files: publishing copies, it never re-encodes.
// A checkpoint is one JSON object whose first members and whose tail have a fixed shape, so that reading
// a chain of differences needs no JSON parser:
//
//   {"seq":2,"parent":1,"stored":41,"id":"...","at":"...",...,"diff":[[17,0,"..."]],"sum":"sha256:...","crc":"..."}
//
// Invariants: `sum` covers the bytes before `,"sum"` behind the run's salt; `crc` covers the bytes before
// `,"crc"`, seeded with the run's UUID, so that a line moved to another run is found.
#pragma once

#include <pawl/audit.hpp>
#include <pawl/types.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "base/result.hpp"
#include "codec/store_keys.hpp"
#include "text/text_diff.hpp"

namespace pawl {

/// What stands for good in run.json.
struct RunRecord {
  std::string run;
  Uuid uuid;
  Timestamp created;
  Durability durability = Durability::sync;
  std::string workflow;
  std::string workflow_hash;
  std::string session;
  std::string salt;  // 16 bytes, hexadecimal: keeps short payloads from being guessed by their hash
  std::optional<Uuid> fork_of_run;
  Sequence fork_of_sequence;
  std::string fork_of_name;       // the run's readable id
  std::string fork_of_sum;        // of that checkpoint, "sha256:..."
  std::uint64_t fork_events = 0;  // how many events the fork shares: its own have higher numbers
  bool encrypted = false;         // its key is in key.json
};

/// What a fork's first audit entry vouches for: which run it goes on from, where, and what stood there.
[[nodiscard]] std::string fork_seal(const RunRecord& run);

[[nodiscard]] std::string encode_run(const RunRecord& run);
[[nodiscard]] Result<RunRecord> decode_run(std::string_view text);

/// How a payload stands in its record.
enum class Payload : std::uint8_t {
  state,       // the state's bytes, as they are
  text,        // the state's bytes as a JSON string, because they contain line breaks
  diff,        // [[offset, removed, "inserted"], ...] against the parent's state
  state_blob,  // the name of a file with the state's bytes
  diff_blob,   // the name of a file with the differences
};

/// Where a record will stand: `file` puts a whole state on lines of its own.
enum class Shape : std::uint8_t { line, file };

struct RunSeal {
  std::string_view salt;
  std::uint32_t seed = 0;  // crc32c of the run's UUID
};
[[nodiscard]] std::uint32_t seal_seed(const Uuid& run_uuid);

/// A checkpoint's record as views into its text.
struct RecordView {
  Sequence sequence;
  Sequence parent;
  Payload payload_kind = Payload::state;
  std::string_view payload;
  std::string_view how;       // how the payload, or the blob that it names, is packed; empty: as it is
  std::string_view metadata;  // JSON members without braces, with a trailing comma
  std::string_view sum;       // 64 hexadecimal digits
  std::string_view text;      // all of it, without the newline at the end
  [[nodiscard]] bool whole() const { return payload_kind != Payload::diff && payload_kind != Payload::diff_blob; }
};

struct CheckpointDraft {
  const CheckpointInfo* info = nullptr;  // `checksum`, `stored_bytes` and `whole` are results, not inputs
  std::string_view caller_fingerprint;
  Payload payload_kind = Payload::state;
  std::string_view payload;        // with `how`, and not the name of a blob: base64 as a JSON string
  std::string_view how = {};       // see packing.hpp
  std::string_view metadata = {};  // as it is to stand there: JSON
};

/// The record's text, ending with a newline; `sum` receives its checksum's hexadecimal digits.
[[nodiscard]] std::string encode_checkpoint(const CheckpointDraft& draft, Shape shape, const RunSeal& seal,
                                            std::string& sum);
/// Views into `text` (without its final newline), after checking `crc`.
[[nodiscard]] Result<RecordView> decode_checkpoint(std::string_view text, std::uint32_t seed);
/// Encrypted metadata stays so: `RunCodec` opens it.
[[nodiscard]] Result<CheckpointInfo> decode_info(const RecordView& record);
/// The caller's fingerprint of the body, empty without a caller's id.
[[nodiscard]] std::string decode_fingerprint(const RecordView& record);
/// Whether `sum` is right: fsck's and verify's check, too slow for every read.
[[nodiscard]] bool sum_matches(const RecordView& record, std::string_view salt);

/// `[[offset, removed, "inserted"], ...]`
[[nodiscard]] std::string encode_splices(const std::vector<Splice>& splices);
/// Brings `state` to what it is after the differences in `payload`, in place: an append to a large state
/// costs what it appends.
Result<void> apply_encoded_splices(std::string& state, std::string_view payload);
[[nodiscard]] Result<std::string> decode_text_payload(std::string_view payload);

/// An event as it stands in its line: with `how`, `data` is base64 as a JSON string.
struct StoredEvent {
  Event event;
  std::string how = {};
};
[[nodiscard]] std::string encode_event(const StoredEvent& stored, std::uint32_t seed);
[[nodiscard]] Result<StoredEvent> decode_event(std::string_view line, std::uint32_t seed);

/// The line of an entry of the audit trail, ending with a newline; sets `entry.hash` = SHA-256(previous hash, the line
/// before `,"hash"`). `entry.data` is no part of it.
[[nodiscard]] std::string encode_audit(AuditEntry& entry);
/// Checks that the entry's hash fits its own bytes.
[[nodiscard]] Result<AuditEntry> decode_audit(std::string_view line);
[[nodiscard]] std::string_view first_previous_hash();

constexpr std::uint32_t kFormat = 2;
constexpr std::uint32_t kForkFormat =
    3;  // of a fork's run.json: programs that know no forks must not read it as a whole run

struct StoreRecord {
  std::uint32_t format = kFormat;
  Uuid id = {};
  Timestamp created = {};
  std::optional<StoreKeyInfo> key = {};  // of an encrypted store
};
[[nodiscard]] std::string encode_store(const StoreRecord& store);
/// The same file with another format or key; members that this program does not know stay as they are.
[[nodiscard]] Result<std::string> change_store(std::string_view text, const StoreRecord& store);
[[nodiscard]] Result<StoreRecord> decode_store(std::string_view text);

}  // namespace pawl
