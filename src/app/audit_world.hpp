// The access of `pawl verify` and `pawl audit` to the real world.
#pragma once

#include "cli/audit_world.hpp"

namespace pawl {

[[nodiscard]] cli::AuditWorld audit_world();

}  // namespace pawl
