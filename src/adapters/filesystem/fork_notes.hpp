// What tells a run of its forks: runs/P/forks/{uuid of the fork}.json, a small file each (docs/formats/forks.md).
//
// A note and its name are durable before the fork's first record. So whoever prunes or erases the run knows every fork
// that needs it; a note without a fork is what a crash in between leaves, and harmless.
#pragma once

#include <pawl/types.hpp>
#include <string>
#include <vector>

#include "ports/file_system.hpp"

namespace pawl {

struct ForkNote {
  std::string fork;  // the fork's readable id
  Uuid uuid;         // the fork's
  Sequence at;       // the checkpoint that it goes on from
};

/// `seed` is that of the run which was forked.
[[nodiscard]] std::string encode_fork_note(const ForkNote& note, std::uint32_t seed);
[[nodiscard]] Result<ForkNote> decode_fork_note(std::string_view text, std::uint32_t seed);

/// The notes of `run`, by sequence. One that is damaged fails with store_damaged, and names it: what it pins is not
/// known.
[[nodiscard]] Result<std::vector<ForkNote>> load_fork_notes(FileSystem& files, std::string_view run,
                                                            std::uint32_t seed);

/// Whether the name of the run's own folder is known to be durable.
enum class RunFolder : std::uint8_t { unsynced, durable };

/// Durable, with its name and those of the folders on the way, when it returns.
Result<void> write_fork_note(FileSystem& files, std::string_view run, const ForkNote& note, std::uint32_t seed,
                             RunFolder folder);

}  // namespace pawl
