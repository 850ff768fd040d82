// Paths in the folder of a store.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <pawl/types.hpp>
#include <string>

#include "domain/sequence_limit.hpp"
#include "ports/file_system.hpp"

namespace pawl {

/// How long to wait for a lock of the store, and the interval between attempts.
inline constexpr std::int64_t kLockWaitUs = 5'000'000;
inline constexpr std::int64_t kLockStepUs = 1'000;

}  // namespace pawl

namespace pawl::layout {

constexpr std::string_view kStoreFile = "store.json";
constexpr std::string_view kJournals = "journal";
constexpr std::string_view kRuns = "runs";
constexpr std::string_view kRecovery = "recovery";
constexpr std::string_view kErasing = "erasing";
constexpr std::string_view kArriving = "runs/.import";  // names of runs never start with a dot
constexpr std::string_view kArrivingLock = "import.lock";
constexpr std::string_view kFailures = "recovery/failures.jsonl";
constexpr std::string_view kCatalogue = "catalogue.db";
constexpr std::string_view kReserve = "reserve";  // space that is given up when the disk is full
constexpr std::string_view kLimits = "limits";    // may be deleted while no run is executed
constexpr std::string_view kCache = "cache";      // may be deleted at any time
constexpr std::string_view kClockNote = "clock.json";
constexpr std::string_view kCatalogueLock = "catalogue.lock";

// Bytes of a lock file.
constexpr std::uint64_t kWriterByte = 0;
constexpr std::uint64_t kPublisherByte = 1;
constexpr std::uint64_t kBlobByte = 2;    // a record that refers to a blob is being written, or blobs are being removed
constexpr std::uint64_t kPrunerByte = 3;  // the run is being pruned
constexpr std::uint64_t kSealByte = 5;    // the writer is ending the run and reads its inbox for the last time
constexpr std::uint64_t kClosingByte = 4;  // the pruner holds the writer's byte for a moment
constexpr std::uint64_t kClaimByte = 6;    // somebody waits for the writer's byte; shared

constexpr std::string_view kMergeLock = "journal/merge.lock";  // held by the process that merges journals
inline std::string journal(std::uint64_t number) { return fmt::format("journal/{}", number); }
inline std::string journal_owner(std::uint64_t number) { return fmt::format("journal/{}/owner", number); }
/// Says that the process that owns the journal should overwrite what it has settled: an empty file.
inline std::string journal_wipe(std::uint64_t number) { return fmt::format("journal/{}/wipe", number); }
inline std::string segment(std::uint64_t number, std::uint64_t slot) {
  return fmt::format("journal/{}/{:08}.log", number, slot);
}

inline std::string run(std::string_view id) { return fmt::format("runs/{}", id); }
inline std::string run_file(std::string_view id) { return fmt::format("runs/{}/run.json", id); }
inline std::string run_key(std::string_view id) { return fmt::format("runs/{}/key.json", id); }
inline std::string erased(std::string_view id) { return fmt::format("runs/{}/erased.json", id); }
/// Marks an erasure as unfinished: an empty file.
inline std::string erasing(std::string_view id) { return fmt::format("erasing/{}", id); }
/// Says that whoever closes the run should release the data of pruned checkpoints: an empty file.
inline std::string prune_at_close(std::string_view id) { return fmt::format("runs/{}/prune", id); }
inline std::string run_lock(std::string_view id) { return fmt::format("runs/{}/lock", id); }
inline std::string checkpoints(std::string_view id) { return fmt::format("runs/{}/checkpoints", id); }
inline std::string full(std::string_view id, Sequence base) {
  return fmt::format("runs/{}/checkpoints/checkpoint_{:05}.json", id, base.value);
}
inline std::string differences(std::string_view id, Sequence base) {
  return fmt::format("runs/{}/checkpoints/checkpoint_{:05}.jsonl", id, base.value);
}
/// A checkpoint that pruning kept from a removed group.
inline std::string kept(std::string_view id, Sequence sequence) {
  return fmt::format("runs/{}/checkpoints/kept_{:05}.json", id, sequence.value);
}
/// The differences after a kept checkpoint.
inline std::string kept_differences(std::string_view id, Sequence sequence) {
  return fmt::format("runs/{}/checkpoints/kept_{:05}.jsonl", id, sequence.value);
}
inline std::string pruned(std::string_view id) { return fmt::format("runs/{}/checkpoints/pruned.json", id); }
/// The list of checkpoints that a fallback has set aside.
inline std::string aside(std::string_view id) { return fmt::format("runs/{}/checkpoints/aside.json", id); }
inline std::string pruned_callers(std::string_view id) {
  return fmt::format("runs/{}/checkpoints/pruned_callers.jsonl", id);
}
inline std::string audit_folder(std::string_view id) { return fmt::format("runs/{}/audit", id); }
inline std::string audit(std::string_view id) { return fmt::format("runs/{}/audit/audit_trail.jsonl", id); }
inline std::string roots(std::string_view id) { return fmt::format("runs/{}/audit/merkle_roots.json", id); }
inline std::string events_folder(std::string_view id) { return fmt::format("runs/{}/events", id); }
inline std::string events(std::string_view id, std::string_view day) {
  return fmt::format("runs/{}/events/events_{}.jsonl", id, day);
}
inline std::string blobs(std::string_view id) { return fmt::format("runs/{}/blobs", id); }
inline std::string blob(std::string_view id, std::string_view name) {
  return fmt::format("runs/{}/blobs/{}", id, name);
}

inline std::string limit(std::string_view name) { return fmt::format("limits/{}", name); }
/// `key` is a hash as 64 hexadecimal digits.
inline std::string cache_folder(std::string_view key) { return fmt::format("cache/{}", key.substr(0, 2)); }
inline std::string cache_entry(std::string_view key) {
  return fmt::format("cache/{}/{}.json", key.substr(0, 2), key.substr(2));
}

inline std::string inbox(std::string_view id) { return fmt::format("runs/{}/inbox", id); }
inline std::string message(std::string_view id, std::string_view message_id) {
  return fmt::format("runs/{}/inbox/{}.json", id, message_id);
}
/// The notes of a run about its forks, one file each.
inline std::string forks(std::string_view id) { return fmt::format("runs/{}/forks", id); }
inline std::string fork(std::string_view id, std::string_view fork_uuid) {
  return fmt::format("runs/{}/forks/{}.json", id, fork_uuid);
}
inline std::string logs(std::string_view id) { return fmt::format("runs/{}/logs", id); }

}  // namespace pawl::layout

namespace pawl {

/// Returns the sequence in a file name between `prefix` and `suffix`, or nothing for another kind of file.
[[nodiscard]] inline std::optional<Sequence> sequence_in_file_name(std::string_view name, std::string_view prefix,
                                                                   std::string_view suffix) {
  if (name.size() < prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix))
    return std::nullopt;
  name = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  Sequence sequence;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), sequence.value);
  if (problem != std::errc{} || end != name.data() + name.size() || !sequence) return std::nullopt;
  if (sequence.value > kSequenceMax) return std::nullopt;
  return sequence;
}

/// Returns whether this is the file of the events of one day: events_2026-01-11.jsonl.
[[nodiscard]] inline bool is_event_file(const FolderEntry& entry) {
  constexpr std::string_view kForm = "events_0000-00-00.jsonl";
  if (entry.is_folder || entry.name.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const char found = entry.name[i];
    if (kForm[i] == '0' ? found < '0' || found > '9' : found != kForm[i]) return false;
  }
  return true;
}

/// Returns the sequence in the name of a full checkpoint's file.
[[nodiscard]] inline std::optional<Sequence> base_in_file_name(std::string_view name) {
  return sequence_in_file_name(name, "checkpoint_", ".json");
}

}  // namespace pawl
