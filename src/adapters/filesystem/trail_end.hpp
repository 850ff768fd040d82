// The end of an audit trail, which is kept when the trail is removed.
#pragma once

#include "adapters/filesystem/numbered_lines.hpp"
#include "audit/merkle.hpp"
#include "codec/erased_text.hpp"
#include "ports/file_system.hpp"

namespace pawl {

struct TrailEnd {
  std::uint64_t damaged_entry = 0;  // first entry that is damaged or does not follow the previous one; 0: none
  Sha256 head{};                    // hash of the last entry before it
  MerkleFrontier tree = {};         // over the entries before it
};

/// Reads and checks the whole trail. `journal` contains entries that the file may lack, and may be null. Damage is part
/// of the result. Fails only if the trail can't be read.
[[nodiscard]] Result<TrailEnd> read_trail_end(FileSystem& files, std::string_view run,
                                              const NumberedLines::Records* journal);

enum class RunData : std::uint8_t { exists, is_erased };
/// Fails with audit_damaged if the trail has a damaged entry: removing it would hide the damage.
[[nodiscard]] Result<void> refuse_damaged(const TrailEnd& end, std::string_view run, RunData data);

/// Turns the mark into that of a removed run.
void note_trail_end(const TrailEnd& end, ErasedRecord& record);

}  // namespace pawl
