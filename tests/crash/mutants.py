#!/usr/bin/env python3
"""Breaks the source of the store in one place at a time and expects the crash suite to fail.

Each mutant is an exact replacement in one file. The source is restored at the end, whatever happens.
"""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STORE = ROOT / "src" / "adapters" / "filesystem"
SUITE = "Backup.B*:Quarter/CrashTest*/0:Call/FailNth*:FailedSync*:Store/EraseCrash*:EraseSchedules*:EraseOrder*:ImportCrash*:Fallback*:"
SUITE += "PruneSpace*:RebuildFaults*:TwoSettlers*:CopiedStore*:*UsedAfterFork*:DiscardedJournal*:*StuckRun*"

MUTANTS = [
    ("the watermark is written before the sync", "journal_writer.cpp",
     "  if (auto synced = file->sync(SyncPoint::journal_batch); !synced) {",
     "  {\n    const Lock early(mutex_);\n    PAWL_TRY(write_watermark(batch_number));\n  }\n"
     "  if (auto synced = file->sync(SyncPoint::journal_batch); !synced) {"),
    ("readers ignore the watermark", "journal_reader.cpp",
     "  view.visible_batch = std::min(view.last_batch, view.watermark->batch_number);", ""),
    ("the next writer does not confirm the tail", "journal_writer.cpp",
     "  PAWL_TRY(confirm_tail(view));\n", ""),
    ("a segment is recycled before its files are synced", "filesystem_publish.cpp",
     "  PAWL_TRY(publisher_.sync());\n  PAWL_TRY(keep_journaled(journal.place(), stuck));", "  PAWL_TRY(keep_journaled(journal.place(), stuck));"),
    ("a segment is recycled before it is published", "filesystem_publish.cpp",
     "  PAWL_TRY(settle(journal, segments));\n", ""),
    ("a segment is restarted before it is published", "filesystem_publish.cpp",
     "  PAWL_TRY(settle(journal, {journal.active()}));\n", ""),
    ("a segment is restarted with its generation", "journal_writer.cpp",
     "  reborn.header_offset = kSegmentHeaderBytes / 2", "  reborn.header.generation = segments_[active_].header.generation;\n  reborn.header_offset = kSegmentHeaderBytes / 2"),
    ("a journal whose segment could not be restarted is used on", "journal_writer.cpp",
     "    failed_ = true;  // readers may see the new header, under which batches with the old one don't count\n", ""),
    ("what is left of a discarded journal does not say what is settled", "journal_writer.cpp",
     "  std::ranges::sort(segments, {}, [](const Segment& segment) { return segment.header.settled_through; });\n", ""),
    ("other journals' earlier records are not published", "filesystem_publish.cpp",
     "    if (is_clear(run)) {", "    if (true) {"),
    ("the run's writer does not wait for unconfirmed tails", "filesystem_store.cpp",
     "    if (!unconfirmed) return WriterView{std::move(snapshot), is_new};", "    static_cast<void>(unconfirmed);\n    return WriterView{std::move(snapshot), is_new};"),
    ("a recycled segment keeps its generation", "journal_writer.cpp",
     "    file = segments_.front().file;\n    header_offset",
     "    header.generation = segments_.front().header.generation;\n    file = segments_.front().file;\n    header_offset"),
    ("a blob is written after its record's batch", "run_writer.cpp",
     "write_whole_file(files, path, payload, SyncPoint::blob)", "write_whole_file(files, path, payload, std::nullopt)"),
    ("a complete file is replaced when it is published", "publisher.cpp",
     "  if (existing) {\n", "  if (existing && known) {\n"),
    ("the catalogue's commit is not durable", "catalogue.cpp",
     "PRAGMA synchronous=EXTRA; BEGIN IMMEDIATE\"));\n  PAWL_TRY(insert(", "PRAGMA synchronous=FULL; BEGIN IMMEDIATE\"));\n  PAWL_TRY(insert("),
    ("a failed sync does not stop the handle", "journal_writer.cpp",
     "    failed_ = true;\n    Error error = synced.error();", "    Error error = synced.error();"),
    ("saves that build on a failed one continue", "committer.cpp", "    ++epoch_;\n", ""),
    ("a new segment gets its name before it is complete", "journal_writer.cpp",
     "    PAWL_TRY(segment.file->sync(SyncPoint::segment_created));\n    return place_.files->rename(temporary, path);",
     "    PAWL_TRY(place_.files->rename(temporary, path));\n    return segment.file->sync(SyncPoint::segment_created);"),
    ("a backup copies a run that has changed since the snapshot", "store_backup.cpp",
     "  if (stamp_of(files, candidate.run) != candidate.stamp) return false;\n", ""),
    ("a backup does not notice that something was removed", "store_backup.cpp", "    complete = before == after;\n", ""),
    ("a backup contains a fork whose parent was erased", "store_backup.cpp",
     "    if (erased) return std::optional<WrittenBackup>();\n", "    static_cast<void>(erased);\n"),
    ("records of a run that can't be published are dropped", "filesystem_publish.cpp",
     "  PAWL_TRY(keep_journaled(journal.place(), stuck));\n", ""),
    ("publishing restores pruned checkpoints", "publisher.cpp",
     "    if (pruned.is_closed(record.sequence) || pruned.is_aside(record.sequence)) {",
     "    if ((pruned.is_closed(record.sequence) || pruned.is_aside(record.sequence)) && batch.checkpoints.empty()) {"),
    ("files are removed before the list of pruned checkpoints is durable", "run_pruner.cpp",
     "  const auto replaced = replace_pruned(", "  list_ = next_;\n  PAWL_TRY(sweep());\n  const auto replaced = replace_pruned("),
    ("blobs are removed while a writer is about to refer to one", "blob_sweeper.cpp",
     "  if (!locked) return 0;\n", ""),
    ("blobs are removed without checking the records again", "blob_sweeper.cpp",
     "  PAWL_TRY_ASSIGN(const bool readable, spare_needed(*snapshot, newest_base_, Missing::stops, names));\n  if (!readable) return 0;\n", ""),
    ("the parent does not record its fork", "filesystem_fork.cpp",
     "  PAWL_TRY(write_fork_note(files_, home, {run.text(), writer->info().uuid, at}, seed, folder));\n", "  static_cast<void>(seed);\n"),
    ("pruning ignores the checkpoints that forks are based on", "run_pruner.cpp",
     "  PAWL_TRY(keep_forked(judged));\n", ""),
    ("a fork is created while its history is being pruned", "filesystem_fork.cpp",
     "  PAWL_TRY_ASSIGN(const auto pruning, hold_pruning(home));\n", ""),
    ("a file is unlinked before its zeros are durable", "run_eraser.cpp",
     "    if (!many) PAWL_TRY(file->sync(SyncPoint::erased_bytes));\n", ""),
    ("data is erased before the mark is durable", "run_eraser.cpp",
     "  PAWL_TRY(files_.sync_folder(layout::run(run_), SyncPoint::erased_mark_name));\n  PAWL_TRY(wipe_file", "  PAWL_TRY(wipe_file"),
    ("an imported run gets its name before its files are durable", "filesystem_export.cpp",
     "    PAWL_TRY(files_.sync_all(SyncPoint::imported_files));\n", ""),
    ("the catalogue is trusted during an import", "filesystem_export.cpp",
     "  if (catalogued) PAWL_TRY(catalogue_.suspend());\n", ""),
    ("a failed write leaves its temporary file", "whole_file.cpp",
     "  static_cast<void>(files.remove(temporary));  // a full disk needs the blocks\n", ""),
    ("a full disk keeps the reserve", "filesystem_store.hpp", " && give_up_reserve()) done", " && options_.reserve_bytes == 1) done"),
    ("dropped checkpoints of the newest group stay", "filesystem_prune.cpp",
     "  if (!newest_is_left || (stop && stop())) return report;\n", "  if (newest_is_left || (stop && stop())) return report;\n"),
    ("pruned files can come back", "run_pruner.cpp",
     "named ? files_.sync_folder(layout::checkpoints(run_), SyncPoint::erased_names) : Result<void>();", "Result<void>();"),
    ("pruned blobs can come back", "blob_sweeper.cpp",
     "  if (!names.empty()) PAWL_TRY(files_.sync_folder(layout::blobs(run_), SyncPoint::erased_names));\n", ""),
    ("a rebuild of the catalogue skips a run that can't be read", "filesystem_catalogue.cpp",
     "      if (!read && refuse_erased(files_, run)) return read;\n", "      static_cast<void>(read);\n"),
    ("a rebuild of the catalogue reads only files", "filesystem_catalogue.cpp",
     "      RunReader reader(files_, keys_, run, snapshot);\n      PAWL_TRY_ASSIGN(const bool added, add_journal_rows(reader, *snapshot, update));\n",
     "      RunReader reader(files_, keys_, run, std::make_shared<JournalSnapshot>());\n      const bool added = false;\n"),
    ("the note of an erasure is removed without the lock", "filesystem_erase.cpp",
     "  if (!exists) return files_.remove(layout::erasing(run));\n",
     "  const auto early = load_erased(files_, run);\n  if (!exists || !early || early->finished) return files_.remove(layout::erasing(run));\n"),
    ("a forked child may write", "../../base/process_bound.cpp", "generation.fetch_add(1, std::memory_order_relaxed);", ""),
]


