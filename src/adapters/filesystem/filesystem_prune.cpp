// FilesystemStore: pruning.
#include <algorithm>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/run_pruner.hpp"

namespace pawl {

Result<std::string> FilesystemStore::prune_stamp(const std::string& run) {
  std::vector<std::string> runs;
  if (!run.empty()) {
    runs.push_back(run);
  } else {
    PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
    for (const FolderEntry& entry : entries) runs.push_back(entry.name);
    std::ranges::sort(runs);
  }
  std::string stamp;
  for (const std::string& one : runs) {
    const auto list = files_.read_file(layout::pruned(one));
    stamp += list ? *list : "-";
    PAWL_TRY_ASSIGN(auto entries, files_.list(layout::checkpoints(one)));
    std::ranges::sort(entries, {}, &FolderEntry::name);
    for (const FolderEntry& entry : entries) stamp += entry.name + '\n';
  }
  return stamp;
}

Result<PruneReport> FilesystemStore::prune(const RunId& run, const RetentionSettings& settings, PruneMode mode) {
  return read_consistently(run.text(), [&](auto snapshot) {
    RunPruner pruner({&files_, environment_, options_, [this] { return snapshot_for_reader(); }}, run.text(), std::move(snapshot));
    return pruner.prune(settings, mode);
  });
}

}  // namespace pawl
