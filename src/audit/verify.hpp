// Verification of a run: the chain of its audit trail, and everything that the chain vouches for, against stored bytes.
// Needs no key, no lock and no network, writes nothing, and holds one group of checkpoints in memory.
#pragma once

#include <functional>
#include <optional>
#include <pawl/audit.hpp>
#include <string>
#include <vector>

#include "ports/evidence.hpp"

namespace pawl {

/// Where a run's trail ends: what an anchor remembers of it.
struct AuditHead {
  std::string run = {};
  Uuid uuid = {};
  std::uint64_t entries = 0;
  std::string head = {};  // hash of the last entry, hexadecimal
  std::string root = {};  // Merkle root over all of them
  Timestamp at = {};      // of the last entry
  bool operator==(const AuditHead&) const = default;
};

/// The first thing that is wrong.
struct BadEntry {
  Code code{};
  std::uint64_t entry = 0;  // the first that is not what it should be; 0: the run as a whole
  Sequence sequence = {};   // of a checkpoint; 0: none
  std::string file = {};
  std::string what = {};
  std::string hint = {};
  Advice action = Advice::none;  // in addition to the hint
};

struct RunVerdict {
  AuditHead head = {};
  std::uint64_t checkpoints = 0;  // whose bytes were compared
  std::uint64_t pruned = 0;       // of which only the hash is left
  std::uint64_t events = 0;       // whose bytes were compared
  std::uint64_t settled = 0;      // entries that merkle_roots.json covers
  std::vector<std::string> notes = {};
  std::optional<BadEntry> bad = {};
};

/// What an anchor says of the run.
using AnchorPoint = AuditHead;

/// Told now and then how many entries were looked at.
using VerifyProgress = std::function<void(std::uint64_t entries)>;

/// Stops at the first bad entry. Fails only where the machine can't read, or with run_not_found. Reads again where
/// somebody writes meanwhile.
[[nodiscard]] Result<RunVerdict> verify_run(Evidence& evidence, const RunId& run, const AnchorPoint* anchor,
                                            const VerifyProgress& progress);

}  // namespace pawl
