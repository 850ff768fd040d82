// What is said of a run that was erased.
#pragma once

#include <pawl/erase.hpp>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pawl {

/// run_erased: "run 'x' was erased on ... because ...".
[[nodiscard]] Error erased_error(std::string_view run, const Erasure& erasure);
/// run_has_forks, with their names.
[[nodiscard]] Error forks_error(const RunId& run, const std::vector<RunId>& forks);
/// What is still shown of it in lists: what identifies it, and nothing that was said about its work.
[[nodiscard]] RunInfo erased_info(const RunInfo& run, Timestamp at);
/// "user@host".
[[nodiscard]] std::string described_user(std::string_view user, std::string_view host);

}  // namespace pawl
