// Internals of the simulated file system: the machine, its processes, and what happens at every call.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "testing/sim_file_system.hpp"

namespace pawl::testing {

struct SimProcess {
  std::uint64_t id = 0;
  std::atomic<bool> dead = false;
  std::atomic<std::uint64_t> calls = 0;
  std::function<void(std::uint64_t)> hook;  // set before use
  std::atomic<bool> in_hook = false;

  // Guarded by SimMachine::mutex.
  std::uint64_t ops = 0;
  std::uint64_t fallible_calls = 0;
  std::uint64_t faults_fired = 0;
  std::uint64_t cut_op = 0;  // 0: none
  bool cut_is_power = false;
  std::vector<Fault> faults;
  std::array<bool, kSyncPointCount> ignored{};
  std::array<std::uint64_t, kSyncPointCount> postponed{};
  struct Postponed {
    std::uint64_t after_op = 0;
    std::function<void()> sync;
  };
  std::vector<Postponed> later;
};

/// What a path refers to: its inode, if any, and the folder that contains or would contain it. Either may be null;
/// `os_error` says why the folder is null.
struct SimPlace {
  SimInodePtr folder;
  std::string name;
  SimInodePtr inode;
  int os_error = 0;
};

/// `mutex` guards everything else. The functions must be called with it held.
struct SimMachine {
  struct Holder {
    std::uint64_t handle = 0;
    std::uint64_t process = 0;
    bool shared = false;
  };
  using LockPlace = std::pair<const SimInode*, std::uint64_t>;

  explicit SimMachine(std::uint64_t seed) : random(seed) {}
  [[nodiscard]] SimPlace look_up(std::string_view path) const;
  void kill(SimProcess& process);
  void kill_all();
  /// Returns the size of all files that have a name, in whole blocks.
  [[nodiscard]] std::uint64_t used_bytes() const;
  /// Returns how many of `bytes` at `offset` fit on the disk.
  [[nodiscard]] std::uint64_t room_for(const SimInode& inode, std::uint64_t offset, std::uint64_t bytes) const;
  /// Runs `sync` now, later or never, depending on the settings of the process for this reason.
  void sync_as_told(SimProcess& process, SyncPoint point, std::function<void()> sync);

  mutable std::mutex mutex;  // not pawl::Mutex: SimCall moves the lock around, which the analysis can't follow
  SeededRandom random;
  SimInodePtr root = std::make_shared<SimInode>(true);
  std::uint64_t capacity = 0;  // in bytes; 0: no limit
  std::uint64_t boot = 1;
  bool power_is_off = false;
  std::uint64_t last_id = 0;  // counts processes, handles and name changes
  std::map<LockPlace, std::vector<Holder>> locks;
  std::vector<std::weak_ptr<SimProcess>> processes;
};

/// The kinds of calls that faults and interruptions distinguish.
enum class SimCallKind : std::uint8_t { look, lock, write, grow, rename, remove, sync };

/// The start of every call: runs the hook without the mutex, then locks it, counts the call and decides its outcome.
class SimCall {
 public:
  enum class Verdict : std::uint8_t { go, dead, cut, fault };

  SimCall(SimMachine& machine, SimProcess& process, SimCallKind kind, std::string_view path);
  [[nodiscard]] Verdict verdict() const { return verdict_; }
  /// Only for Verdict::fault.
  [[nodiscard]] Fault::What fault() const { return fault_; }
  [[nodiscard]] Error fault_error() const;
  /// Only for Verdict::cut: kills the process, or all processes if the power is cut.
  void die();
  [[nodiscard]] Error killed_error() const;

  /// Runs `action` (which returns a Result) according to the verdict.
  template <class Action>
  std::invoke_result_t<Action> run(Action action) {
    return run_or(std::move(action), [] {});
  }
  /// The same, but calls `on_fault` for an injected fault.
  template <class Action, class OnFault>
  std::invoke_result_t<Action> run_or(Action action, OnFault on_fault) {
    if (verdict_ == Verdict::go) return action();
    if (verdict_ == Verdict::fault) {
      on_fault();
      return fail(fault_error());
    }
    if (verdict_ == Verdict::cut) {
      if (machine_.random.coin()) static_cast<void>(action());
      die();
    }
    return fail(killed_error());
  }

 private:
  void count_op();
  void decide();
  [[nodiscard]] bool take_fault();

  SimMachine& machine_;
  SimProcess& process_;
  const SimCallKind kind_;
  const std::string_view path_;
  std::unique_lock<std::mutex> lock_;
  Verdict verdict_ = Verdict::go;
  Fault::What fault_ = Fault::eio;
};

[[nodiscard]] Error sim_error(Code code, int os_error, std::string_view path);

/// Opens an inode for a process.
[[nodiscard]] std::unique_ptr<File> make_sim_file(std::shared_ptr<SimMachine> machine,
                                                  std::shared_ptr<SimProcess> process, SimInodePtr inode,
                                                  std::string path, OpenMode mode);

}  // namespace pawl::testing
