// The parts of a simulated disk: a file's bytes and a folder's names, each as the page cache shows them
// and as the disk has them, with everything in between that could survive a loss of power.
// Not thread-safe: SimDisk's mutex protects them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "testing/manual_environment.hpp"

namespace pawl::testing {

constexpr std::uint64_t kSectorBytes = 512;

/// What a loss of power leaves of the unsynced changes.
enum class Loss : std::uint8_t {
  random,
  keep_all,  // as if all had been written just in time (except what a failed sync dropped)
  drop_all,  // exactly what was synced
};

/// A file's bytes.
class SimContent {
 public:
  [[nodiscard]] const std::string& cached() const { return cached_; }
  [[nodiscard]] const std::string& durable() const { return durable_; }

  void write(std::uint64_t offset, std::string_view bytes);
  void resize(std::uint64_t size);
  /// Bytes and size are durable, except what an earlier failed sync dropped.
  void sync();
  /// What is unsynced stops being so without having become durable; reads go on showing it. Whether the
  /// size goes the same way is random.
  void fail_sync(SeededRandom& random);
  void lose(Loss loss, SeededRandom& random);

 private:
  /// What a sector held before its newest unsynced write, oldest first; the newest is in `cached_`.
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
  std::vector<std::uint64_t> older_sizes_;          // unsynced ones before the newest
  bool size_pending_ = false;
  bool stale_ = false;  // a failed sync dropped something: cached and durable differ without being pending
};

struct SimInode;
using SimInodePtr = std::shared_ptr<SimInode>;

/// One unsynced change of one name in a folder.
struct SimNameChange {
  std::uint64_t id = 0;
  SimInodePtr now;  // what the name refers to from then on; null: nothing
  /// This change is not on the disk before that one is: a renamed file's old name goes after its new one
  /// is there, so that it can't be lost. A folder's names need each other, so that it never has two.
  struct Need {
    std::weak_ptr<SimInode> folder;
    std::string name;
    std::uint64_t id = 0;  // 0: needs nothing
  } need;
};

/// A folder's names.
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
  SimContent content;
  SimNames names;
};

/// Makes the names of this folder durable, and what they need elsewhere.
void sync_names(SimInode& folder);
/// The same for everything below `root`, contents included.
void sync_tree(SimInode& root);
/// Every unsynced change in and below `root` stops being so without having become durable.
void fail_sync_tree(SimInode& root, SeededRandom& random);
/// Power loss for everything below `root`: afterwards cached and durable are the same.
void lose_tree(const SimInodePtr& root, Loss loss, SeededRandom& random);
/// A deep copy, unsynced changes included.
[[nodiscard]] SimInodePtr copy_tree(const SimInode& root);

}  // namespace pawl::testing
