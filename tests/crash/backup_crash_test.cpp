// Backups: complete whatever other processes do meanwhile, and all or nothing when they are killed or lose power.
#include <gtest/gtest.h>

#include <map>

#include "adapters/filesystem/backups.hpp"
#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/run_export.hpp"
#include "testing/filesystem_under_test.hpp"
#include "testing/manual_environment.hpp"
#include "testing/sim_file_system.hpp"

namespace pawl::testing {
namespace {

constexpr std::string_view kStoreFolder = "store";
constexpr std::string_view kBackupName = "b.tar.zst";
constexpr std::string_view kCopy = "copy";

RunId backed_up_run(std::string_view run) { return *RunId::parse(run); }

struct BackupWorld {
  explicit BackupWorld(std::uint64_t seed) : disk(seed), random(seed) {
    SimFileSystem files(disk);
    EXPECT_TRUE(files.make_folder(kStoreFolder));
    EXPECT_TRUE(files.sync_folder("", SyncPoint::store_file_name));
  }
  SimDisk disk;
  ManualClock clock;
  SeededRandom random;

  [[nodiscard]] Environment environment(std::uint64_t pid) { return {&clock, &random, sim_owner(disk.boot_id(), pid)}; }
  Result<WrittenBackup> back_up(SimFileSystem& files, ExistingBackup existing = ExistingBackup::refuse) {
    FolderFiles folder(files, std::string(kStoreFolder));
    PAWL_TRY_ASSIGN(const auto store, FilesystemStore::open(folder, environment(2), small_options()));
    return create_backup(*store, {&files, std::string(kBackupName), existing, environment(2)}, {});
  }
  Result<RestoredStore> restore(SimFileSystem& files) {
    PAWL_TRY_ASSIGN(const auto file, files.open(kBackupName, OpenMode::read));
    return restore_backup(*file, {&files, std::string(kCopy), environment(3), 1U << 30U}, {});
  }
};

/// A process that writes to the store, and what it was told.
class Writer {
 public:
  Writer(BackupWorld& world, std::uint64_t pid)
      : world_(world), files_(world.disk), folder_(files_, std::string(kStoreFolder)), pid_(pid) {
    open();
  }

  /// What is known about a run.
  struct Known {
    std::map<std::uint64_t, std::string> states;    // acknowledged, by sequence
    std::map<std::string, std::uint64_t> messages;  // acknowledged; 0, or the checkpoint that contains its effect
    bool pruned = false;
    bool erased = false;
    [[nodiscard]] std::uint64_t latest() const { return states.empty() ? 0 : states.rbegin()->first; }
  };
  std::map<std::string, Known> known;

  void open() {
    auto store = FilesystemStore::open(folder_, world_.environment(pid_), small_options());
    ASSERT_TRUE(store) << describe(store.error());
    store_ = std::move(*store);
  }

  void act() {
    const std::string run = fmt::format("r{}", world_.random.next() % 4);
    switch (world_.random.next() % 12) {
      case 0: static_cast<void>(store_->settle_all()); break;
      case 1: static_cast<void>(store_->publish_lazily()); break;
      case 2: prune(run); break;
      case 3: post(run); break;
      case 4: take(run); break;
      case 5:
        if (world_.random.next() % 4 == 0) erase(run);
        break;
      case 6: fork(run); break;
      case 7:
        store_.reset();
        open();
        break;
      default: save(run); break;
    }
  }

  void save(const std::string& run, const std::string& note = {}) {
    const auto writer = store_->open_run(backed_up_run(run), {});
    if (!writer) return;
    SaveRequest request;
    const std::size_t size = world_.random.next() % 8 == 0 ? 3000 : 200;
    const std::string body = fmt::format("{{\"run\":\"{}\",\"n\":{},\"note\":\"{}\",\"text\":\"{}\"}}", run,
                                         world_.random.next(), note, std::string(size, 'x'));
    request.body = body;
    request.events.push_back({"happened", "{}"});
    const auto saved = (*writer)->save(request);
    if (saved) known[run].states[saved->sequence.value] = body;
  }

