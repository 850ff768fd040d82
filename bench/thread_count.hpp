// Counts every thread that this process starts.
#pragma once

#include <cstdint>

namespace pawl::bench {

/// Returns the number of pthread_create calls so far. Thread-safe.
[[nodiscard]] std::uint64_t thread_count();

}  // namespace pawl::bench
