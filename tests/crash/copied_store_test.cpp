// A copy of a store whose files were read at different moments, while processes saved, opened elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "adapters/filesystem/filesystem_evidence.hpp"
#include "adapters/filesystem/journal_format.hpp"
#include "audit/verify.hpp"
#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

constexpr std::uint64_t kPieceBytes = 4096;
constexpr std::uint64_t kLargeSegment = 128ULL << 10;

/// A store with several runs, and what was saved to them.
class CopiedWorld {
 public:
  enum class Prunes : std::uint8_t { no, yes };
  explicit CopiedWorld(std::uint64_t seed, Prunes prunes = Prunes::no)
      : prunes_(prunes),
        segment_bytes_(seed % 2 == 0 ? kLargeSegment : 16ULL << 10),
        random_(seed),
        disk_(seed),
        other_disk_(seed + 1) {}

  void run() {
    const std::uint64_t first = prunes_ == Prunes::yes ? 20 : 3;
    for (std::uint64_t i = 0; i < first + random_.below(12); ++i) work();
    const auto before = acknowledged_;
    copy("");
    if (::testing::Test::HasFatalFailure()) return;
    for (std::uint64_t i = 0; i < random_.below(4); ++i) work();
    check(before);
  }

 private:
  /// Sometimes the segments are so small that some are recycled while a copy is made, or when a process ends.
  FilesystemOptions options() {
    FilesystemOptions options = small_options();
    options.segment_bytes = segment_bytes_;
    options.catalogue = true;
    if (!recycles()) options.settle_at_close_bytes = UINT64_MAX;
    // Archiving audit entries while they are copied is not covered (docs/backup.md),
    options.trail_lines_archived_min = UINT32_MAX;
    if (prunes_ == Prunes::yes) options.inline_bytes_max = 64ULL << 10;  // nor are blobs that a prune removes
    return options;
  }

  /// A prune settles the journals and removes their segments.
  [[nodiscard]] bool recycles() const { return segment_bytes_ < kLargeSegment || prunes_ == Prunes::yes; }

  Environment environment(const SimDisk& disk) {
    // Both are folders of one machine, so the marks of the original look valid in the copy.
    static_cast<void>(disk);
    return {&clock_, &random_, sim_owner(disk_.boot_id(), ++pids_)};
  }

  static std::string state(std::uint64_t number, std::uint64_t size) {
    return fmt::format(R"({{"n":{},"fill":"{}"}})", number, std::string(size, static_cast<char>('a' + number % 26)));
  }

  /// One process saves to a run, and sometimes publishes or settles.
  void work() {
    const std::string run = random_.coin() ? "a" : "b";
    SimFileSystem files(disk_);
    auto store = FilesystemStore::open(files, environment(disk_), options());
    ASSERT_TRUE(store) << describe(store.error());
    {
      auto writer = (*store)->open_run(*RunId::parse(run), {});
      ASSERT_TRUE(writer) << describe(writer.error());
      for (std::uint64_t i = 0; i < 1 + random_.below(3); ++i) {
        const std::uint64_t number = acknowledged_[run] + 1;
        const std::string body = state(number, random_.below(3000));
        const auto saved = (*writer)->save({.body = body,
                                            .caller_id = fmt::format("id-{}", number),
                                            .events = {{.type = "note", .data = std::to_string(number)}}});
        ASSERT_TRUE(saved) << describe(saved.error());
        states_[run][number] = body;
        acknowledged_[run] = number;
      }
    }
    if (prunes_ == Prunes::yes && random_.coin()) {
      const RetentionSettings settings{.keep = 12 + random_.below(4), .keep_days = {}, .keep_per_stage = {}};
      ASSERT_TRUE((*store)->prune(*RunId::parse(run), settings, PruneMode::remove));
      if (random_.coin()) {
        ASSERT_TRUE((*store)->wipe_pruned());
      }
    }
    switch (random_.below(4)) {
      case 0: files.kill(); break;
      case 1: ASSERT_TRUE((*store)->publish_lazily()); break;
      default: break;
    }
  }

