// Notes of a run about its forks: runs/P/forks/{uuid of the fork}.json, one small file each (docs/formats/forks.md).
//
// A note and its name are durable before the first record of the fork. Anyone who prunes or erases the run therefore
// knows every fork that needs it. A crash in between leaves a note without a fork, which is harmless.
#pragma once

#include <pawl/types.hpp>
#include <string>
#include <vector>

#include "codec/record_text.hpp"
#include "ports/file_system.hpp"

namespace pawl {

struct ForkNote {
  std::string fork;  // the fork's readable id
  Uuid uuid;         // of the fork
  Sequence at;       // the checkpoint that it was forked from
};

/// `seed` belongs to the run that was forked.
[[nodiscard]] std::string encode_fork_note(const ForkNote& note, std::uint32_t seed);
[[nodiscard]] Result<ForkNote> decode_fork_note(std::string_view text, std::uint32_t seed);

/// Returns the notes of `run`, by sequence. Fails with store_damaged, and names the note, if one is damaged: the
/// checkpoint that it protects is unknown.
[[nodiscard]] Result<std::vector<ForkNote>> load_fork_notes(FileSystem& files, std::string_view run,
                                                            std::uint32_t seed);

/// Whether the name of the run's own folder is known to be durable.
enum class RunFolder : std::uint8_t { unsynced, durable };

/// Writes a note. The note, its name and the names of its parent folders are durable on return.
Result<void> write_fork_note(FileSystem& files, std::string_view run, const ForkNote& note, std::uint32_t seed,
                             RunFolder folder);

/// Writes the note about `fork` if it is missing or damaged. Does nothing if `fork` is not a fork, or if its parent has
/// no run.json or is another run.
Result<void> restore_fork_note(FileSystem& files, const RunRecord& fork);

}  // namespace pawl
