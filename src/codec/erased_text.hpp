// The mark of an erased run, and the last entry of its audit trail: docs/formats/erasure.md.
#pragma once

#include <pawl/erase.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "codec/record_text.hpp"

namespace pawl {

/// What erased.json says.
struct ErasedRecord {
  std::string run = {};
  Uuid uuid = {};
  Timestamp created = {};  // of the run
  Timestamp at = {};       // of the erasure
  std::string by = {};
  std::string reason = {};
  std::uint64_t checkpoints = 0;  // that were there
  Sequence latest = {};
  bool finished = false;  // nothing is left
};

[[nodiscard]] std::string encode_erased(const ErasedRecord& record);
/// store_damaged where it has not its checksum, unsupported_version where it is newer.
[[nodiscard]] Result<ErasedRecord> decode_erased(std::string_view text);

/// The entry `erased` behind the one with `index - 1` and the hash `previous`, ending with a newline.
[[nodiscard]] std::string encode_erased_entry(const ErasedRecord& record, std::uint64_t index,
                                              std::string_view previous);

[[nodiscard]] Result<Erasure> erasure_of(const ErasedRecord& record, Erasure::Outcome outcome);

}  // namespace pawl
