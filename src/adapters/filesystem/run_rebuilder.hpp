// Rebuilds a run's checkpoints group by group: a whole one and the differences behind it. Groups don't need each other,
// so they are rebuilt side by side.
#pragma once

#include <vector>

#include "adapters/filesystem/chain_reader.hpp"
#include "adapters/filesystem/key_ring.hpp"
#include "ports/store.hpp"

namespace pawl {

/// What a rebuild reads. All of it must outlive the rebuild; nothing of it is changed.
struct RebuildSource {
  ChainSource chains;
  const RunRecord& run;
  KeyRing& keys;
};

/// A base and the last number that may follow it.
struct GroupRange {
  Sequence base;
  Sequence end;
};

struct FoundDamage {
  Sequence sequence;
  Error error;
};

struct RebuiltGroup {
  std::uint64_t rebuilt = 0;        // whose record has its sum and whose state its size
  std::optional<Restored> newest;   // the last of them within the scope that was not pruned
  std::vector<FoundDamage> damage;  // ascending
};

/// Damage is part of the result. Fails where the operating system can't read, a key is missing or a record is of a
/// newer version.
[[nodiscard]] Result<RebuiltGroup> rebuild_group(const RebuildSource& source, GroupRange range,
                                                 const RecoverScope& scope);

/// All of `ranges`, in their order, by several threads where that helps. Only the last `newest` has its state.
[[nodiscard]] Result<std::vector<RebuiltGroup>> rebuild_groups(const RebuildSource& source,
                                                               const std::vector<GroupRange>& ranges,
                                                               const RecoverScope& scope);

}  // namespace pawl
