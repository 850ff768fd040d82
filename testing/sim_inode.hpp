// The parts of a simulated disk: the bytes of a file and the names in a folder. Each is modelled as the page cache
// shows it, as it is on the disk, and with all intermediate versions that could survive a power loss. Not thread-safe:
// SimDisk's mutex protects them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "testing/manual_environment.hpp"

namespace pawl::testing {

constexpr std::uint64_t kSectorBytes = 512;

/// Which unsynced changes survive a power loss.
enum class Loss : std::uint8_t {
  random,
  keep_all,  // as if everything had been written just in time (except what a failed sync dropped)
  drop_all,  // exactly what was synced
};

/// The bytes of a file.
class SimContent {
 public:
  [[nodiscard]] const std::string& cached() const { return cached_; }
  [[nodiscard]] const std::string& durable() const { return durable_; }

  void write(std::uint64_t offset, std::string_view bytes);
  void resize(std::uint64_t size);
  /// Makes bytes and size durable, except what an earlier failed sync dropped.
  void sync();
  /// Unsynced data stops being pending without becoming durable; reads still return it. Whether the size is affected as
  /// well is random.
  void fail_sync(SeededRandom& random);
  void lose(Loss loss, SeededRandom& random);

 private:
  /// The contents of a sector before its newest unsynced write, oldest first. The newest is in `cached_`.
  using OlderVersions = std::vector<std::string>;

  void touch(std::uint64_t sector);
  void extend(std::uint64_t size);
  void shrink(std::uint64_t size);
  void set_cached_size(std::uint64_t size);
  void settle(std::string durable);
  [[nodiscard]] std::string cached_sector(std::uint64_t sector) const;
  [[nodiscard]] std::string lose_randomly(SeededRandom& random) const;
  [[nodiscard]] std::uint64_t choose_size(SeededRandom& random) const;

  std::string cached_;
  std::string durable_;
  std::map<std::uint64_t, OlderVersions> pending_;  // by sector
  std::vector<std::uint64_t> older_sizes_;          // unsynced sizes before the newest
  bool size_pending_ = false;
  bool stale_ = false;  // a failed sync dropped something, so cached and durable differ although nothing is pending
};

struct SimInode;
using SimInodePtr = std::shared_ptr<SimInode>;

/// One unsynced change of one name in a folder.
struct SimNameChange {
  std::uint64_t id = 0;
  SimInodePtr now;  // what the name refers to after the change; null: nothing
  /// This change reaches the disk only after the needed one. A renamed file loses its old name after it has the new
  /// one, so it is never lost. The two changes of a renamed folder need each other, so it never has two names.
  struct Need {
    std::weak_ptr<SimInode> folder;
    std::string name;
    std::uint64_t id = 0;  // 0: needs nothing
  } need;
};

/// The names in a folder.
struct SimNames {
  using Names = std::map<std::string, SimInodePtr, std::less<>>;
  Names cached;
  Names durable;
  std::map<std::string, std::vector<SimNameChange>> pending;  // by name, oldest first

  [[nodiscard]] SimInodePtr find(std::string_view name) const;
  void change(const std::string& name, SimNameChange change);
};

struct SimInode : std::enable_shared_from_this<SimInode> {
  explicit SimInode(bool folder) : is_folder(folder) {}
  const bool is_folder;
  std::uint64_t id = next_id();  // of the file on its disk; a snapshot of the whole disk keeps it
  SimContent content;
  SimNames names;

 private:
  static std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
  }
};

/// Makes the names in this folder durable, and those elsewhere that they depend on.
void sync_names(SimInode& folder);
/// Makes everything below `root` durable, including contents.
void sync_tree(SimInode& root);
/// Unsynced contents below `root` stop being pending without becoming durable.
void fail_sync_tree(SimInode& root, SeededRandom& random);
/// Applies a power loss to everything below `root`. Afterwards cached and durable are the same.
void lose_tree(const SimInodePtr& root, Loss loss, SeededRandom& random);
/// Returns a deep copy, including unsynced changes.
[[nodiscard]] SimInodePtr copy_tree(const SimInode& root);

}  // namespace pawl::testing
