// The access of `pawl verify` and `pawl audit` to the real world.
#pragma once

#include "service/audit_world.hpp"

namespace pawl {

[[nodiscard]] AuditWorld audit_world();

}  // namespace pawl
