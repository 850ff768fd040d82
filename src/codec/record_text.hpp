// The text of records: docs/formats/checkpoint.md.
//
// The journal and the published files contain the same text; publishing copies it without encoding it again. A
// checkpoint is one JSON object. Its first members and its end have a fixed form, so that a chain of differences can be
// read without a JSON parser:
//
//   {"seq":2,"parent":1,"stored":41,"id":"...","at":"...",...,"diff":[[17,0,"..."]],"sum":"sha256:...","crc":"..."}
//
// Invariants: `sum` covers the salt of the run and the bytes before `,"sum"`. `crc` covers the bytes before `,"crc"`,
// seeded with the UUID of the run, so that a line that was moved to another run is detected.
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

/// The content of run.json, which never changes.
struct RunRecord {
  std::string run;
  Uuid uuid;
  Timestamp created;
  Durability durability = Durability::sync;
  std::string workflow;
  std::string workflow_hash;
  std::string session;
  std::string salt;  // 16 bytes, hexadecimal; prevents guessing short payloads from their hash
  std::optional<Uuid> fork_of_run;
  Sequence fork_of_sequence;
  std::string fork_of_name;       // the readable id of the parent run
  std::string fork_of_sum;        // of that checkpoint, "sha256:..."
  std::uint64_t fork_events = 0;  // number of events that the fork shares; its own have higher numbers
  bool encrypted = false;         // its key is in key.json
};

/// What the first audit entry of a fork proves: its parent run, the checkpoint, and the content of that checkpoint.
[[nodiscard]] std::string fork_seal(const RunRecord& run);

[[nodiscard]] std::string encode_run(const RunRecord& run);
[[nodiscard]] Result<RunRecord> decode_run(std::string_view text);

/// How a record contains its payload.
enum class Payload : std::uint8_t {
  state,       // the state, unchanged
  text,        // the state as a JSON string, because it contains line breaks
  diff,        // [[offset, removed, "inserted"], ...] against the parent's state
  state_blob,  // the name of a file with the state's bytes
  diff_blob,   // the name of a file with the differences
};

/// Where a record is written. `file` puts a whole state on separate lines.
enum class Shape : std::uint8_t { line, file };

struct RunSeal {
  std::string_view salt;
  std::uint32_t seed = 0;  // crc32c of the run's UUID
};
[[nodiscard]] std::uint32_t seal_seed(const Uuid& run_uuid);

/// The record of a checkpoint as views into its text.
struct RecordView {
  Sequence sequence;
  Sequence parent;
  Payload payload_kind = Payload::state;
  std::string_view payload;
  std::string_view how;       // how the payload, or the blob that it names, is packed; empty if unchanged
  std::string_view metadata;  // JSON members without braces, with a trailing comma
  std::string_view sum;       // 64 hexadecimal digits
  std::string_view text;      // the whole record without its newline
  [[nodiscard]] bool whole() const { return payload_kind != Payload::diff && payload_kind != Payload::diff_blob; }
};

struct CheckpointDraft {
  const CheckpointInfo* info = nullptr;  // `checksum`, `stored_bytes` and `whole` are results, not inputs
  std::string_view caller_fingerprint;
  Payload payload_kind = Payload::state;
  std::string_view payload;        // base64 as a JSON string if `how` is set and it is not the name of a blob
  std::string_view how = {};       // see packing.hpp
  std::string_view metadata = {};  // JSON, as it will be written
};

/// Returns the text of the record with its newline. `sum` receives the hexadecimal digits of its checksum.
[[nodiscard]] std::string encode_checkpoint(const CheckpointDraft& draft, Shape shape, const RunSeal& seal,
                                            std::string& sum);
/// Returns views into `text` (without its newline), after checking `crc`.
[[nodiscard]] Result<RecordView> decode_checkpoint(std::string_view text, std::uint32_t seed);
/// Returns the additional labels in a record. Returns nothing if the text is not what encode_checkpoint writes.
[[nodiscard]] std::optional<std::vector<SaveLabel>> decode_labels(std::string_view json);
/// Does not decrypt metadata; `RunCodec` does.
[[nodiscard]] Result<CheckpointInfo> decode_info(const RecordView& record);
/// Returns the fingerprint of the body, or an empty text if there is no caller ID.
[[nodiscard]] std::string decode_fingerprint(const RecordView& record);
/// Returns whether `sum` is right. Used by fsck and verify; too slow for every read.
[[nodiscard]] bool sum_matches(const RecordView& record, std::string_view salt);

/// Returns `[[offset, removed, "inserted"], ...]`.
[[nodiscard]] std::string encode_splices(std::span<const Splice> splices);
/// Applies the differences in `payload` to `state`, in place. Appending to a large state costs only what is appended.
Result<void> apply_encoded_splices(std::string& state, std::string_view payload);
[[nodiscard]] Result<std::string> decode_text_payload(std::string_view payload);

/// An event as it is stored in its line. If `how` is set, `data` is base64 as a JSON string.
struct StoredEvent {
  Event event;
  std::string how = {};
};
[[nodiscard]] std::string encode_event(const StoredEvent& stored, std::uint32_t seed);
[[nodiscard]] Result<StoredEvent> decode_event(std::string_view line, std::uint32_t seed);

/// Returns the line of an entry of the audit trail with its newline, and sets `entry.hash` to SHA-256(previous hash,
/// the line before `,"hash"`). `entry.data` is not part of the line.
[[nodiscard]] std::string encode_audit(AuditEntry& entry);
/// Checks that the hash of the entry matches its bytes.
[[nodiscard]] Result<AuditEntry> decode_audit(std::string_view line);
[[nodiscard]] std::string_view first_previous_hash();

constexpr std::uint32_t kFormat = 2;
constexpr std::uint32_t kForkFormat =
    3;  // for the run.json of a fork: programs without support for forks must refuse it

struct StoreRecord {
  std::uint32_t format = kFormat;
  Uuid id = {};
  Timestamp created = {};
  std::optional<StoreKeyInfo> key = {};    // of an encrypted store
  std::optional<std::uint64_t> keep = {};  // checkpoints of a run, if no setting says otherwise; nothing: all
};
[[nodiscard]] std::string encode_store(const StoreRecord& store);
/// Returns the same file with another format or key. Unknown members stay unchanged.
[[nodiscard]] Result<std::string> change_store(std::string_view text, const StoreRecord& store);
[[nodiscard]] Result<StoreRecord> decode_store(std::string_view text);

}  // namespace pawl
