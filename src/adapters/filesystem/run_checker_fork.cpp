// RunChecker: a fork against its parent, a run against the notes about its forks, and messages to it.
#include "adapters/filesystem/fork_notes.hpp"
#include "adapters/filesystem/inbox.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/run_checker.hpp"
#include "adapters/filesystem/run_reader.hpp"

namespace pawl {

/// Checks that the checkpoint that the fork is based on exists and is unchanged.
Result<void> RunChecker::check_origin() {
  if (!run_record_.fork_of_run) return {};
  const std::string& parent = run_record_.fork_of_name;
  const Sequence at = run_record_.fork_of_sequence;
  RunReader reader(files_, keys_, run_, snapshot_);
  const auto info = reader.info({.by = Which::By::sequence, .sequence = at});
  if (!info && is_machine_failure(info.error().code)) return std::unexpected(info.error());
  if (!info || info->checksum != run_record_.fork_of_sum) {
    const bool without_key = !info && (info.error().code == Code::key_missing || info.error().code == Code::key_wrong);
    if (!without_key) {
      add(Finding::Severity::damage, info ? Code::checksum_mismatch : info.error().code, layout::run(parent), at,
          info ? fmt::format("checkpoint {} of run '{}' is not the one that this run was forked from", at.value, parent)
               : fmt::format("can't read the checkpoint that this run was forked from: {}", info.error().message));
    }
    return {};
  }
  if (has_key_) {
    auto restored = reader.restore({.by = Which::By::sequence, .sequence = at});
    if (!restored && is_machine_failure(restored.error().code)) return std::unexpected(restored.error());
    if (restored) {
      shared_state_ = std::move(restored->state);
    } else {
      add(Finding::Severity::damage, restored.error().code, layout::run(parent), at,
          fmt::format("can't restore the checkpoint that this run was forked from: {}", restored.error().message));
    }
  }
  const std::string path = layout::fork(parent, run_record_.uuid.text());
  PAWL_TRY_ASSIGN(const bool known, files_.exists(path));
  if (!known) {
    report_.findings.push_back(
        {Finding::Severity::mendable,
         Code::store_damaged,
         path,
         run_,
         at,
         fmt::format("run '{}' has no note of this fork; pruning it could remove data that the fork needs", parent),
         {},
         Advice::repair_store});
  }
  return {};
}

Result<void> RunChecker::check_fork_notes() {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::forks(run_)));
  for (const FolderEntry& entry : entries) {
    const std::string path = join_path(layout::forks(run_), entry.name);
    if (entry.name.ends_with(".tmp")) {
      add(Finding::Severity::note, Code::store_damaged, path, {}, "left over from an interrupted write");
      continue;
    }
    ++report_.files;
    const auto text = files_.read_file(path);
    if (!text && is_machine_failure(text.error().code)) return std::unexpected(text.error());
    auto note = text ? decode_fork_note(*text, seed_) : std::unexpected(text.error());
    if (note && note->uuid.text() + ".json" != entry.name)
      note = fail(Code::store_damaged, "the note belongs to another fork");
    if (!note) {
      // A repair rewrites the note from the record of the fork.
      report_.findings.push_back({Finding::Severity::mendable,
                                  note.error().code,
                                  path,
                                  run_,
                                  {},
                                  note.error().message,
                                  {},
                                  Advice::repair_store});
      continue;
    }
    const auto fork = RunReader(files_, keys_, note->fork, snapshot_).run_record();
    const bool there = fork && fork->uuid == note->uuid;
    if (there || (!fork && fork.error().code != Code::run_not_found)) continue;
    report_.findings.push_back(
        {Finding::Severity::note, Code::run_not_found, path, run_, note->at,
         fmt::format("fork '{}' of this note was never created, or is being created", note->fork),
         fmt::format("checkpoint {} is not pruned until the note is removed", note->at.value), Advice::repair_store});
  }
  return {};
}

Result<void> RunChecker::check_inbox() {
  Inbox inbox(files_, run_, seed_);
  PAWL_TRY_ASSIGN(const auto ids, inbox.ids());
  for (const std::string& id : ids) {
    const auto message = inbox.read(id);
    if (message && !*message) continue;  // removed in the meantime
    ++report_.files;
    if (message) continue;
    if (message.error().code != Code::store_damaged) return std::unexpected(message.error());
    report_.findings.push_back({Finding::Severity::damage,
                                message.error().code,
                                layout::message(run_, id),
                                run_,
                                {},
                                message.error().message,
                                message.error().hint,
                                message.error().advice});
  }
  return {};
}

}  // namespace pawl
