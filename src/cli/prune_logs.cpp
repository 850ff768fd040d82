#include "cli/prune_logs.hpp"

#include "cli/json_out.hpp"
#include "cli/workflow_world.hpp"

namespace pawl::cli {
namespace {

constexpr std::int64_t kDayUs = 86'400'000'000;

struct OldLogs {
  std::vector<std::string> paths;
  std::uint64_t bytes = 0;
};

/// `STEM.N.log`, and those of items in a folder of their own.
OldLogs find_old(LocalFiles& files, const std::string& folder, Timestamp before) {
  OldLogs old;
  const auto take = [&](const std::string& path) {
    if (!path.ends_with(".log") || files.modified(path) >= before) return;
    old.paths.push_back(path);
    old.bytes += files.size(path);
  };
  for (const std::string& name : files.list(folder)) {
    const std::string path = folder + "/" + name;
    if (name == "worktrees") continue;
    if (!files.is_folder(path)) {
      take(path);
      continue;
    }
    for (const std::string& inner : files.list(path)) take(path + "/" + inner);
  }
  return old;
}

}  // namespace

Result<void> prune_logs(const Invocation& invocation, Store& store, const std::vector<RunId>& runs, std::uint64_t days,
                        PruneMode mode) {
  LocalFiles& files = invocation.context().workflows->files;
  const Timestamp before{invocation.context().clock.now().us - static_cast<std::int64_t>(days) * kDayUs};
  std::vector<std::string> rows;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  for (const RunId& run : runs) {
    PAWL_TRY_ASSIGN(const auto owner, store.owner(run));
    if (owner) continue;
    PAWL_TRY_ASSIGN(const std::string folder, store.local_folder(run));
    const OldLogs old = find_old(files, folder, before);
    if (mode == PruneMode::remove) {
      for (const std::string& path : old.paths) files.remove(path);
    }
    count += old.paths.size();
    bytes += old.bytes;
    rows.push_back(JsonObject()
                       .text("run", run.text())
                       .number("removed", old.paths.size())
                       .number("freed_bytes", old.bytes)
                       .done());
  }
  const bool dry = mode == PruneMode::dry_run;
  if (invocation.json()) {
    invocation.print(JsonObject()
                         .boolean("dry_run", dry)
                         .raw("runs", json_array(rows))
                         .number("removed", count)
                         .number("freed_bytes", bytes)
                         .done() +
                     "\n");
  } else {
    invocation.print(fmt::format("{} {}: {} {} logs, {} {}\n", rows.size(), rows.size() == 1 ? "run" : "runs",
                                 dry ? "would remove" : "removed", count, dry ? "would free" : "freed",
                                 size_text(bytes)));
  }
  return {};
}

}  // namespace pawl::cli
