// Verifies a run: the hash chain of its audit trail, and all stored data that the chain covers.
// Needs no key, lock or network, writes nothing, and keeps one group of checkpoints in memory.
#pragma once

#include <functional>
#include <optional>
#include <pawl/audit.hpp>
#include <string>
#include <vector>

#include "ports/evidence.hpp"

namespace pawl {

/// The end of a run's audit trail, as stored in an anchor.
struct AuditHead {
  std::string run = {};
  Uuid uuid = {};
  std::uint64_t entries = 0;
  std::string head = {};  // hash of the last entry, hexadecimal
  std::string root = {};  // Merkle root over all entries
  Timestamp at = {};      // of the last entry
  bool operator==(const AuditHead&) const = default;
};

/// The first error.
struct BadEntry {
  Code code{};
  std::uint64_t entry = 0;  // the first wrong entry; 0: the run as a whole
  Sequence sequence = {};   // of a checkpoint; 0: none
  std::string file = {};
  std::string what = {};
  std::string hint = {};
  Advice action = Advice::none;  // in addition to the hint
};

struct RunVerdict {
  AuditHead head = {};
  std::uint64_t checkpoints = 0;  // compared byte for byte
  std::uint64_t pruned = 0;       // only their hashes are left
  std::uint64_t events = 0;       // compared byte for byte
  std::uint64_t settled = 0;      // entries that merkle_roots.json covers
  std::vector<std::string> notes = {};
  std::optional<BadEntry> bad = {};
  /// True for a removed run: only its tombstone was examined.
  struct Removal {
    Timestamp at = {};
    std::string by = {};
    std::string reason = {};
  };
  std::optional<Removal> removed = {};
};

/// The entry of an anchor for the run.
using AnchorPoint = AuditHead;

/// Called from time to time with the number of checked entries.
using VerifyProgress = std::function<void(std::uint64_t entries)>;

/// Stops at the first bad entry. Fails only with read errors or run_not_found. Reads again if the run is written to in
/// the meantime.
[[nodiscard]] Result<RunVerdict> verify_run(Evidence& evidence, const RunId& run, const AnchorPoint* anchor,
                                            const VerifyProgress& progress);

}  // namespace pawl
