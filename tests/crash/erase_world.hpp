// A simulated machine on which a run is erased or removed: schedules with kill -9 and power loss at any op, and the
// invariants afterwards. A run is complete or erased. Once its erasure is finished, no file contains anything of it, in
// the page cache or on the disk. Other runs lose nothing.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adapters/filesystem/filesystem_store.hpp"
#include "testing/manual_environment.hpp"
#include "testing/sim_file_system.hpp"
#include "tests/crash/crash_world.hpp"

namespace pawl::testing {

/// How an interrupted erasure is finished.
enum class FinishBy : std::uint8_t { erase, fsck, writer };

/// What happens at one op of an erasure.
enum class Cut : std::uint8_t { none, kill, power };

class EraseWorld {
 public:
  EraseWorld(std::uint64_t seed, const Mutation& mutation, Remains remains = Remains::trail);
  ~EraseWorld();
  EraseWorld(const EraseWorld&) = delete;
  EraseWorld& operator=(const EraseWorld&) = delete;

  /// Runs one random schedule. Returns the first broken promise, or nothing.
  std::optional<std::string> run();

  // The parts of a schedule, for tests that choose each.
  /// Fills a store with the run and others, by processes of which some are killed. None is left at the end.
  void fill();
  /// Returns the number of ops of an erasure. Changes nothing.
  [[nodiscard]] std::uint64_t ops_of_erasure();
  /// Erases the run, interrupted at an op. If the power is cut, unsynced changes are lost.
  void erase(Cut cut, std::uint64_t op, Loss loss);
  /// Makes the nth call fail. Returns whether it was reached.
  bool erase_with_fault(const Fault& fault);
  void finish(FinishBy by);
  /// Checks that the run is complete or erased, and that others are unchanged. `verify_finished` requires that it is
  /// erased and nothing is left.
  void verify(std::string_view when);
  void verify_finished(std::string_view when);
  void power_loss(Loss loss) { disk_->power_loss(loss); }
  /// Returns a copy of the disk as it is now; `use` continues with one.
  [[nodiscard]] std::unique_ptr<SimDisk> disk_copy() const { return disk_->copy(); }
  void use(std::unique_ptr<SimDisk> disk) { disk_ = std::move(disk); }
  [[nodiscard]] const std::optional<std::string>& violation() const { return violation_; }
  /// Returns what files still contain of the run, or an empty string.
  [[nodiscard]] std::string find_remains();

 private:
  struct Process {
    std::unique_ptr<SimFileSystem> files;
    std::unique_ptr<FilesystemStore> store;
  };
  Process start();
  std::string marker();
  void save(RunWriter& writer, const std::string& run);
  void write_session();
  void plant_remains();
  std::string picture(Store& store, const std::string& run);
  void find_below(SimFileSystem& files, const std::string& folder, std::string& found);
  void check_store(Store& store, std::string_view when);
  void check_tombstone(Store& store, std::string_view when);
  [[nodiscard]] EraseRequest because() const;
  void broken(std::string what);

  SeededRandom random_;
  ManualClock clock_;
  const Mutation mutation_;
  const Remains remains_;
  FilesystemOptions options_;
  std::unique_ptr<SimDisk> disk_;
  std::vector<std::string> markers_;
  std::map<std::string, std::vector<std::string>> saved_;  // states by run
  std::map<std::string, std::string> pictures_;            // of every run, before the erasure
  std::vector<AuditEntry> trail_;                          // of the target, before the erasure
  std::optional<std::string> violation_;
  std::uint64_t pids_ = 100;
};

}  // namespace pawl::testing
