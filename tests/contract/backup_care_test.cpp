// What a backup does about damage, keys and pruned data.
#include <gtest/gtest.h>

#include <algorithm>

#include "adapters/filesystem/backup_file.hpp"
#include "adapters/filesystem/backups.hpp"
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "codec/store_keys.hpp"
#include "testing/filesystem_under_test.hpp"
#include "testing/manual_environment.hpp"
#include "testing/sim_file_system.hpp"

namespace pawl::testing {
namespace {

RunId named_run(const std::string& name) { return *RunId::parse(name); }

struct BackupWorld {
  SimDisk disk{5};
  ManualClock clock;
  SeededRandom random{5};
  FilesystemOptions options = small_options();
  SimFileSystem files{disk};
  FolderFiles folder{files, "store"};

  BackupWorld() { EXPECT_TRUE(files.make_folder("store")); }
  Environment environment() { return {&clock, &random, sim_owner(disk.boot_id(), 1)}; }
  std::unique_ptr<FilesystemStore> open(FileSystem& at) {
    auto store = FilesystemStore::open(at, environment(), options);
    EXPECT_TRUE(store) << describe(store.error());
    return std::move(*store);
  }
  static void save(RunWriter& writer, int first, int last) {
    for (int i = first; i <= last; ++i) {
      SaveRequest request;
      const std::string body = fmt::format(R"({{"secret-{}":"{}"}})", i, std::string(40, 'x'));
      request.body = body;
      ASSERT_TRUE(writer.save(request));
    }
  }
  void save_settled(const std::string& run, int count) {
    const auto store = open(folder);
    {
      const auto writer = store->open_run(named_run(run), {});
      ASSERT_TRUE(writer) << describe(writer.error());
      save(**writer, 1, count);
    }
    ASSERT_TRUE(store->settle_all());
  }
  void write(const std::string& path, std::string_view text) {
    const auto file = folder.open(path, OpenMode::create);
    ASSERT_TRUE(file) << describe(file.error());
    ASSERT_TRUE((*file)->write_at(0, text));
  }
  WrittenBackup back_up() {
    const auto store = open(folder);
    auto written = create_backup(*store, {&files, "backup", ExistingBackup::replace, environment(), {}}, {});
    EXPECT_TRUE(written) << describe(written.error());
    const auto file = files.open("backup", OpenMode::read);
    const auto checked = check_backup(**file, {});
    EXPECT_TRUE(checked) << describe(checked.error());
    if (checked) {
      EXPECT_EQ(checked->runs, written->runs);
    }
    if (checked) {
      EXPECT_EQ(checked->erased, written->erased);
    }
    return written ? *written : WrittenBackup();
  }
  RestoredStore restore() {
    const auto file = files.open("backup", OpenMode::read);
    const std::string name = fmt::format("restored-{}", ++restored_count);
    auto restored = restore_backup(**file, {&files, name, environment(), UINT64_MAX}, {});
    EXPECT_TRUE(restored) << describe(restored.error());
    return restored ? *restored : RestoredStore();
  }
  std::string restored_folder() const { return fmt::format("restored-{}", restored_count); }
  int restored_count = 0;
};

std::string everything_below(FileSystem& files, const std::string& folder) {
  std::string all;
  const auto entries = files.list(folder);
  for (const FolderEntry& entry : *entries) {
    const std::string path = join_path(folder, entry.name);
    all += entry.is_folder ? everything_below(files, path) : files.read_file(path).value_or("");
  }
  return all;
}

bool names(const std::vector<BackupNote>& notes, const std::string& path) {
  return std::ranges::any_of(notes, [&](const BackupNote& note) { return note.path == path; });
}

TEST(BackupCare, ARunThatIsOpenHasNoPrunedStatesInTheBackup) {
  for (const bool published : {false, true}) {
    BackupWorld world;
    SimFileSystem held_files(world.disk);
    FolderFiles held_folder(held_files, "store");
    const auto held = world.open(held_folder);
    auto writer = held->open_run(named_run("r"), {});
    ASSERT_TRUE(writer);
    BackupWorld::save(**writer, 1, 20);
    if (published) {
      ASSERT_TRUE(held->publish_lazily());
    }
    RetentionSettings settings;
    settings.keep = 2;
    ASSERT_EQ(world.open(world.folder)->prune(named_run("r"), settings, PruneMode::remove)->dropped.size(), 18U);
    const WrittenBackup written = world.back_up();
    EXPECT_TRUE(written.damage.empty());
    const RestoredStore restored = world.restore();
    EXPECT_TRUE(restored.damage.empty());
    EXPECT_EQ(restored.runs, 1U);
    EXPECT_EQ(restored.checkpoints, 2U);
    const std::string all = everything_below(world.files, world.restored_folder());
    EXPECT_EQ(all.find("secret-18\""), std::string::npos) << published;
    EXPECT_NE(all.find("secret-19\""), std::string::npos);
    FolderFiles copy(world.files, world.restored_folder());
    const auto store = world.open(copy);
    EXPECT_NE(store->restore(named_run("r"), {})->state.find("secret-20"), std::string::npos);
    auto next = store->open_run(named_run("r"), {});
    ASSERT_TRUE(next);
    BackupWorld::save(**next, 21, 22);
    next->reset();
    EXPECT_TRUE(store->check({}, Repair::no)->findings.empty());
    // The run goes on.
    BackupWorld::save(**writer, 21, 25);
  }
}

/// A prune writes the files of what it keeps before its list. A backup meanwhile has them once.
TEST(BackupCare, APruneThatWasInterruptedAnywhereLeavesNoFileTwiceInTheBackup) {
  for (std::uint64_t op = 1;; ++op) {
    BackupWorld world;
    SimFileSystem held_files(world.disk);
    FolderFiles held_folder(held_files, "store");
    auto held = world.open(held_folder);
    auto writer = held->open_run(named_run("r"), {});
    ASSERT_TRUE(writer);
    BackupWorld::save(**writer, 1, 20);
    RetentionSettings settings;
    settings.keep = 1;  // not the first one of its group
    ASSERT_TRUE(world.open(world.folder)->prune(named_run("r"), settings, PruneMode::remove));
    held_files.kill_at(held_files.ops() + op);
    writer->reset();  // releases the data of the pruned checkpoints
    held.reset();
    const auto store = world.open(world.folder);
    const auto written =
        create_backup(*store, {&world.files, "backup", ExistingBackup::replace, world.environment(), {}}, {});
    ASSERT_TRUE(written) << op << ": " << describe(written.error());
    EXPECT_EQ(world.restore().checkpoints, 1U) << op;
    if (!held_files.died()) break;
  }
}

TEST(BackupCare, AFileCannotBeAddedTwice) {
  SimDisk disk{5};
  SimFileSystem files{disk};
  const auto file = files.open("backup", OpenMode::create_empty);
  BackupWriter writer(**file, {});
  ASSERT_TRUE(writer.add("runs/r/run.json", "one"));
  writer.mark();
  ASSERT_TRUE(writer.add("runs/r/checkpoints/kept_00001.json", "one"));
  ASSERT_TRUE(writer.take_back());
  ASSERT_TRUE(writer.add("runs/r/checkpoints/kept_00001.json", "two"));
  for (const char* path : {"runs/r/run.json", "runs/r/checkpoints/kept_00001.json"}) {
    const auto added = writer.add(path, "two");
    ASSERT_FALSE(added);
    EXPECT_NE(added.error().message.find(path), std::string::npos);
  }
}

TEST(BackupCare, ARunWithoutADescriptionIsNamedAndCopied) {
  BackupWorld world;
  world.save_settled("good", 3);
  world.save_settled("lost", 3);
  ASSERT_TRUE(world.folder.remove(layout::run_file("lost")));
  ASSERT_TRUE(world.folder.make_folder("runs/started"));  // by a process that saved nothing
  const WrittenBackup written = world.back_up();
  EXPECT_EQ(written.runs, 1U);
  EXPECT_TRUE(names(written.damage, "runs/lost"));
  EXPECT_EQ(written.damage.size(), 1U);
  EXPECT_FALSE(world.restore().damage.empty());
  EXPECT_TRUE(world.files.exists(world.restored_folder() + "/runs/lost/checkpoints").value_or(false));
}

TEST(BackupCare, WhatIsInTheWrongPlaceIsNamedAndTheRestCanBeRestored) {
  BackupWorld world;
  world.save_settled("good", 3);
  world.save_settled("odd", 3);
  world.write("runs/odd/blobs", "a file");
  world.write("runs/file", "a file");
  ASSERT_TRUE(world.folder.make_folder("runs/odd/key.json"));
  const WrittenBackup written = world.back_up();
  for (const char* path : {"runs/odd/blobs", "runs/odd/key.json", "runs/file"})
    EXPECT_TRUE(names(written.damage, path)) << path;
  world.restore();
  FolderFiles copy(world.files, world.restored_folder());
  EXPECT_TRUE(world.open(copy)->restore(named_run("good"), {}));
}

TEST(BackupCare, KeysAreRecognisedByTheirContent) {
  BackupWorld world;
  world.save_settled("r", 3);
  const std::string key = key_text(SecretKey::of(std::string(32, 'k')));
  ASSERT_TRUE(world.folder.make_folder("runs/r/logs"));
  ASSERT_TRUE(world.folder.make_folder("recovery"));
  world.write("runs/r/logs/old.key", key);
  world.write("runs/r/logs/sum.1.out", key);  // a hash looks the same, and a resumed run may need the output
  world.write("runs/r/logs/a.1.log", "text");
  world.write("runs/r/logs/sum.2.out", "-----BEGIN PRIVATE KEY-----\nMC4CAQ\n-----END PRIVATE KEY-----\n");
  world.write("recovery/old", key);
  const WrittenBackup written = world.back_up();
  for (const char* path : {"runs/r/logs/old.key", "runs/r/logs/sum.2.out", "recovery/old"})
    EXPECT_TRUE(names(written.omitted, path)) << path;
  EXPECT_EQ(written.omitted.size(), 3U);
  EXPECT_EQ(written.omitted.front().why, "it contains a key");
  EXPECT_TRUE(written.damage.empty());
  world.restore();
  EXPECT_EQ(everything_below(world.files, world.restored_folder()).find("BEGIN PRIVATE"), std::string::npos);
}

TEST(BackupCare, AFileThatCannotBeReadIsNamedAndTheRestIsCopied) {
  BackupWorld world;
  world.save_settled("a", 3);
  world.save_settled("b", 3);
  world.save_settled("c", 3);
  std::size_t named = 0;
  for (std::uint64_t nth = 1; nth < 200; ++nth) {
    SimFileSystem failing(world.disk);
    FolderFiles folder(failing, "store");
    const auto store = world.open(folder);
    failing.inject({.what = Fault::eio, .nth = nth, .persistent = false});
    const auto written =
        create_backup(*store, {&world.files, "backup", ExistingBackup::replace, world.environment(), {}}, {});
    if (failing.faults_fired() == 0) break;
    if (!written) continue;  // store.json, or a journal
    if (!written->damage.empty()) ++named;
    const auto file = world.files.open("backup", OpenMode::read);
    EXPECT_TRUE(check_backup(**file, {})) << nth;
  }
  EXPECT_GT(named, 5U);
}

TEST(BackupCare, ARestoreThatFailsLeavesNothing) {
  BackupWorld world;
  world.save_settled("a", 2);
  world.back_up();
  std::size_t failed = 0;
  for (std::uint64_t nth = 1; nth < 400; ++nth) {
    SimFileSystem failing(world.disk);
    const auto file = world.files.open("backup", OpenMode::read);
    failing.inject({.what = Fault::eio, .nth = nth, .persistent = false});
    const std::string name = fmt::format("to-{}", nth);
    const auto restored = restore_backup(**file, {&failing, name, world.environment(), UINT64_MAX}, {});
    if (failing.faults_fired() == 0) break;
    if (!restored) ++failed;
    const auto entries = world.files.list("");
    for (const FolderEntry& entry : *entries) EXPECT_FALSE(entry.name.contains("restore-")) << nth << entry.name;
  }
  EXPECT_GT(failed, 5U);
}

TEST(BackupCare, ErasedRunsAreCountedApartAndRemovedOnesNot) {
  BackupWorld world;
  world.save_settled("a", 1);
  world.save_settled("b", 1);
  world.save_settled("c", 1);
  {
    const auto store = world.open(world.folder);
    ASSERT_TRUE(store->erase(named_run("b"), {.reason = "x", .by = "me"}));
    ASSERT_TRUE(store->erase(named_run("c"), {.reason = "x", .by = "me", .remains = Remains::tombstone}));
  }
  const WrittenBackup written = world.back_up();
  EXPECT_EQ(written.runs, 1U);
  EXPECT_EQ(written.erased, 1U);
  const RestoredStore restored = world.restore();
  EXPECT_EQ(restored.runs, 1U);
  EXPECT_EQ(restored.erased, 1U);
}

}  // namespace
}  // namespace pawl::testing