 private:
  void prune(const std::string& run) {
    if (!known.contains(run)) return;
    known[run].pruned = true;
    RetentionSettings settings;
    settings.keep = 2;
    static_cast<void>(store_->prune(backed_up_run(run), settings, PruneMode::remove));
  }
  void post(const std::string& run) {
    const auto id = store_->post(backed_up_run(run), "{\"hello\":1}");
    if (id) known[run].messages[*id] = 0;
  }
  void take(const std::string& run) {
    const auto inbox = store_->inbox(backed_up_run(run));
    if (!inbox || inbox->empty()) return;
    const std::uint64_t before = known[run].latest();
    save(run, inbox->front().id);
    if (known[run].latest() == before) return;
    known[run].messages[inbox->front().id] = known[run].latest();
    static_cast<void>(store_->take(backed_up_run(run), inbox->front().id));
  }
  void erase(const std::string& run) {
    EraseRequest request;
    request.reason = "a test";
    request.cascade = Cascade::yes;
    // Forks go first, so some may be gone after a failure.
    static_cast<void>(store_->erase(backed_up_run(run), request));
    for (auto& [name, one] : known) {
      const auto info = store_->run(backed_up_run(name));
      if (!info && info.error().code == Code::run_erased) one.erased = true;
    }
  }
  void fork(const std::string& parent) {
    const auto& states = known[parent].states;
    const std::string run = fmt::format("f{}", world_.random.next() % 3);
    if (states.empty() || known.contains(run)) return;
    const auto writer = store_->fork(backed_up_run(parent), {states.rbegin()->first}, backed_up_run(run), {});
    if (!writer) return;
    SaveRequest request;
    const std::string body = fmt::format("{{\"fork\":{}}}", world_.random.next());
    request.body = body;
    const auto saved = (*writer)->save(request);
    if (saved) known[run].states[saved->sequence.value] = body;
  }

  BackupWorld& world_;
  SimFileSystem files_;
  FolderFiles folder_;
  const std::uint64_t pid_;
  std::unique_ptr<FilesystemStore> store_;
};

std::string fault_of_run(FilesystemStore& copy, const std::string& run, const Writer::Known& start,
                         const Writer::Known& end) {
  const auto info = copy.run(backed_up_run(run));
  if (start.erased || (!info && info.error().code == Code::run_erased)) {
    if (!end.erased) return "it was not erased";
    return !info && info.error().code == Code::run_erased ? "" : "an erased run came back";
  }
  if (!info) return describe(info.error());
  const std::uint64_t latest = info->latest.value;
  if (latest < start.latest()) return fmt::format("has {} instead of {}", latest, start.latest());
  for (const auto& [sequence, state] : end.states) {
    if (sequence > latest) break;
    const auto restored = copy.restore(backed_up_run(run), {.by = Which::By::sequence, .sequence = {sequence}});
    if (!restored && restored.error().code == Code::checkpoint_pruned && end.pruned) continue;
    if (!restored) return describe(restored.error());
    if (restored->state != state) return fmt::format("checkpoint {} differs", sequence);
  }
  const auto inbox = copy.inbox(backed_up_run(run));
  if (!inbox) return describe(inbox.error());
  for (const auto& [id, effect] : start.messages) {
    if (effect != 0) continue;
    const auto same = [&](const Message& message) { return message.id == id; };
    const std::uint64_t later = end.messages.at(id);
    if (std::ranges::none_of(*inbox, same) && (later == 0 || later > latest)) return "a message is missing";
  }
  return {};
}

/// Returns what is wrong with the copy, or an empty text.
std::string fault_of_copy(BackupWorld& world, SimFileSystem& files, const std::map<std::string, Writer::Known>& start,
                          const std::map<std::string, Writer::Known>& end) {
  FolderFiles folder(files, std::string(kCopy));
  const auto copy = FilesystemStore::open(folder, world.environment(9), small_options());
  if (!copy) return describe(copy.error());
  for (const auto& [run, known] : start) {
    if (known.states.empty() && !known.erased) continue;
    if (std::string fault = fault_of_run(**copy, run, known, end.at(run)); !fault.empty()) return run + ": " + fault;
  }
  for (const auto& [run, known] : end) {
    if (known.states.empty() || (*copy)->run(backed_up_run(run))) continue;
    if (known.erased || !start.contains(run) || start.at(run).states.empty()) continue;
    return run + " is missing";
  }
  const auto list = (*copy)->runs(SIZE_MAX);
  return list ? "" : describe(list.error());
}

std::string run_beside_writer(std::uint64_t seed, int actions_per_hundred_calls) {
  BackupWorld world(seed);
  Writer writer(world, 1);
  for (int i = 0; i < 40; ++i) writer.act();
  writer.save("r0");
  const auto start = writer.known;
  SimFileSystem files(world.disk);
  files.before_each_op([&](std::uint64_t) {
    if (static_cast<int>(world.random.next() % 100) < actions_per_hundred_calls) writer.act();
  });
  const auto written = world.back_up(files);
  if (!written && written.error().code == Code::store_busy) return {};
  if (!written) return "create: " + describe(written.error());
  const auto end = writer.known;
  SimFileSystem reading(world.disk);
  const auto restored = world.restore(reading);
  if (!restored) return "restore: " + describe(restored.error());
  if (!restored->damage.empty())
    return fmt::format("damage: {}: {}", restored->damage.front().file, restored->damage.front().what);
  return fault_of_copy(world, reading, start, end);
}

TEST(Backup, BesideAWriterItContainsWhatWasAcknowledged) {
  for (const int actions : {0, 1, 5, 30}) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed)
      ASSERT_EQ(run_beside_writer(seed, actions), "") << "seed " << seed << ", " << actions << " %";
  }
}

