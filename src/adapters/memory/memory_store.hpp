// The reference store: keeps every state in memory, and is as simple as the contract allows. Tests compare other
// adapters with it.
#pragma once

#include "ports/environment.hpp"
#include "ports/store.hpp"

namespace pawl {

/// The data of a memory store. Handles that share it see each other's saves, like processes that share a folder.
struct MemoryDisk;
[[nodiscard]] std::shared_ptr<MemoryDisk> make_memory_disk();

/// A handle of a MemoryDisk. Thread-safe: one lock per disk. The data exists as long as one of its handles.
class MemoryStore : public Store {
 public:
  /// The clock and the random numbers of the environment must outlive the store, unless the environment owns them.
  explicit MemoryStore(Environment environment, std::shared_ptr<MemoryDisk> disk = make_memory_disk());

  Result<std::unique_ptr<RunWriter>> open_run(const RunId& run, const RunOptions& options) override;
  Result<std::unique_ptr<RunClaim>> claim(const RunId& run) override;
  Result<std::unique_ptr<RunWriter>> fork(const RunId& parent, Sequence at, const RunId& run,
                                          const RunOptions& options) override;
  Result<std::vector<ForkInfo>> forks_of(const RunId& run) override;
  Result<std::optional<ForkInfo>> origin_of(const RunId& run) override;

  Result<Restored> restore(const RunId& run, const Which& which) override;
  Result<RunInfo> run(const RunId& run) override;
  Result<std::vector<RunInfo>> runs(std::size_t limit) override;
  Result<CheckpointInfo> checkpoint(const RunId& run, const Which& which) override;
  Result<std::vector<CheckpointInfo>> checkpoints(const RunId& run, Sequence after, std::size_t limit) override;
  Result<std::vector<Event>> events(const RunId& run, std::uint64_t after_number, std::size_t limit) override;
  Result<std::vector<AuditEntry>> audit(const RunId& run, std::uint64_t after, std::size_t limit) override;

  Result<std::string> post(const RunId& run, std::string_view body) override;
  Result<std::vector<Message>> inbox(const RunId& run) override;
  Result<void> take(const RunId& run, std::string_view message_id) override;
  Result<bool> inbox_sealed(const RunId& run) override;
  Result<std::optional<std::string>> owner(const RunId& run) override;
  /// Returns a temporary folder, which is removed with the last handle of the disk.
  Result<std::string> local_folder(const RunId& run) override;

  std::unique_ptr<Limits> limits() override;
  std::unique_ptr<ResultCache> result_cache() override;
  /// Does not count local folders.
  Result<RunFootprint> footprint(const RunId& run) override;
  Result<std::uint64_t> shared_bytes() override;
  Timestamp believable_now() override { return environment_.clock->now(); }
  Result<PruneReport> prune(const RunId& run, const RetentionSettings& settings, PruneMode mode) override;
  Result<Erasure> erase(const RunId& run, const EraseRequest& request) override;
  Result<std::vector<Erasure>> removed(std::size_t limit) override;

  Result<Recovered> recover(const RunId& run, const RecoverScope& scope) override;
  /// Does nothing: the log would not outlive the process.
  Result<void> log_failure(const RecoveryFailure& failure) override;

  /// Only counts, and reports missing runs: memory is never damaged.
  Result<CheckReport> check(const CheckScope& scope, Repair repair) override;

 private:
  const Environment environment_;
  const std::shared_ptr<MemoryDisk> disk_;
};

}  // namespace pawl
