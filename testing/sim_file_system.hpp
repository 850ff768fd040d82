// A simulated machine's disk, and file systems on it as single processes see them. The store runs on it
// unchanged.
//
// Fault model
//   Page cache  Reads see every write of every living or dead process at once, until power is lost.
//   Power loss  Every 512-byte sector that was written since the file's last sync is, for itself, as it was
//               synced, as it was last written, or as it was at some write in between. A sector that the
//               file was extended by and that is not kept reads as zeros. The file's size is the synced one,
//               the last one, or one in between. Every name that was changed since its folder's last sync
//               refers, for itself, to what it did after any of these changes or before all of them: a
//               created file may be gone, a removed one may be back. A rename is atomic: its target is the
//               old file or the new one, and the source may or may not be left, but a renamed file is never
//               lost by both names; a renamed folder has exactly one of them. A file without a name is gone.
//   kill -9     The process's locks are released and its files are closed; the page cache stays. At the cut,
//               a write has been made up to any byte, not at all, or wholly; anything else wholly or not at all.
//   Full disk   A call fails with disk_full without effect, or after a part of a write was made.
//   I/O error   The call fails. A part of a write may have been made.
//   Failed sync As on Linux: what was unsynced is not written any more by later syncs, which succeed, unless
//               it is written again; reads go on showing it. Whether the file's size goes the same way is random.
//               Names are metadata, which file systems journal: where that fails they stop, rather than lose single
//               names. So after a failed sync of a folder its names are as unsynced as before, and a later one counts.
//   Lying disk  A sync of a chosen reason succeeds and does nothing, or takes effect later.
// Not modelled: bit rot, misdirected writes, hard links, renaming a folder into another one.
//
// Everything random comes from the disk's own seed: the same calls in the same order give the same result.
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

  /// Kills every process, applies the loss to all unsynced changes, and starts the machine anew.
  void power_loss(Loss loss = Loss::random);
  /// A process came to its `power_cut_at`: every process is dead, and power_loss() is due before the next
  /// one is started.
  [[nodiscard]] bool power_is_off() const;
  /// Another one after every power_loss().
  [[nodiscard]] std::string boot_id() const;

  /// A deep copy of cached and durable state (unsynced changes included), without processes and locks.
  [[nodiscard]] std::unique_ptr<SimDisk> copy() const;
  /// Goes on with other random numbers: different losses out of copies of one state.
  void reseed(std::uint64_t seed);

  /// What the disk holds for sure, that is, after a power loss with drop_all. None: no such file.
  [[nodiscard]] std::optional<std::string> durable_file(std::string_view path) const;
  /// What reads see now.
  [[nodiscard]] std::optional<std::string> cached_file(std::string_view path) const;

 private:
  friend class SimFileSystem;
  explicit SimDisk(std::shared_ptr<SimMachine> machine);
  std::shared_ptr<SimMachine> machine_;
};

/// Makes a process's calls fail. All its port calls are counted (`fallible_calls`); the fault fires at the
/// first matching call whose number is `nth` or more (from 1). So a loop over nth reaches each call.
struct Fault {
  enum What : std::uint8_t {
    enospc,                   // write_at, resize, rename, make_folder, open with create
    eio,                      // any call; a sync fails as with sync_fails
    short_write_then_enospc,  // write_at; when persistent, what enospc matches from then on
    sync_fails,               // sync, sync_folder, sync_all
  };
  What what = eio;
  std::uint64_t nth = 1;
  bool persistent = false;  // from then on; otherwise once
};

/// One process's view. Thread-safe; its switches are to be set before it is used by several threads.
class SimFileSystem final : public FileSystem {
 public:
  /// Starts a process. The power must be on.
  explicit SimFileSystem(SimDisk& disk);

  Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) override;
  Result<bool> exists(std::string_view path) override;
  /// In an order that is another one each time.
  Result<std::vector<FolderEntry>> list(std::string_view folder) override;
  Result<bool> make_folder(std::string_view path) override;
  Result<void> rename(std::string_view from, std::string_view to) override;
  Result<void> remove(std::string_view path) override;
  Result<void> remove_folder(std::string_view path) override;
  Result<void> sync_folder(std::string_view path, SyncPoint point) override;
  Result<void> sync_all(SyncPoint point) override;

  /// kill -9. From then on every call through this and its files fails with write_failed, "process was
  /// killed", and has no effect.
  void kill();
  /// The process dies at its op with this number (from 1). Ops are the calls that change something:
  /// write_at, resize, sync, sync_folder, sync_all, rename, remove, make_folder, open with create.
  void kill_at(std::uint64_t op);
  /// The same, and with it every other process of the machine: SimDisk::power_loss() is due.
  void power_cut_at(std::uint64_t op);
  /// By kill, by a cut or by power loss.
  [[nodiscard]] bool died() const;
  /// Ops begun so far.
  [[nodiscard]] std::uint64_t ops() const;

  /// Calls `hook` before every call of this process, reads and locks included, with that call's number
  /// (from 1, see `calls`). In it, other processes of the disk may run whole operations. Calls of this
  /// process in its own hook run without it.
  void before_each_op(std::function<void(std::uint64_t call)> hook);
  [[nodiscard]] std::uint64_t calls() const;

  void inject(Fault fault);
  /// Calls so far that could have failed: all of them while the process lives.
  [[nodiscard]] std::uint64_t fallible_calls() const;
  /// Calls that failed by injected faults.
  [[nodiscard]] std::uint64_t faults_fired() const;

  /// Syncs with this reason succeed without effect.
  void ignore_sync(SyncPoint point);
  /// Syncs with this reason succeed at once, but are made only when `ops` further ops of this process have
  /// been made (then of what is unsynced by then); never, if it dies before.
  void postpone_sync(SyncPoint point, std::uint64_t ops);

 private:
  Result<std::unique_ptr<File>> open_file(std::string_view path, OpenMode mode);
  Result<void> rename_now(std::string_view from, std::string_view to);

  std::shared_ptr<SimMachine> machine_;
  std::shared_ptr<SimProcess> process_;
};

}  // namespace pawl::testing
