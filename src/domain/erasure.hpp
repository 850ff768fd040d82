// Errors and records about erased runs.
#pragma once

#include <pawl/erase.hpp>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pawl {

/// Returns whether the error says that a run was erased or removed.
[[nodiscard]] bool is_gone(Code code);
/// The same, or that there is no such run: what a command about all runs gets for one that disappears meanwhile.
[[nodiscard]] bool is_gone_or_missing(Code code);
/// Returns run_busy for a run whose lock `name` (`step-NAME.lock`) is held by a process.
[[nodiscard]] Error step_running_error(const RunId& run, std::string_view lock_name);

/// Returns run_erased ("run 'x' was erased on ... because ...") or run_removed ("run 'x' was removed on ... by ...").
[[nodiscard]] Error erased_error(std::string_view run, const Erasure& erasure);
/// Returns run_has_forks with the names of the forks.
[[nodiscard]] Error forks_error(const RunId& run, const std::vector<RunId>& forks);
/// Returns what lists still show of an erased run: what identifies it, and nothing about its work.
[[nodiscard]] RunInfo erased_info(const RunInfo& run, Timestamp at);
/// Returns "user@host".
[[nodiscard]] std::string described_user(std::string_view user, std::string_view host);

}  // namespace pawl
