// How the status of an execution changes, and whether a checkpoint can be recovered.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/types.hpp>
#include <string>

#include "base/result.hpp"

namespace pawl {

inline constexpr std::uint32_t kRetriesMaxDefault = 3;

/// Whether a run may change from one status to the other: active to completed, failed or recovering; failed to
/// recovering; recovering to completed or failed; and every status to itself.
[[nodiscard]] bool may_become(Status from, Status to);

struct Lifecycle {
  Status status = Status::active;
  std::uint32_t retry_count = 0;  // failed recoveries
  bool operator==(const Lifecycle&) const = default;
};

enum class RunOwner : std::uint8_t { dead, alive };

/// What recovery knows about a checkpoint.
struct RecoveryFacts {
  std::string address;                 // for messages: RUN@SEQ
  std::optional<Lifecycle> lifecycle;  // not set: there is no such checkpoint
  RunOwner owner = RunOwner::dead;     // of the run: whether the process that wrote the checkpoint is alive
  std::uint32_t retries_max = kRetriesMaxDefault;
  Sequence missing_parent;  // the first checkpoint missing from the chain; 0: the chain is complete
  std::string handler;      // the handler that resumes it; empty: none is needed
  bool handler_registered = true;
};

/// Each refusal has its own code, checked in this order: checkpoint_not_found, recover_completed, recovery_in_progress
/// (recovering, by a live owner), run_busy (active, with a live owner), retries_exhausted, chain_broken,
/// handler_not_registered. An active or recovering checkpoint whose owner is dead can be recovered: that is what a
/// crash leaves behind.
[[nodiscard]] Result<void> check_recoverable(const RecoveryFacts& facts);

}  // namespace pawl
