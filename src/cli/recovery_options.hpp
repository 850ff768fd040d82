// Shared by the commands that recover runs.
#pragma once

#include "cli/command.hpp"
#include "engine/recover.hpp"

namespace pawl::cli {

/// Returns `told`, or the setting recovery.fallback_to_previous.
[[nodiscard]] Result<Fallback> fallback_of(const Invocation& invocation, Fallback told);

/// Returns a line that says which checkpoint was used, how, and how long it took.
[[nodiscard]] std::string recovery_text(const RecoveryResult& result);

}  // namespace pawl::cli
