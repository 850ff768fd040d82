// The end of a run's audit trail, as kept in the mark of a removed run.
#pragma once

#include "codec/erased_text.hpp"
#include "ports/file_system.hpp"

namespace pawl {

/// Turns `record` into that of a removed run: sets the number of audit entries, the hash of the last one and the peaks
/// of their Merkle tree. The complete trail must be in its file. Fails with audit_damaged if an entry does not follow
/// the previous one or does not match its hash, because removing the run would hide the damage.
[[nodiscard]] Result<void> note_trail_end(FileSystem& files, ErasedRecord& record);

}  // namespace pawl
