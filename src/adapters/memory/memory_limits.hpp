// Shared limits in memory: the reference for tests, and for runs without a store.
#pragma once

#include <memory>

#include "ports/limits.hpp"

namespace pawl {

struct MemoryLimitsData;

/// What several handles share, as they would share a store.
[[nodiscard]] std::shared_ptr<MemoryLimitsData> make_memory_limits_data();
[[nodiscard]] std::unique_ptr<Limits> make_memory_limits(std::shared_ptr<MemoryLimitsData> data);

}  // namespace pawl