def run(command, **options):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def find(text, wanted):
    """Returns the (begin, end) offsets of all places in `text` that equal `wanted` apart from white space."""
    kept = [i for i, character in enumerate(text) if not character.isspace()]
    bare = "".join(text[i] for i in kept)
    bare_wanted = "".join(wanted.split())
    places = []
    at = bare.find(bare_wanted)
    while at >= 0:
        places.append((kept[at], kept[at + len(bare_wanted) - 1] + 1))
        at = bare.find(bare_wanted, at + 1)
    return places


def problem_of(file_name, old):
    """Returns why the mutant can't be applied, or an empty text."""
    path = STORE / file_name
    if not path.exists():
        return f"{file_name} does not exist"
    count = len(find(path.read_text(), old))
    return "" if count == 1 else f"the text to replace occurs {count} times in {file_name}"


def try_mutant(name, file_name, old, new, build):
    path = STORE / file_name
    if problem := problem_of(file_name, old):
        return problem
    original = path.read_text()
    begin, end = find(original, old)[0]
    try:
        path.write_text(original[:begin] + new + original[end:])
        built = run(["ninja", "-C", build, "crash_test"])
        if built.returncode != 0:
            return "does not compile:\n" + built.stdout[-2000:]
        try:
            tested = run([str(ROOT / build / "crash_test"), f"--gtest_filter={SUITE}", "--gtest_fail_fast"], timeout=900)
        except subprocess.TimeoutExpired:
            return ""
        return "" if tested.returncode != 0 else "survived: the suite still passes"
    finally:
        path.write_text(original)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release", help="a configured build folder with tests")
    parser.add_argument("--only", default="", help="run mutants whose name contains this")
    parser.add_argument("--check", action="store_true", help="only check that each mutant's text occurs once")
    options = parser.parse_args()
    if options.check:
        problems = [f"{name}: {problem}" for name, file_name, old, _ in MUTANTS if (problem := problem_of(file_name, old))]
        print("\n".join(problems) or f"{len(MUTANTS)} mutants apply")
        return 1 if problems else 0
    chosen = [mutant for mutant in MUTANTS if options.only in mutant[0]]
    survivors = 0
    for number, mutant in enumerate(chosen, 1):
        print(f"{number}/{len(chosen)} {mutant[0]} ... ", end="", flush=True)
        problem = try_mutant(*mutant, options.build)
        survivors += problem != ""
        print(problem or "killed", flush=True)
    run(["ninja", "-C", options.build, "crash_test"])
    print(f"{len(chosen) - survivors} passed, {survivors} failed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