enum class BackupEnd : std::uint8_t { kill, power };

struct BackupOutcome {
  bool finished = false;
  std::string fault = {};
  std::uint64_t ops = 0;
};

/// Which part is interrupted.
enum class Part : std::uint8_t { create, replace, restore };

void cut_at(SimFileSystem& files, std::uint64_t cut, BackupEnd end, std::optional<SyncPoint> ignored) {
  if (ignored) files.ignore_sync(*ignored);
  if (cut != 0 && end == BackupEnd::kill) files.kill_at(cut);
  if (cut != 0 && end == BackupEnd::power) files.power_cut_at(cut);
}

std::string leftovers(SimFileSystem& files) {
  const auto entries = files.list("");
  if (!entries) return describe(entries.error());
  for (const FolderEntry& entry : *entries) {
    if (entry.name.starts_with('.')) return entry.name + " was left behind";
  }
  return {};
}

BackupOutcome interrupt(Part part, std::uint64_t seed, std::uint64_t cut, BackupEnd end,
                        std::optional<SyncPoint> ignored) {
  BackupWorld world(seed);
  std::map<std::string, Writer::Known> known;
  {
    Writer writer(world, 1);
    for (int i = 0; i < 25; ++i) writer.act();
    writer.save("r0");
    known = writer.known;
  }
  BackupOutcome outcome;
  if (part != Part::create) {
    SimFileSystem files(world.disk);
    EXPECT_TRUE(world.back_up(files));
  }
  {
    SimFileSystem files(world.disk);
    cut_at(files, cut, end, ignored);
    outcome.finished = part == Part::restore ? world.restore(files).has_value()
                                             : world.back_up(files, ExistingBackup::replace).has_value();
    outcome.ops = files.ops();
    if (!files.died()) files.kill();
  }
  if (end == BackupEnd::power) world.disk.power_loss();
  SimFileSystem files(world.disk);
  const auto name = part == Part::restore ? kCopy : kBackupName;
  const bool there = files.exists(name).value_or(false);
  if (!there && (outcome.finished || part == Part::replace)) {
    outcome.fault = "it is missing";
    return outcome;
  }
  if (there && part != Part::restore) {
    const auto restored = world.restore(files);
    if (!restored) outcome.fault = describe(restored.error());
  }
  if (!there) {
    const bool again = part == Part::restore ? world.restore(files).has_value() : world.back_up(files).has_value();
    if (!again) outcome.fault = "it can't be repeated";
    if (again) outcome.fault = leftovers(files);
    if (part != Part::restore && again && !world.restore(files)) outcome.fault = "the second one can't be restored";
  }
  if (outcome.fault.empty()) outcome.fault = fault_of_copy(world, files, known, known);
  return outcome;
}

