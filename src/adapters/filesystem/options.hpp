// The place, sizes and bounds of the filesystem store. The defaults are what docs/formats say; tests shrink them.
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

/// The outer key of a store that is made, or gets another one.
struct NewStoreKey {
  SecretKey outer = {};
  std::optional<Scrypt> scrypt = {};  // where it comes from a passphrase
};

struct FilesystemOptions {
  std::string root = {};  // absolute path of the store's folder; empty: it is on no disk that others can see
  Background background = Background::none;
  std::uint64_t segment_bytes = 4ULL << 20;
  std::uint64_t segments_max = 4;                        // so a journal has at most 16 MB
  std::uint64_t inline_bytes_max = 1ULL << 20;           // a larger payload becomes a file of its own
  std::uint64_t batch_bytes_max = 2ULL << 20;            // saves are collected up to this size
  std::uint64_t differences_floor_bytes = 256ULL << 10;  // differences may grow to this before a whole one comes
  std::uint64_t differences_max = 1000;                  // or to this number
  std::uint64_t sync_all_from_files = 32;                // from so many files on, one syncfs replaces their syncs
  Durability durability = Durability::sync;              // of new runs for which nothing else was said
  std::uint64_t state_bytes_max = 100ULL << 20;          // of what a patch makes of a state
  std::int64_t async_window_us = 100'000;
  PackRules packing = {};
  /// Finds the outer key of an encrypted store: a file, the environment, a passphrase. Called when it is needed.
  std::function<Result<SecretKey>(const Uuid& store, const StoreKeyInfo& info)> find_key = {};
  std::optional<NewStoreKey> new_key = {};  // of a store that is made by its first save; nothing: it is not encrypted
  RetentionSettings retention = {};   // runs are pruned in the background when they grow, and when the disk is full
  RetryPolicy disk_full_policy = {};  // of a save that finds the disk full, where there is something to prune
  std::int64_t prune_at_close_us = 200'000;   // without a background: so long at most
  std::int64_t lock_wait_us = 0;              // how long opening a run waits for another process to let go of it
  std::int64_t backlog_wait_us = 30'000'000;  // a save waits this long for the publisher before it fails
};

}  // namespace pawl
