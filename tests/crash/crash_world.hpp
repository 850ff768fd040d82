// A simulated machine with several processes that use one store, and a record of what the store has promised:
// everything acknowledged, seen and attempted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adapters/filesystem/filesystem_store.hpp"
#include "testing/manual_environment.hpp"
#include "testing/sim_file_system.hpp"

namespace pawl::testing {

/// How the syncs of a world's processes are sabotaged, to prove that each is needed.
struct Mutation {
  std::optional<SyncPoint> ignored = {};
  std::optional<SyncPoint> postponed = {};
  std::uint64_t postponed_ops = 0;
};

class CrashWorld {
 public:
  CrashWorld(std::uint64_t seed, const Mutation& mutation);
  ~CrashWorld();

  /// Runs one random schedule. Returns the first broken promise, or nothing.
  std::optional<std::string> run();

  struct Counts {
    std::uint64_t saves = 0;
    std::uint64_t acknowledged = 0;
    std::uint64_t kills = 0;
    std::uint64_t power_losses = 0;
    std::uint64_t reads = 0;
    std::uint64_t nested = 0;
    std::uint64_t settles = 0;
    std::uint64_t posted = 0;
    std::uint64_t rekeyed = 0;
    std::uint64_t pruned = 0;
    std::uint64_t repeated = 0;
    std::uint64_t forked = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Process {
    std::unique_ptr<SimFileSystem> files;
    std::unique_ptr<FilesystemStore> store;
    std::map<std::string, std::unique_ptr<RunWriter>> writers;
  };
  /// What may or must exist at one sequence of a run.
  struct Slot {
    std::optional<std::string> promised;  // acknowledged or seen
    std::set<std::string> attempted;
    bool pruned = false;         // according to a prune that returned
    bool may_be_pruned = false;  // by a prune that did not return
  };
  using Slots = std::map<std::uint64_t, Slot>;
  /// The run and sequence that a fork is based on.
  struct Origin {
    std::string run;
    std::uint64_t at = 0;
  };
  struct Messages {
    std::map<std::string, std::string> promised;  // id and body: posted and not taken
    std::set<std::string> attempted;              // bodies
  };

  Process* process(std::size_t index);
  void mutate(SimFileSystem& files) const;
  void drop(std::size_t index);
  void bury();
  void step();
  void act(std::size_t index);
  void act_inside();
  void save(std::size_t index);
  void post(std::size_t index);
  void take(std::size_t index);
  void rekey(std::size_t index);
  void prune(std::size_t index);
  void prune_run(std::size_t index, const std::string& run);
  void repeat(Process& at_work, const std::string& run);
  void fork(std::size_t index);
  [[nodiscard]] std::string any_run();
  /// Returns which of a fork and its ancestors owns the sequence.
  [[nodiscard]] std::string home(const std::string& run, std::uint64_t sequence) const;
  [[nodiscard]] bool exists(const std::string& run);
  void verify_fork(Store& reader, const std::string& run, std::string_view when);
  [[nodiscard]] bool may_go(const std::string& run, std::uint64_t sequence);
  [[nodiscard]] std::uint64_t highest(const std::string& run);
  void read_beside();
  void verify(std::string_view when);
  void verify_evidence(SimFileSystem& files, std::string_view when);
  void verify_list(Store& reader, std::string_view when);
  void verify_soundness(Store& reader, std::string_view when);
  void verify_run(Store& reader, const std::string& run, std::string_view when);
  void verify_checkpoint(Store& reader, const std::string& run, std::uint64_t sequence, std::string_view when);
  void verify_listed(const std::vector<CheckpointInfo>& listed, const std::string& run, std::uint64_t latest,
                     std::string_view when);
  void verify_inbox(Store& reader, const std::string& run, std::string_view when);
  void verify_side_files();
  void remember_side_files(bool interrupted);
  void arm(Process& victim);
  std::string next_state(const std::string& run);
  void broken(std::string what);

  SeededRandom random_;
  ManualClock clock_;
  const Mutation mutation_;
  FilesystemOptions options_;
  std::unique_ptr<SimDisk> disk_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<std::string, Slots> runs_;
  std::map<std::string, Messages> messages_;
  std::map<std::string, Origin> forks_;
  std::set<std::string> named_;                   // states saved with a name
  std::map<std::string, std::uint64_t> pruning_;  // runs being pruned, and how many checkpoints are kept
  std::map<std::string, std::map<std::string, std::pair<std::uint64_t, std::string>>>
      callers_;  // by run and caller's id
  std::map<std::string, std::string> last_state_;
  std::map<std::string, std::optional<std::string>> side_files_;  // nothing: its writer may have died before the sync
  std::optional<std::string> violation_;
  Counts counts_;
  std::uint64_t pids_ = 100;
  bool nesting_ = false;
  bool encrypted_ = false;
  std::set<std::string> new_keys_;         // keys that a process is about to set
  std::map<std::string, SecretKey> keys_;  // by id, without discarded ones
  std::size_t steps_ = 0;
};

}  // namespace pawl::testing