TEST(Backup, CutAtAnyCallItIsThereWholeOrNotAtAll) {
  for (const Part part : {Part::create, Part::replace, Part::restore}) {
    for (const BackupEnd end : {BackupEnd::kill, BackupEnd::power}) {
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        const std::uint64_t ops = interrupt(part, seed, 0, BackupEnd::kill, {}).ops;
        ASSERT_GT(ops, 4U);
        for (std::uint64_t cut = 1; cut <= ops; ++cut) {
          const BackupOutcome outcome = interrupt(part, seed, cut, end, {});
          ASSERT_EQ(outcome.fault, "") << "part " << static_cast<int>(part) << ", seed " << seed << ", cut at " << cut
                                       << (end == BackupEnd::kill ? " by kill" : " by power loss");
        }
      }
    }
  }
}

TEST(Backup, EverySyncOfItIsNeeded) {
  const std::pair<SyncPoint, Part> points[] = {{SyncPoint::backup_file, Part::replace},
                                               {SyncPoint::backup_name, Part::create},
                                               {SyncPoint::restored_files, Part::restore},
                                               {SyncPoint::restored_name, Part::restore}};
  for (const auto& [point, part] : points) {
    bool noticed = false;
    for (std::uint64_t seed = 1; seed <= 100 && !noticed; ++seed) {
      const std::uint64_t ops = interrupt(part, seed, 0, BackupEnd::power, point).ops;
      for (std::uint64_t cut = ops; cut <= ops + 1 && !noticed; ++cut)
        noticed = !interrupt(part, seed, cut, BackupEnd::power, point).fault.empty();
    }
    EXPECT_TRUE(noticed) << "without the sync '" << to_text(point) << "' nothing is lost";
  }
}

/// Flips one bit of each byte, and cuts the file at each length.
TEST(Backup, ADamagedFileIsRefusedAndLeavesNothing) {
  BackupWorld world(5);
  std::map<std::string, Writer::Known> known;
  {
    Writer writer(world, 1);
    for (int i = 0; i < 8; ++i) writer.save("r0");
    known = writer.known;
  }
  SimFileSystem files(world.disk);
  ASSERT_TRUE(world.back_up(files));
  int ignored = 0;
  const std::string bytes = *files.read_file(kBackupName);
  const auto refused = [&](const std::string& changed) {
    const auto file = files.open(kBackupName, OpenMode::create_empty);
    ASSERT_TRUE((*file)->write_at(0, changed));
    const auto restored = world.restore(files);
    if (restored) {
      // zstd ignores a few bits.
      ++ignored;
      ASSERT_EQ(fault_of_copy(world, files, known, known), "");
      ASSERT_TRUE(remove_all(files, std::string(kCopy)));
      return;
    }
    const Code code = restored.error().code;
    ASSERT_TRUE(code == Code::backup_damaged || code == Code::backup_too_large || code == Code::unsupported_version)
        << describe(restored.error());
    ASSERT_FALSE(files.exists(kCopy).value_or(true));
    ASSERT_EQ(leftovers(files), "");
  };
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ (1U << (i % 8U)));
    refused(changed);
    if (HasFatalFailure()) FAIL() << "byte " << i << " of " << bytes.size();
  }
  for (std::size_t length = 0; length < bytes.size(); length += 7) {
    refused(bytes.substr(0, length));
    if (HasFatalFailure()) FAIL() << "cut to " << length;
  }
  refused(bytes + "x");
  refused(bytes + bytes);
  EXPECT_LE(ignored, static_cast<int>(bytes.size() / 100));
}

TEST(Backup, AFullDiskLeavesNothingBehind) {
  for (std::uint64_t nth = 1; nth < 400; nth += 3) {
    BackupWorld world(7);
    {
      Writer writer(world, 1);
      for (int i = 0; i < 10; ++i) writer.save("r0");
    }
    SimFileSystem files(world.disk);
    files.inject({.what = Fault::enospc, .nth = nth, .persistent = true});
    const auto written = world.back_up(files);
    if (files.faults_fired() == 0) break;
    EXPECT_FALSE(written);
    SimFileSystem reading(world.disk);
    EXPECT_EQ(leftovers(reading), "") << nth;
    EXPECT_FALSE(reading.exists(kBackupName).value_or(true));
  }
}

}  // namespace
}  // namespace pawl::testing
