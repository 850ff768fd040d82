// The invariants of a crash world, checked after every crash and at the end.
#include <fmt/format.h>

#include <algorithm>

#include "adapters/filesystem/filesystem_evidence.hpp"
#include "audit/verify.hpp"
#include "testing/filesystem_under_test.hpp"
#include "tests/crash/crash_world.hpp"

namespace pawl::testing {
namespace {

RunId checked_run(const std::string& name) { return *RunId::parse(name); }

}  // namespace

/// The state after a crash must never look like a manipulated history.
void CrashWorld::verify_evidence(SimFileSystem& files, std::string_view when) {
  FilesystemEvidence evidence(files, disk_->boot_id());
  for (const auto& entry : runs_) {
    const auto verdict = pawl::verify_run(evidence, *RunId::parse(entry.first), nullptr, {});
    if (!verdict && verdict.error().code == Code::run_not_found) continue;
    if (!verdict)
      return broken(fmt::format("{}: run {} can't be verified: {}", when, entry.first, describe(verdict.error())));
    if (!verdict->bad) continue;
    return broken(fmt::format("{}: run {} does not verify: entry {}: {} ({})", when, entry.first, verdict->bad->entry,
                              verdict->bad->what, verdict->bad->file));
  }
}

void CrashWorld::verify(std::string_view when) {
  if (violation_ || disk_->power_is_off()) return;
  verify_side_files();
  SimFileSystem files(*disk_);
  mutate(files);  // readers confirm batches that a killed writer left
  const Environment environment{&clock_, &random_, sim_owner(disk_->boot_id(), ++pids_)};
  auto reader = FilesystemStore::open(files, environment, options_);
  if (!reader) return broken(fmt::format("{}: the store can't be opened: {}", when, describe(reader.error())));
  std::vector<std::string> runs;  // a copy, because more may be added during the checks
  for (const auto& entry : runs_) runs.push_back(entry.first);
  verify_list(**reader, when);
  for (const std::string& run : runs) verify_run(**reader, run, when);
  verify_evidence(files, when);
  verify_soundness(**reader, when);
}

/// What a power loss or a killed process leaves is ordinary: fsck finds nothing to repair.
void CrashWorld::verify_soundness(Store& reader, std::string_view when) {
  if (nesting_ || violation_) return;
  const auto report = reader.check({}, Repair::no);
  if (!report) return broken(fmt::format("{}: fsck fails: {}", when, describe(report.error())));
  for (const Finding& finding : report->findings) {
    if (finding.severity == Finding::Severity::note) continue;
    return broken(fmt::format("{}: fsck finds {}: {}@{}: {}", when, finding.file, finding.run, finding.sequence.value,
                              finding.what));
  }
}

/// `pawl list` contains every promised run, with its newest checkpoint or a later one.
void CrashWorld::verify_list(Store& reader, std::string_view when) {
  const auto listed = reader.runs(SIZE_MAX);
  if (!listed) {
    // In the middle of a call of another process, that process may hold the lock of the catalogue.
    if (nesting_ && listed.error().code == Code::store_busy) return;
    return broken(fmt::format("{}: the runs can't be listed: {}", when, describe(listed.error())));
  }
  std::map<std::string, std::uint64_t> found;
  for (const RunInfo& run : *listed) {
    if (!found.emplace(run.id.text(), run.latest.value).second)
      broken(fmt::format("{}: {} is listed twice", when, run.id.text()));
  }
  for (const auto& [run, slots] : runs_) {
    std::uint64_t promised = 0;
    for (const auto& [sequence, slot] : slots) {
      if (slot.promised) promised = sequence;
    }
    if (promised == 0) continue;
    const auto entry = found.find(run);
    if (entry == found.end()) return broken(fmt::format("{}: {} is missing from the list", when, run));
    if (entry->second < promised)
      return broken(fmt::format("{}: {} is listed at {}, but {} was promised", when, run, entry->second, promised));
  }
}

void CrashWorld::verify_run(Store& reader, const std::string& run, std::string_view when) {
  Slots& slots = runs_[run];
  std::uint64_t promised = 0;
  for (const auto& [sequence, slot] : slots) {
    if (slot.promised) promised = sequence;
  }
  const auto info = reader.run(checked_run(run));
  if (!info) {
    if (promised != 0 || info.error().code != Code::run_not_found) {
      broken(fmt::format("{}: {} has {} promised checkpoints: {}", when, run, promised, describe(info.error())));
    }
    return;
  }
  const std::uint64_t latest = info->latest.value;
  if (latest < promised)
    return broken(fmt::format("{}: {}@{} was promised, the latest is {}", when, run, promised, latest));
  const auto listed = reader.checkpoints(checked_run(run), {}, SIZE_MAX);
  if (!listed) return broken(fmt::format("{}: {} can't be listed: {}", when, run, describe(listed.error())));
  verify_listed(*listed, run, latest, when);
  for (std::uint64_t sequence = 1; sequence <= latest; ++sequence) {
    // Checks the newest checkpoints and a sample of the older ones, which were checked before.
    if (sequence + 4 < latest && random_.below(8) != 0) continue;
    verify_checkpoint(reader, run, sequence, when);
  }
  verify_inbox(reader, run, when);
  if (forks_.contains(run)) verify_fork(reader, run, when);
}

/// The parent must know its fork, so that it keeps what the fork needs.
void CrashWorld::verify_fork(Store& reader, const std::string& run, std::string_view when) {
  const Origin& origin = forks_.at(run);
  const auto forks = reader.forks_of(checked_run(origin.run));
  if (!forks)
    return broken(fmt::format("{}: the forks of {} can't be listed: {}", when, origin.run, describe(forks.error())));
  const bool known = std::ranges::any_of(
      *forks, [&](const ForkInfo& fork) { return fork.run == checked_run(run) && fork.at.value == origin.at; });
  if (!known) broken(fmt::format("{}: {} does not know of its fork {}", when, origin.run, run));
}

void CrashWorld::verify_checkpoint(Store& reader, const std::string& run, std::uint64_t sequence,
                                   std::string_view when) {
  Which which;
  which.by = Which::By::sequence;
  which.sequence.value = sequence;
  const auto restored = reader.restore(checked_run(run), which);
  Slot& slot = runs_[home(run, sequence)][sequence];
  if (!restored && restored.error().code == Code::checkpoint_pruned && (slot.pruned || may_go(run, sequence))) return;
  if (!restored) return broken(fmt::format("{}: {}@{}: {}", when, run, sequence, describe(restored.error())));
  if (slot.pruned) return broken(fmt::format("{}: {}@{} was pruned, and is back", when, run, sequence));
  if (slot.promised && *slot.promised != restored->state)
    return broken(fmt::format("{}: {}@{} has changed", when, run, sequence));
  if (!slot.attempted.contains(restored->state))
    return broken(fmt::format("{}: {}@{} was never saved", when, run, sequence));
  slot.promised = restored->state;  // seen, so it must stay
}

/// All checkpoints are listed once, except pruned ones.
void CrashWorld::verify_listed(const std::vector<CheckpointInfo>& listed, const std::string& run, std::uint64_t latest,
                               std::string_view when) {
  std::set<std::uint64_t> there;
  for (const CheckpointInfo& info : listed) there.insert(info.sequence.value);
  for (std::uint64_t sequence = 1; sequence <= latest; ++sequence) {
    const Slot& slot = runs_[home(run, sequence)][sequence];
    if (there.contains(sequence) && slot.pruned)
      return broken(fmt::format("{}: {}@{} was pruned, and is listed", when, run, sequence));
    if (there.contains(sequence) || slot.pruned || may_go(run, sequence)) continue;
    return broken(fmt::format("{}: {}@{} is not listed", when, run, sequence));
  }
}

/// Posted messages are listed, complete and in order, and nothing that nobody posted.
void CrashWorld::verify_inbox(Store& reader, const std::string& run, std::string_view when) {
  const Messages& messages = messages_[run];
  const auto listed = reader.inbox(checked_run(run));
  if (!listed)
    return broken(fmt::format("{}: the messages of {} can't be listed: {}", when, run, describe(listed.error())));
  std::size_t found = 0;
  for (const Message& message : *listed) {
    if (!messages.attempted.contains(message.body))
      return broken(fmt::format("{}: {} has a message that nobody posted", when, run));
    const auto promised = messages.promised.find(message.id);
    if (promised == messages.promised.end()) continue;
    ++found;
    if (promised->second != message.body) return broken(fmt::format("{}: a message of {} has changed", when, run));
  }
  if (found != messages.promised.size()) {
    broken(fmt::format("{}: {} has {} of {} messages", when, run, found, messages.promised.size()));
  }
}

/// A file that was set aside for people stays, once the call that created it has returned.
void CrashWorld::remember_side_files(bool interrupted) {
  if (disk_->power_is_off()) return;
  SimFileSystem files(*disk_);
  const auto entries = files.list("recovery");
  if (!entries) return;
  for (const FolderEntry& entry : *entries) {
    const std::string path = "recovery/" + entry.name;
    if (!entry.name.ends_with(".bin") || side_files_.contains(path)) continue;
    const auto content = files.read_file(path);
    side_files_[path] = interrupted || !content ? std::nullopt : std::optional(*content);
  }
}

void CrashWorld::verify_side_files() {
  for (const auto& [path, content] : side_files_) {
    const auto now = disk_->cached_file(path);
    if (!content) continue;
    if (!now || *now != content) broken(fmt::format("{} was set aside, and is gone", path));
  }
}

}  // namespace pawl::testing
