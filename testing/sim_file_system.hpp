// The disk of a simulated machine, and the file systems that its processes see. The store runs on it unchanged.
//
// Fault model
//   Page cache  Reads see every write of every process, alive or dead, immediately, until power is lost.
//   Power loss  Each 512-byte sector written since the file's last sync independently has its synced content,
//               its last content, or the content after some write in between. A sector that extended the file
//               and is not kept reads as zeros. The file has its synced size, its last size, or one in between.
//               Each name changed since the last sync of its folder independently refers to what it did before
//               these changes or after any of them: a created file may be missing, a removed one may be back.
//               A rename is atomic: its target is the old or the new file, and the source may or may not be
//               left. A renamed file never loses both names; a renamed folder has exactly one of them.
//               A file without a name is gone.
//   kill -9     The process's locks are released and its files are closed; the page cache stays. The interrupted
//               call, if it is a write, takes effect up to any byte; any other call takes effect or does not.
//   Full disk   A call fails with disk_full and has no effect, or only a part of a write takes effect.
//   I/O error   The call fails. A part of a write may have taken effect.
//   Failed sync As on Linux: later syncs succeed, but don't write the unsynced data unless it is written again.
//               Reads still return it. Whether the file's size is affected as well is random. Names are metadata,
//               which file systems journal: on an error they stop rather than lose single names. After a failed
//               sync of a folder, its names are therefore as unsynced as before, and a later sync counts.
//   Lying disk  A sync for a chosen reason succeeds and does nothing, or takes effect later.
// Not modelled: bit rot, misdirected writes, hard links, moving a folder into another one.
//
// All randomness comes from the disk's seed: the same calls in the same order give the same result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ports/file_system.hpp"
#include "testing/sim_inode.hpp"

namespace pawl::testing {

struct SimMachine;
struct SimProcess;

/// One machine: a disk, its page cache, the kernel's locks and the boot id. Thread-safe. File systems and
/// files on it may outlive it.
class SimDisk {
 public:
  explicit SimDisk(std::uint64_t seed);

  /// Kills every process, applies the loss to all unsynced changes, and reboots the machine.
  void power_loss(Loss loss = Loss::random);
  /// Returns true after a process has reached its `power_cut_at`: every process is dead, and power_loss() must be
  /// called before the next one is started.
  [[nodiscard]] bool power_is_off() const;
  /// Changes with every power_loss().
  [[nodiscard]] std::string boot_id() const;

  /// A deep copy of cached and durable state (unsynced changes included), without processes and locks.
  [[nodiscard]] std::unique_ptr<SimDisk> copy() const;
  /// Continues with other random numbers, to get different losses from copies of one state.
  void reseed(std::uint64_t seed);

  /// Limits the sum of all files, each in whole blocks of 4 KiB. What does not fit fails with disk_full.
  void set_capacity(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t used_bytes() const;

  /// Returns the durable content, that is, after a power loss with drop_all. Returns nothing if there is no such file.
  [[nodiscard]] std::optional<std::string> durable_file(std::string_view path) const;
  /// Returns what reads see now.
  [[nodiscard]] std::optional<std::string> cached_file(std::string_view path) const;

 private:
  friend class SimFileSystem;
  explicit SimDisk(std::shared_ptr<SimMachine> machine);
  std::shared_ptr<SimMachine> machine_;
};

/// Makes calls of a process fail. All its port calls are counted (`fallible_calls`). The fault fires at the first
/// matching call whose number is at least `nth` (from 1), so a loop over nth reaches each call.
struct Fault {
  enum What : std::uint8_t {
    enospc,                   // write_at, resize, rename, make_folder, open with create
    eio,                      // any call; a sync fails as with sync_fails
    short_write_then_enospc,  // write_at; if persistent, like enospc from then on
    sync_fails,               // sync, sync_folder, sync_all
  };
  What what = eio;
  std::uint64_t nth = 1;
  bool persistent = false;  // fails from then on; otherwise once
};

/// The view of one process. Thread-safe, but must be configured before several threads use it.
class SimFileSystem final : public FileSystem {
 public:
  /// Starts a process. The power must be on.
  explicit SimFileSystem(SimDisk& disk);

  Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) override;
  Result<bool> exists(std::string_view path) override;
  /// Returns the entries in a different order each time.
  Result<std::vector<FolderEntry>> list(std::string_view folder) override;
  Result<bool> make_folder(std::string_view path) override;
  Result<void> rename(std::string_view from, std::string_view to) override;
  Result<void> remove(std::string_view path) override;
  Result<void> remove_folder(std::string_view path) override;
  Result<void> sync_folder(std::string_view path, SyncPoint point) override;
  Result<void> sync_all(SyncPoint point) override;

  /// Simulates kill -9. Afterwards every call through this object and its files has no effect and fails with
  /// write_failed, "process was killed".
  void kill();
  /// Kills the process at the op with this number (from 1). Ops are calls that change something: write_at, resize,
  /// sync, sync_folder, sync_all, rename, remove, make_folder, open with create.
  void kill_at(std::uint64_t op);
  /// The same, for all processes of the machine. Afterwards SimDisk::power_loss() must be called.
  void power_cut_at(std::uint64_t op);
  /// Returns whether the process died, by kill, at an op or by power loss.
  [[nodiscard]] bool died() const;
  /// Returns the number of ops started so far.
  [[nodiscard]] std::uint64_t ops() const;

  /// Calls `hook` before every call of this process, including reads and locks, with the number of that call (from 1,
  /// see `calls`). The hook may run complete operations of other processes. Calls of this process in its own hook don't
  /// call it again.
  void before_each_op(std::function<void(std::uint64_t call)> hook);
  [[nodiscard]] std::uint64_t calls() const;

  void inject(Fault fault);
  /// Returns the number of calls that could have failed: all calls while the process is alive.
  [[nodiscard]] std::uint64_t fallible_calls() const;
  /// Returns the number of calls that injected faults made fail.
  [[nodiscard]] std::uint64_t faults_fired() const;

  /// Makes syncs with this reason succeed without effect.
  void ignore_sync(SyncPoint point);
  /// Makes syncs with this reason succeed immediately but take effect only after `ops` further ops of this process (for
  /// what is unsynced by then), or never if the process dies before.
  void postpone_sync(SyncPoint point, std::uint64_t ops);

 private:
  Result<std::unique_ptr<File>> open_file(std::string_view path, OpenMode mode);
  Result<void> rename_now(std::string_view from, std::string_view to);

  std::shared_ptr<SimMachine> machine_;
  std::shared_ptr<SimProcess> process_;
};

}  // namespace pawl::testing
