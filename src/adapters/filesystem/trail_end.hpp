// Where the audit trail of a run ended: what a removed run's mark keeps of it.
#pragma once

#include "codec/erased_text.hpp"
#include "ports/file_system.hpp"

namespace pawl {

/// Makes `record` that of a removed run, with the number of its entries, the hash of the last one and the peaks of the
/// Merkle tree over them. The whole trail must be in its file. Fails with audit_damaged if an entry does not follow the
/// one before it or does not have its hash: removing the run would hide the damage.
[[nodiscard]] Result<void> note_trail_end(FileSystem& files, ErasedRecord& record);

}  // namespace pawl
