// Counts every flush of this process, whoever asks for it: Pawl, SQLite and RocksDB alike.
#pragma once

#include <cstdint>

namespace pawl::bench {

/// fsync, fdatasync, syncfs and sync_file_range calls so far. Thread-safe.
[[nodiscard]] std::uint64_t flush_count();

}  // namespace pawl::bench
