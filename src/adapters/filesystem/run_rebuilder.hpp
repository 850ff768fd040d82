// Rebuilds the checkpoints of a run by group: a full checkpoint and the differences after it. Groups are independent,
// so they are rebuilt in parallel.
#pragma once

#include <vector>

#include "adapters/filesystem/chain_reader.hpp"
#include "adapters/filesystem/key_ring.hpp"
#include "ports/store.hpp"

namespace pawl {

/// What a rebuild reads. Must outlive the rebuild; not modified.
struct RebuildSource {
  ChainSource chains;
  const RunRecord& run;
  KeyRing& keys;
  const Result<Restored>* shared = nullptr;  // of a fork: the checkpoint that its first differences are based on
};

/// A base and the highest number that may follow it.
struct GroupRange {
  Sequence base;
  Sequence end;
};

struct FoundDamage {
  Sequence sequence;
  Error error;
};

struct RebuiltGroup {
  std::uint64_t rebuilt = 0;        // checkpoints whose record matches its hash and whose state has its size
  std::optional<Restored> newest;   // the last of them in scope that was not pruned
  std::vector<FoundDamage> damage;  // ascending
};

/// Damage is part of the result. Fails if the operating system can't read, a key is missing or a record has a newer
/// version.
[[nodiscard]] Result<RebuiltGroup> rebuild_group(const RebuildSource& source, GroupRange range,
                                                 const RecoverScope& scope);

/// Rebuilds all `ranges` in order, with several threads if that helps. Only the last `newest` contains its state.
[[nodiscard]] Result<std::vector<RebuiltGroup>> rebuild_groups(const RebuildSource& source,
                                                               const std::vector<GroupRange>& ranges,
                                                               const RecoverScope& scope);

}  // namespace pawl
