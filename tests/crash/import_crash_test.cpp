// An import that is killed or loses power at any of its calls leaves the run complete or absent, and other runs
// unchanged.
#include <gtest/gtest.h>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"
#include "testing/filesystem_under_test.hpp"
#include "testing/manual_environment.hpp"
#include "testing/sim_file_system.hpp"
#include "testing/text_files.hpp"

namespace pawl::testing {
namespace {

constexpr std::uint64_t kSeeds = 6;

RunId imported_run(std::string_view run) { return *RunId::parse(run); }

Result<SecretKey> no_key() { return fail(Code::key_missing, "no key"); }

struct World {
  explicit World(std::uint64_t seed) : disk(seed), random(seed) {}
  SimDisk disk;
  ManualClock clock;
  SeededRandom random;

  std::unique_ptr<FilesystemStore> open(SimFileSystem& files, std::uint64_t pid) {
    auto store = FilesystemStore::open(files, {&clock, &random, sim_owner("boot", pid)}, small_options());
    EXPECT_TRUE(store) << describe(store.error());
    return store ? std::move(*store) : nullptr;
  }
};

void save(FilesystemStore& store, std::string_view run, const std::string& body) {
  const auto writer = store.open_run(imported_run(run), {});
  ASSERT_TRUE(writer) << describe(writer.error());
  SaveRequest request;
  request.body = body;
  request.events.push_back({"happened", "{}"});
  ASSERT_TRUE((*writer)->save(request));
}

/// A run with several groups, a blob and events.
std::string exported_run() {
  World world(1);
  SimFileSystem files(world.disk);
  const auto store = world.open(files, 1);
  for (int i = 0; i < 14; ++i)
    save(*store, "traveller", fmt::format("{{\"n\":{},\"text\":\"{}\"}}", i, std::string(i == 9 ? 5000 : 300, 'x')));
  std::string text;
  const auto sent =
      store->export_run(imported_run("traveller"), ExportLogs::no, no_key, [&](std::string_view bytes) -> Result<void> {
        text += bytes;
        return {};
      });
  EXPECT_TRUE(sent) << describe(sent.error());
  return text;
}

/// Returns what is wrong with a store after an import, or an empty string. With Sure::yes, the run must exist.
enum class Sure : std::uint8_t { no, yes };
std::string fault_of(FilesystemStore& store, Sure sure) {
  const auto report = store.check({}, Repair::no);
  if (!report) return describe(report.error());
  for (const Finding& finding : report->findings) {
    // Power loss may truncate files whose records a journal still contains; publishing repairs them.
    if (finding.severity == Finding::Severity::damage) return finding.file + ": " + finding.what;
  }
  const auto other = store.restore(imported_run("resident"), {});
  if (!other || other->state != "{\"here\":true}") return "another run was hurt";
  const auto there = store.restore(imported_run("traveller"), {});
  if (!there) return sure == Sure::yes || there.error().code != Code::run_not_found ? describe(there.error()) : "";
  if (there->info.sequence.value != 14) return "it is there in part";
  const auto first = store.restore(imported_run("traveller"), {.by = Which::By::sequence, .sequence = {10}});
  return first && first->state.size() > 5000 ? "" : "an earlier checkpoint is missing";
}

struct ImportOutcome {
  bool finished = false;  // the import returned success
  std::string fault = {};
  std::uint64_t ops = 0;
};

enum class End : std::uint8_t { kill, power };

/// Imports, interrupted at call `cut` (0: never). Then checks the store, repeats the import and checks again.
ImportOutcome run_schedule(const std::string& text, std::uint64_t seed, std::uint64_t cut, End end,
                           std::optional<SyncPoint> ignored) {
  World world(seed);
  ImportOutcome outcome;
  TextFiles source({{"a.pawl", text}});
  const auto file = *source.open("a.pawl", OpenMode::read);
  {
    SimFileSystem files(world.disk);
    save(*world.open(files, 2), "resident", "{\"here\":true}");
  }
  {
    SimFileSystem files(world.disk);
    if (ignored) files.ignore_sync(*ignored);
    if (cut != 0 && end == End::kill) files.kill_at(cut);
    if (cut != 0 && end == End::power) files.power_cut_at(cut);
    const auto store = world.open(files, 3);
    outcome.finished = store->import_run(*file, no_key).has_value();
    outcome.ops = files.ops();
    if (!files.died()) files.kill();
  }
  if (end == End::power) world.disk.power_loss();
  {
    SimFileSystem files(world.disk);
    const auto store = world.open(files, 4);
    outcome.fault = fault_of(*store, outcome.finished ? Sure::yes : Sure::no);
    if (!outcome.fault.empty()) return outcome;
    const auto again = store->import_run(*file, no_key);
    if (!again) outcome.fault = "it can't be repeated: " + describe(again.error());
    if (outcome.fault.empty()) outcome.fault = fault_of(*store, Sure::yes);
    if (outcome.fault.empty() && files.exists(layout::kArriving).value_or(true))
      outcome.fault = "something was left behind";
  }
  return outcome;
}

TEST(ImportCrash, CutAtAnyCallItIsThereWholeOrNotAtAll) {
  const std::string text = exported_run();
  const std::uint64_t ops = run_schedule(text, 1, 0, End::kill, {}).ops;
  ASSERT_GT(ops, 20U);
  for (const End end : {End::kill, End::power}) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      for (std::uint64_t cut = 1; cut <= ops; ++cut) {
        const ImportOutcome outcome = run_schedule(text, seed, cut, end, {});
        ASSERT_EQ(outcome.fault, "") << "seed " << seed << ", cut at " << cut
                                     << (end == End::kill ? " by kill" : " by power loss");
      }
    }
  }
}

TEST(ImportCrash, EverySyncOfItIsNeeded) {
  const std::string text = exported_run();
  for (const SyncPoint point : {SyncPoint::imported_files, SyncPoint::imported_name}) {
    bool noticed = false;
    for (std::uint64_t seed = 1; seed <= 200 && !noticed; ++seed) {
      const std::uint64_t ops = run_schedule(text, seed, 0, End::power, point).ops;
      for (std::uint64_t cut = ops - std::min<std::uint64_t>(ops, 4); cut <= ops + 1 && !noticed; ++cut)
        noticed = !run_schedule(text, seed, cut, End::power, point).fault.empty();
    }
    EXPECT_TRUE(noticed) << "without the sync '" << to_text(point) << "' nothing is lost";
  }
}

/// A writer that waits for the lock of the run while the run is imported must wait for the same file as everybody
/// later.
TEST(ImportCrash, AWaitingWriterKeepsTheLockFile) {
  World world(1);
  const std::string text = exported_run();
  TextFiles source({{"a.pawl", text}});
  const auto file = *source.open("a.pawl", OpenMode::read);
  SimFileSystem files(world.disk);
  save(*world.open(files, 2), "resident", "{\"here\":true}");
  ASSERT_TRUE(files.make_folder(layout::run("traveller")));
  SimFileSystem waiting(world.disk);
  const auto held = waiting.open(layout::run_lock("traveller"), OpenMode::create);
  ASSERT_TRUE(held);
  SimFileSystem importing(world.disk);
  const auto imported = world.open(importing, 3)->import_run(*file, no_key);
  ASSERT_TRUE(imported) << describe(imported.error());
  ASSERT_TRUE((*held)->try_lock(layout::kWriterByte).value_or(false));
  SimFileSystem later(world.disk);
  const auto writer = world.open(later, 4)->open_run(imported_run("traveller"), {});
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, Code::run_busy);
}

}  // namespace
}  // namespace pawl::testing
