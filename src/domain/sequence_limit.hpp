// The bound for numbers of checkpoints, events and audit entries that are read from a store.
#pragma once

#include <cstdint>

namespace pawl {

/// Higher numbers are damage: no run ever has that many checkpoints. Every JSON reader represents these numbers
/// exactly, and adding one to them does not overflow.
inline constexpr std::uint64_t kSequenceMax = (1ULL << 53U) - 1;

}  // namespace pawl
