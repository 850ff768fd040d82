#include "service/prune_logs.hpp"

namespace pawl {
namespace {

struct OldLogs {
  std::vector<std::string> paths;
  std::uint64_t bytes = 0;
};

/// `STEM.N.log`, and the logs of items, which have their own folder.
OldLogs find_old_logs(LocalFiles& files, const std::string& folder, Timestamp before) {
  OldLogs old;
  const auto take = [&](const std::string& path) {
    if (!path.ends_with(".log") || files.modified(path) >= before) return;
    old.paths.push_back(path);
    old.bytes += files.size(path);
  };
  constexpr std::size_t kFoldersMax = 64;
  const auto look_inside = [&](const auto& self, const std::string& place, std::size_t depth) -> void {
    for (const std::string& name : files.list(place)) {
      const std::string path = place + "/" + name;
      if (name == "worktrees") continue;
      if (!files.is_folder(path)) {
        take(path);
      } else if (depth < kFoldersMax) {
        self(self, path, depth + 1);
      }
    }
  };
  look_inside(look_inside, folder, 0);
  return old;
}

}  // namespace

std::uint64_t PrunedLogs::removed() const {
  std::uint64_t sum = 0;
  for (const OfRun& run : runs) sum += run.removed;
  return sum;
}

std::uint64_t PrunedLogs::freed_bytes() const {
  std::uint64_t sum = 0;
  for (const OfRun& run : runs) sum += run.freed_bytes;
  return sum;
}

Result<PrunedLogs> prune_logs(Store& store, LocalFiles& files, const std::vector<RunId>& runs, Timestamp before,
                              PruneMode mode) {
  PrunedLogs pruned;
  for (const RunId& run : runs) {
    PAWL_TRY_ASSIGN(const auto owner, store.owner(run));
    if (owner) continue;
    PAWL_TRY_ASSIGN(const std::string folder, store.local_folder(run));
    const OldLogs old = find_old_logs(files, folder, before);
    if (mode == PruneMode::remove) {
      for (const std::string& path : old.paths) files.remove(path);
    }
    pruned.runs.push_back({run, old.paths.size(), old.bytes});
  }
  return pruned;
}

}  // namespace pawl
