// The settings of a store and its user as plain values. `docs/configuration.md` explains each.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/retention.hpp"

namespace pawl {

enum class StateFormat : std::uint8_t { json, msgpack, cbor };
enum class Compression : std::uint8_t {
  none,
  automatic,  // zstd from `compression_from_bytes` on, if it makes the payload smaller
  zstd,       // zstd whenever it makes the payload smaller
};

struct CheckpointSettings {
  bool enabled = true;
  std::string storage_path = {};  // of the store if neither --store nor PAWL_STORE names one; empty: ./.pawl
  StateFormat format = StateFormat::json;
  Compression compression = Compression::automatic;
  std::uint64_t compression_from_bytes = 100'000;
  bool encryption = false;  // for new stores
  RetentionSettings retention = {.keep = {}, .keep_days = {}, .keep_per_stage = {}, .keep_stage_ends = true};
  std::uint64_t size_max_bytes = 100ULL << 20;
  std::uint64_t size_warning_bytes = 500'000;
};

/// Whether crashed runs are resumed when another one is started, and how often.
struct RecoverySettings {
  bool automatic = false;
  std::uint32_t attempts_max = 3;                    // without a completed step or user action in between
  std::chrono::milliseconds within{24 * 3'600'000};  // since the run's last checkpoint
  std::chrono::milliseconds timeout{300'000};        // of one automatic recovery
  bool fallback_to_previous = true;                  // to an older valid checkpoint if the newest is damaged
};

struct PerformanceSettings {
  bool async_writes = false;  // new runs have the durability level `async`
  bool batch_decisions = true;
  std::int32_t compression_level = 3;
  std::uint64_t mapped_from_bytes = 10ULL << 20;  // larger files are read with mmap
};

struct SecretSettings {
  bool mask_patterns = true;               // well-known forms of tokens, in logs, events and audit entries
  std::vector<std::string> patterns = {};  // regular expressions in addition to the built-in forms
  std::vector<std::string> state_keys =
      {};  // keys whose values are masked in states and must be passed again on resume
};

struct EncryptionSettings {
  std::string key_file = {};  // empty: from the environment, or the file that `pawl init --encrypt` created
};

struct AuditSettings {
  bool reads = false;  // record reads of checkpoints by the command line in the audit trail
};

struct Settings {
  CheckpointSettings checkpoint = {};
  RecoverySettings recovery = {};
  PerformanceSettings performance = {};
  SecretSettings secrets = {};
  EncryptionSettings encryption = {};
  AuditSettings audit = {};
  std::chrono::milliseconds lock_wait{0};  // for a run that another process has open; set by each call, not by a file
};

}  // namespace pawl
