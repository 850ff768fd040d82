// The file erased.json, and the last entry of the audit trail of an erased run: docs/formats/erasure.md.
#pragma once

#include <optional>
#include <pawl/erase.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "codec/record_text.hpp"

namespace pawl {

/// The content of erased.json.
struct ErasedRecord {
  std::string run = {};
  Uuid uuid = {};          // all zeros if unknown
  Timestamp created = {};  // of the run
  Timestamp at = {};       // of the erasure
  std::string by = {};
  std::string reason = {};
  std::optional<std::uint64_t> checkpoints = {};  // number of checkpoints before the erasure; none: unknown
  Sequence latest = {};
  bool finished = false;            // all data has been destroyed
  std::uint64_t damaged_entry = 0;  // first entry of the audit trail that was damaged before; 0: none
  // Only for a removed run, whose audit trail is gone as well.
  bool removed = false;
  std::uint64_t entries = 0;  // of its audit trail
  std::string head = {};      // hash of the last of them, hexadecimal
  std::string peaks = {};     // of the Merkle tree over them, largest first, 64 digits each
  // Only if it had been erased before it was removed: the proof of that, which was the end of its audit trail.
  std::optional<Timestamp> erased_at = {};
  std::string erased_by = {};
  std::string erased_reason = {};
};

[[nodiscard]] std::string encode_erased(const ErasedRecord& record);
/// Fails with store_damaged if the checksum is wrong, and with unsupported_version if the format is newer.
[[nodiscard]] Result<ErasedRecord> decode_erased(std::string_view text);

/// Returns the entry `erased` or `removed`, which follows the entry `index - 1` with the hash `previous`, including a
/// newline.
[[nodiscard]] std::string encode_erased_entry(const ErasedRecord& record, std::uint64_t index,
                                              std::string_view previous);

/// Hash of the entry `removed`, which is not stored: it follows from the mark.
[[nodiscard]] std::string removed_entry_hash(const ErasedRecord& record);

[[nodiscard]] Result<Erasure> erasure_of(const ErasedRecord& record, Erasure::Outcome outcome);

}  // namespace pawl
