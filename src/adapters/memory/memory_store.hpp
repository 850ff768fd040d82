// The reference store: keeps every state whole in memory, and is as simple as the contract allows.
// Tests use it as the oracle for the other adapters.
#pragma once

#include "ports/environment.hpp"
#include "ports/store.hpp"

namespace pawl {

/// The data of a memory store. Handles that share one see each other's saves, as processes that share a folder do.
struct MemoryDisk;
[[nodiscard]] std::shared_ptr<MemoryDisk> make_memory_disk();

/// A handle on a MemoryDisk. Thread-safe: one lock per disk. Nothing survives the disk's last handle.
class MemoryStore final : public Store {
 public:
  /// The environment's clock and random source must outlive the store.
  explicit MemoryStore(Environment environment, std::shared_ptr<MemoryDisk> disk = make_memory_disk());

  Result<std::unique_ptr<RunWriter>> open_run(const RunId& run, const RunOptions& options) override;
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
  Result<std::optional<std::string>> owner(const RunId& run) override;
  /// Under the system's folder for temporary files; gone with the disk's last handle.
  Result<std::string> local_folder(const RunId& run) override;

  /// Of what it holds; local folders are not part of it.
  Result<RunFootprint> footprint(const RunId& run) override;
  Result<std::uint64_t> shared_bytes() override;
  Result<PruneReport> prune(const RunId& run, const RetentionSettings& settings, PruneMode mode) override;
  Result<Erasure> erase(const RunId& run, const EraseRequest& request) override;

  Result<Recovered> recover(const RunId& run, const RecoverScope& scope) override;
  /// Kept nowhere: memory goes with whoever would read it.
  Result<void> log_failure(const RecoveryFailure& failure) override;

  /// Memory is never damaged: this only counts, and knows what is not there.
  Result<CheckReport> check(const CheckScope& scope, Repair repair) override;

 private:
  const Environment environment_;
  const std::shared_ptr<MemoryDisk> disk_;
};

}  // namespace pawl
