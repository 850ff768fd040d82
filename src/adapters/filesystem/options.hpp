// Location, sizes and limits of the filesystem store. The defaults are those in docs/formats; tests reduce them.
#pragma once

#include <cstdint>
#include <functional>
#include <pawl/types.hpp>
#include <string>

#include "codec/packing.hpp"
#include "codec/store_keys.hpp"
#include "domain/retention.hpp"
#include "domain/retry_policy.hpp"

namespace pawl {

enum class Background : std::uint8_t {
  none,    // publishing happens when the store is closed, or when the journal is full
  thread,  // a thread publishes, another one collects the saves of many threads into batches
};

/// The outer key for a new store, or a replacement for the existing key.
struct NewStoreKey {
  SecretKey outer = {};
  std::optional<Scrypt> scrypt = {};  // if the key is derived from a passphrase
};

struct FilesystemOptions {
  std::string root = {};  // absolute path of the store's folder; empty if it is not on a shared disk
  Background background = Background::none;
  bool catalogue = true;  // false: queries over all runs read all files
  std::uint64_t segment_bytes = 4ULL << 20;
  std::uint64_t segments_max = 4;                        // so a journal has at most 16 MB
  std::uint64_t journals_max = 4;                        // above it, journals of ended processes are merged
  std::uint64_t settle_at_close_bytes = 128ULL << 10;    // a journal of at least this size and number of batches
  std::uint64_t settle_at_close_batches = 100;           // is emptied, because every open reads it
  std::int64_t merge_us = 1'500'000;                     // how long that may take when a store is closed
  std::uint64_t inline_bytes_max = 1ULL << 20;           // a larger payload gets its own file
  std::uint64_t batch_bytes_max = 2ULL << 20;            // saves are collected up to this size
  std::uint64_t differences_floor_bytes = 256ULL << 10;  // maximum total size of differences before a full checkpoint
  std::uint64_t differences_max = 1000;                  // maximum number of differences before a full checkpoint
  std::uint64_t trail_lines_kept = 100;                  // the newest audit entries of a pruned run stay lines
  std::uint64_t trail_lines_archived_min = 256;          // at least this many older ones are archived at once
  std::uint64_t sync_all_from_files = 32;        // minimum number of files for one syncfs instead of single syncs
  Durability durability = Durability::sync;      // default for new runs
  std::uint64_t state_bytes_max = 100ULL << 20;  // maximum size of a state after a patch
  std::int64_t async_window_us = 100'000;
  PackRules packing = {};
  /// Is told, in a sentence, what was done without being asked for. Nothing: nobody is told.
  std::function<void(const std::string& what)> tell = {};
  /// Finds the outer key of an encrypted store: a file, the environment or a passphrase. Called when it is needed.
  std::function<Result<SecretKey>(const Uuid& store, const StoreKeyInfo& info)> find_key = {};
  std::optional<NewStoreKey> new_key = {};  // of a store that its first save creates; nothing: not encrypted
  RetentionSettings retention = {};   // runs are pruned in the background when they grow, and when the disk is full
  RetryPolicy disk_full_policy = {};  // of a save that finds the disk full, if something can be pruned
  std::uint64_t reserve_bytes = 256ULL << 10;  // given up by a prune or an erasure that finds the disk full; 0: none
  std::int64_t prune_at_close_us = 200'000;    // maximum time without background threads
  std::int64_t lock_wait_us = 0;               // how long opening a run waits for another process to release it
  std::int64_t backlog_wait_us = 30'000'000;   // a save waits this long for the publisher before it fails
};

}  // namespace pawl
