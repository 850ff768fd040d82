// What `pawl verify` and `pawl audit` reach of the real world.
#pragma once

#include "cli/audit_world.hpp"

namespace pawl {

[[nodiscard]] cli::AuditWorld audit_world();

}  // namespace pawl
