// Shared by the commands that recover runs.
#pragma once

#include "cli/command.hpp"
#include "engine/recover.hpp"

namespace pawl::cli {

/// Where a checkpoint can't be read, what can.
[[nodiscard]] Error with_way_out(Error error, const RunId& run);
/// `told`, or the setting recovery.fallback_to_previous.
[[nodiscard]] Result<Fallback> fallback_of(const Invocation& invocation, Fallback told);

/// One line that tells which checkpoint was used, how, and how long it took.
[[nodiscard]] std::string recovery_text(const RecoveryResult& result);

}  // namespace pawl::cli