  /// Copies a folder: first its names, then one file after the other, in pieces.
  void copy(const std::string& folder) {
    SimFileSystem from(disk_);
    SimFileSystem to(other_disk_);
    auto entries = from.list(folder);
    ASSERT_TRUE(entries);
    for (const FolderEntry& entry : *entries) {
      const std::string path = folder.empty() ? entry.name : join_path(folder, entry.name);
      if (random_.below(6) == 0) work();
      if (entry.is_folder) {
        ASSERT_TRUE(to.make_folder(path));
        copy(path);
        continue;
      }
      const auto source = from.open(path, OpenMode::read);
      if (!source) continue;  // it is gone
      const auto target = to.open(path, OpenMode::create);
      ASSERT_TRUE(target);
      for (std::uint64_t offset = 0;; offset += kPieceBytes) {
        const auto piece = (*source)->read_at(offset, kPieceBytes);
        ASSERT_TRUE(piece);
        if (!piece->empty()) {
          ASSERT_TRUE((*target)->write_at(offset, *piece));
        }
        if (piece->size() < kPieceBytes) break;
        if (random_.below(16) == 0) work();
      }
    }
  }

  /// As if the copy could not be written.
  void verify_as_it_is() {
    SimFileSystem files(other_disk_);
    FilesystemEvidence evidence(files, disk_.boot_id());
    const auto runs = evidence.runs();
    ASSERT_TRUE(runs) << describe(runs.error());
    for (const std::string& run : *runs) {
      const auto verdict = verify_run(evidence, *RunId::parse(run), nullptr, {});
      ASSERT_TRUE(verdict) << describe(verdict.error());
      EXPECT_FALSE(verdict->bad) << run << ": entry " << verdict->bad->entry << ", " << verdict->bad->file << ": "
                                 << verdict->bad->what;
    }
  }

  void check(const std::map<std::string, std::uint64_t>& before) {
    if (prunes_ == Prunes::no) verify_as_it_is();
    SimFileSystem files(other_disk_);
    auto store = FilesystemStore::open(files, environment(other_disk_), options());
    ASSERT_TRUE(store) << describe(store.error());
    if (random_.coin()) expect_sound(**store, "at first");
    for (const auto& [run, number] : before) {
      const RunId id = *RunId::parse(run);
      const auto restored = (*store)->restore(id, {});
      // Its records may have been settled after its files were copied, and recycled before the journal was.
      if (recycles() && !restored && restored.error().code == Code::run_not_found) continue;
      ASSERT_TRUE(restored) << run << ": " << describe(restored.error());
      const std::uint64_t newest = restored->info.sequence.value;
      if (!recycles()) {
        ASSERT_GE(newest, number) << run << " was acknowledged before the copy began";
      }
      EXPECT_EQ(restored->state, states_[run][newest]);
      auto writer = (*store)->open_run(id, {});
      ASSERT_TRUE(writer) << run << ": " << describe(writer.error());
      const auto repeated = (*writer)->save({.body = states_[run][newest], .caller_id = fmt::format("id-{}", newest)});
      ASSERT_TRUE(repeated) << describe(repeated.error());
      EXPECT_EQ(repeated->outcome, Saved::Outcome::repeated) << run << "@" << newest;
      const auto saved = (*writer)->save({.body = "{}"});
      ASSERT_TRUE(saved) << describe(saved.error());
      EXPECT_EQ(saved->sequence.value, newest + 1);
    }
    expect_sound(**store, "after saving");
    ASSERT_TRUE((*store)->settle_all());
    expect_sound(**store, "after settling");
  }

  static void expect_sound(FilesystemStore& store, const char* when) {
    const auto report = store.check({}, Repair::no);
    ASSERT_TRUE(report) << describe(report.error());
    for (const Finding& finding : report->findings) {
      EXPECT_TRUE(finding.severity == Finding::Severity::note) << when << ": " << finding.file << " " << finding.run
                                                               << "@" << finding.sequence.value << ": " << finding.what;
    }
  }

  const Prunes prunes_;
  const std::uint64_t segment_bytes_;
  SeededRandom random_;
  ManualClock clock_;
  SimDisk disk_;
  SimDisk other_disk_;
  std::uint64_t pids_ = 10;
  std::map<std::string, std::uint64_t> acknowledged_;
  std::map<std::string, std::map<std::uint64_t, std::string>> states_;
};

