// What commands that recover have in common.
#pragma once

#include "cli/command.hpp"
#include "engine/recover.hpp"

namespace pawl::cli {

/// Where a checkpoint can't be read, what can.
[[nodiscard]] Error with_way_out(Error error, const RunId& run);
/// `told`, or what the settings say (recovery.fallback_to_previous).
[[nodiscard]] Result<Fallback> fallback_of(const Invocation& invocation, Fallback told);

/// One line for people: which checkpoint, how, and how long it took.
[[nodiscard]] std::string recovery_text(const RecoveryResult& result);

}  // namespace pawl::cli
