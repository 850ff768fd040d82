// Counts every flush of this process, by Pawl, SQLite or RocksDB.
#pragma once

#include <cstdint>

namespace pawl::bench {

/// Returns the number of fsync, fdatasync, syncfs and sync_file_range calls so far. Thread-safe.
[[nodiscard]] std::uint64_t flush_count();
/// Returns how many bytes were written to files that the same thread then flushed with fdatasync. Thread-safe.
[[nodiscard]] std::uint64_t flushed_bytes();

}  // namespace pawl::bench