/// PAWL_COPIES names another number.
std::uint64_t schedules(std::uint64_t usual) {
  const char* const given = std::getenv("PAWL_COPIES");
  return given == nullptr ? usual : std::strtoull(given, nullptr, 10);
}

TEST(CopiedStore, OpensWithoutAFalseAlarm) {
  const std::uint64_t last = schedules(120);
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    SCOPED_TRACE(seed);
    CopiedWorld(seed).run();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(CopiedStore, PrunedMeanwhileItIsStillUsable) {
  const std::uint64_t last = schedules(150);
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    SCOPED_TRACE(seed);
    CopiedWorld(seed, CopiedWorld::Prunes::yes).run();
    if (::testing::Test::HasFailure()) return;
  }
}

void copy_files(SimFileSystem& from, SimFileSystem& to, const std::string& folder) {
  const auto entries = from.list(folder);
  ASSERT_TRUE(entries);
  for (const FolderEntry& entry : *entries) {
    const std::string path = folder.empty() ? entry.name : join_path(folder, entry.name);
    if (entry.is_folder) {
      ASSERT_TRUE(to.make_folder(path));
      copy_files(from, to, path);
      continue;
    }
    const auto target = to.open(path, OpenMode::create);
    ASSERT_TRUE(target && (*target)->write_at(0, *from.read_file(path)));
  }
}

/// The page with the first part of a header was read before the batch was written, and the next page after it.
TEST(CopiedStore, AHeaderThatCrossesASectorMayBeUnwrittenInPart) {
  constexpr std::uint64_t kSectorBytes = 512;
  constexpr std::uint64_t kFirstHalfBytes = 24;  // the second half of a header repeats them
  const std::string path = "journal/1/00000001.log";
  ManualClock clock;
  SeededRandom random(1);
  SimDisk disk(1);
  SimFileSystem files(disk);
  FilesystemOptions options = small_options();
  options.segment_bytes = kLargeSegment;
  options.settle_at_close_bytes = UINT64_MAX;
  const auto open = [&](SimFileSystem& where, std::uint64_t pid) {
    return std::move(*FilesystemStore::open(where, {&clock, &random, sim_owner(disk.boot_id(), pid)}, options));
  };
  const RunId run = *RunId::parse("a");
  const auto store = open(files, 10);
  const auto writer = store->open_run(run, {});
  ASSERT_TRUE(writer);
  std::uint64_t crossing = 0;
  for (std::uint64_t number = 1; crossing == 0 && number < 300; ++number) {
    ASSERT_TRUE((*writer)->save({.body = fmt::format("[{},\"{}\"]", number, std::string(7 * number, 'x'))}));
    const std::string bytes = *files.read_file(path);
    std::uint64_t header_offset = 0;
    bool other_is_damaged = false;
    const auto header = choose_segment_header(bytes, header_offset, other_is_damaged);
    ASSERT_TRUE(header);
    const std::uint64_t offset = scan_segment(bytes, header->generation).batches.back().offset;
    if (number > 3 && kSectorBytes - offset % kSectorBytes <= kFirstHalfBytes) crossing = offset;
  }
  ASSERT_NE(crossing, 0U);
  ASSERT_TRUE((*writer)->save({.body = "[]"}));
  const Sequence newest = (*writer)->info().latest;
  SimDisk other(2);
  SimFileSystem copy(other);
  copy_files(files, copy, "");
  const std::uint64_t size = kSectorBytes - crossing % kSectorBytes;
  ASSERT_TRUE((*copy.open(path, OpenMode::write))->write_at(crossing, std::string(size, 'f')));
  const auto copied = open(copy, 11);
  const auto restored = copied->restore(run, {});
  ASSERT_TRUE(restored) << describe(restored.error());
  EXPECT_EQ(restored->info.sequence.value, newest.value - 2);
  const auto report = copied->check({}, Repair::no);
  ASSERT_TRUE(report) << describe(report.error());
  for (const Finding& finding : report->findings) EXPECT_EQ(finding.severity, Finding::Severity::note) << finding.what;
}

}  // namespace
}  // namespace pawl::testing
