// Forks of the filesystem store: their cost, their files, and what a crash in the middle leaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

RunId fork_run(std::string_view name) { return *RunId::parse(name); }
Which at(std::uint64_t sequence) { return {.by = Which::By::sequence, .sequence = {sequence}}; }

void save(RunWriter& writer, const std::string& body) {
  const auto saved = writer.save({.body = body, .duplicates = Duplicates::write, .events = {{"noted", "1"}}});
  ASSERT_TRUE(saved) << describe(saved.error());
}

void fill_fork(Store& store, std::string_view run, int count) {
  const auto writer = store.open_run(fork_run(run), {});
  ASSERT_TRUE(writer) << describe(writer.error());
  for (int i = 0; i < count; ++i) save(**writer, fmt::format("[{},\"{}\"]", i, std::string(100, 'x')));
}

void fork(Store& store, std::string_view parent, std::uint64_t sequence, std::string_view run,
          const std::string& body) {
  const auto writer = store.fork(fork_run(parent), {sequence}, fork_run(run), {});
  ASSERT_TRUE(writer) << describe(writer.error());
  save(**writer, body);
}

std::uint64_t bytes_under(const std::string& folder) {
  std::uint64_t bytes = 0;
  if (!std::filesystem::exists(folder)) return 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

std::vector<Finding> faults(Store& store) {
  const auto report = store.check({}, Repair::no);
  std::vector<Finding> found = report ? report->findings : std::vector<Finding>{{}};
  return found;
}

std::string faults_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings)
    text += fmt::format("{} {}: {}\n", static_cast<int>(finding.severity), finding.file, finding.what);
  return text;
}

TEST(ForkCost, OfAThousandCheckpointsIsUnderTenKilobytesWhateverTheStatesSize) {
  for (const std::size_t state_bytes : {std::size_t{1'000}, std::size_t{3'000'000}}) {
    FilesystemUnderTest place{FilesystemOptions{}};
    const auto store = place.open();
    auto& files = dynamic_cast<FilesystemStore&>(*store);
    std::string body = fmt::format("{{\"padding\":\"{}\",\"items\":[0]}}", std::string(state_bytes, 'p'));
    {
      const auto writer = store->open_run(fork_run("p"), {});
      for (int i = 1; i <= 1000; ++i) {
        body.insert(body.size() - 2, fmt::format(",{}", i));
        save(**writer, body);
      }
    }
    ASSERT_TRUE(files.settle_all());
    const std::uint64_t before = bytes_under(place.path() + "/runs");
    const std::string state = store->restore(fork_run("p"), at(700))->state;
    const auto began = std::chrono::steady_clock::now();
    fork(*store, "p", 700, "f", state);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    std::cout << fmt::format("a fork of a state of {} bytes: {:.2f} ms\n", state.size(), took.count());
    ASSERT_TRUE(files.settle_all());
    const std::uint64_t after = bytes_under(place.path() + "/runs");
    EXPECT_LT(after - before, 10'000U) << "of states of " << state_bytes << " bytes";
    EXPECT_FALSE(std::filesystem::exists(place.path() + "/runs/f/blobs"));
    EXPECT_EQ(store->restore(fork_run("f"), at(500))->state, store->restore(fork_run("p"), at(500))->state);
  }
}

TEST(ForkCost, ForksOfForksDoNotMakeRestoringReadMoreThanThreeTimesTheState) {
  FilesystemUnderTest place(small_options());
  const auto store = place.open();
  std::string body = fmt::format("[\"{}\"", std::string(1500, 's'));
  {
    const auto writer = store->open_run(fork_run("f0"), {});
    save(**writer, body + "]");
  }
  for (int level = 1; level <= 30; ++level) {
    const auto writer = store->fork(fork_run(fmt::format("f{}", level - 1)),
                                    store->run(fork_run(fmt::format("f{}", level - 1)))->latest,
                                    fork_run(fmt::format("f{}", level)), {});
    ASSERT_TRUE(writer);
    for (int i = 0; i < 3; ++i) {
      body += fmt::format(",\"{}\"", std::string(60, 'n'));
      save(**writer, body + "]");
    }
  }
  EXPECT_EQ(store->restore(fork_run("f30"), {})->state, body + "]");
  EXPECT_TRUE(faults(*store).empty()) << faults_text(faults(*store));
  std::uint64_t begun = 0;  // number of levels that start with a full state of their own
  ASSERT_TRUE(dynamic_cast<FilesystemStore&>(*store).settle_all());
  for (int level = 1; level <= 30; ++level) {
    for (const auto& entry :
         std::filesystem::directory_iterator(fmt::format("{}/runs/f{}/checkpoints", place.path(), level))) {
      begun += entry.path().extension() == ".json" ? 1U : 0U;
    }
  }
  EXPECT_GT(begun, 0U) << "differences of forks of forks are bounded together";
  EXPECT_LT(begun, 20U) << "and not every fork copies the state";
}

/// Returns a difference to checkpoint 5 of what `fill` saves.
const std::string kForked = fmt::format("[4,\"{}\",\"forked\"]", std::string(100, 'x'));

class ForkFiles : public ::testing::Test {
 protected:
  ForkFiles() {
    const auto store = place_.open();
    fill_fork(*store, "p", 8);
    fork(*store, "p", 5, "f", kForked);
    EXPECT_TRUE(dynamic_cast<FilesystemStore&>(*store).settle_all());
    uuid_ = store->run(fork_run("f"))->uuid.text();
  }
  [[nodiscard]] std::string path(const std::string& name) const { return place_.path() + "/runs/" + name; }
  [[nodiscard]] std::string note() const { return path("p/forks/" + uuid_ + ".json"); }
  bool check_names(Finding::Severity severity, std::string_view part) {
    const auto findings = faults(*place_.open());
    return std::ranges::any_of(findings, [&](const Finding& finding) {
      return finding.severity == severity && (finding.file + " " + finding.what).find(part) != std::string::npos;
    });
  }
  static std::string read(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  FilesystemUnderTest place_{small_options()};
  std::string uuid_;
};

TEST_F(ForkFiles, HoldNothingOfThePast) {
  EXPECT_TRUE(std::filesystem::exists(note()));
  EXPECT_FALSE(std::filesystem::exists(path("f/checkpoints/checkpoint_00005.json")));
  EXPECT_EQ(std::ranges::count(read(path("f/checkpoints/checkpoint_00005.jsonl")), '\n'), 1);
  EXPECT_NE(read(path("f/run.json")).find("\"fork_at\":5,\"fork_run\":\"p\""), std::string::npos);
  EXPECT_NE(read(path("f/run.json")).find("{\"pawl\":3,"), std::string::npos)
      << "older programs must not read it as a whole run";
  EXPECT_NE(read(path("f/audit/audit_trail.jsonl")).find("{\"i\":1,"), std::string::npos);
  EXPECT_NE(read(path("f/audit/audit_trail.jsonl")).find("\"type\":\"forked\",\"seq\":"), std::string::npos);
  EXPECT_TRUE(faults(*place_.open()).empty()) << faults_text(faults(*place_.open()));
}

TEST_F(ForkFiles, AMissingNoteIsFoundAndWrittenAgain) {
  std::filesystem::remove(note());
  EXPECT_TRUE(check_names(Finding::Severity::mendable, "has no note of this fork"));
  ASSERT_TRUE(place_.open()->check({}, Repair::yes));
  EXPECT_TRUE(std::filesystem::exists(note()));
  EXPECT_TRUE(faults(*place_.open()).empty()) << faults_text(faults(*place_.open()));
}

TEST_F(ForkFiles, ADamagedNoteStopsPruningAndIsWrittenAgain) {
  std::ofstream(note()) << "{}\n";
  EXPECT_EQ(place_.open()
                ->prune(fork_run("p"), {.keep = 1, .keep_days = {}, .keep_per_stage = {}}, PruneMode::remove)
                .error()
                .code,
            Code::store_damaged);
  EXPECT_TRUE(check_names(Finding::Severity::mendable, uuid_));
  ASSERT_TRUE(place_.open()->check({}, Repair::yes));
  EXPECT_TRUE(
      place_.open()->prune(fork_run("p"), {.keep = 1, .keep_days = {}, .keep_per_stage = {}}, PruneMode::remove));
  EXPECT_EQ(place_.open()->restore(fork_run("f"), {})->state, kForked);
}

TEST_F(ForkFiles, AMissingOrOtherParentIsDamageThatNamesIt) {
  std::filesystem::rename(path("p"), path("away"));
  const auto restored = place_.open()->restore(fork_run("f"), {});
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, Code::chain_broken);
  EXPECT_NE(restored.error().message.find("'p'"), std::string::npos);
  EXPECT_TRUE(check_names(Finding::Severity::damage, "the checkpoint that this run was forked from"));
  std::filesystem::remove(place_.path() + "/catalogue.db");  // otherwise the lost run is not begun again
  fill_fork(*place_.open(), "p", 8);
  EXPECT_EQ(place_.open()->restore(fork_run("f"), {}).error().code, Code::chain_broken)
      << "another run of that name is not the one";
  std::filesystem::remove_all(path("p"));
}

TEST_F(ForkFiles, AForkWhoseFirstCheckpointsAreMissingDoesNotSlipBack) {
  std::filesystem::remove(path("f/checkpoints/checkpoint_00005.jsonl"));
  EXPECT_EQ(place_.open()->restore(fork_run("f"), {}).error().code, Code::chain_broken);
  EXPECT_EQ(place_.open()->open_run(fork_run("f"), {}).error().code, Code::chain_broken);
  EXPECT_TRUE(check_names(Finding::Severity::damage, "missing"));
}

TEST_F(ForkFiles, AnotherOriginInRunJsonIsFoundByTheAuditTrail) {
  const auto decoded = decode_run(read(path("f/run.json")));
  ASSERT_TRUE(decoded);
  RunRecord record = *decoded;
  record.fork_of_sequence = {4};
  record.fork_of_sum = place_.open()->checkpoint(fork_run("p"), at(4))->checksum;
  std::ofstream(path("f/run.json")) << encode_run(record);
  EXPECT_TRUE(check_names(Finding::Severity::damage, "audit"));
}

TEST_F(ForkFiles, AreReadWithTheParentsKeyWhereTheStoreIsEncrypted) {
  FilesystemUnderTest secret(packed_options(small_options(), StateFormat::json));
  {
    const auto store = secret.open();
    fill_fork(*store, "p", 8);
    fork(*store, "p", 5, "f", kForked);
    ASSERT_TRUE(dynamic_cast<FilesystemStore&>(*store).settle_all());
  }
  EXPECT_NE(read(secret.path() + "/runs/p/key.json"), read(secret.path() + "/runs/f/key.json"));
  EXPECT_EQ(secret.open()->restore(fork_run("f"), {})->state, kForked);
  EXPECT_EQ(secret.open()->events(fork_run("f"), 0, 100)->size(), 6U);
  EXPECT_TRUE(faults(*secret.open()).empty()) << faults_text(faults(*secret.open()));
  std::filesystem::remove(secret.path() + "/runs/p/key.json");
  EXPECT_EQ(secret.open()->restore(fork_run("f"), {}).error().code, Code::key_missing);
}

/// Interrupts a fork by kill -9 or power loss at each of its operations in turn.
class CutFork : public ::testing::TestWithParam<bool> {};

TEST_P(CutFork, LeavesTheForkWholeOrAbsentAndTheParentAsItWas) {
  std::uint64_t notes = 0;
  std::uint64_t whole = 0;
  for (std::uint64_t cut = 1;; ++cut) {
    SimDisk disk(cut * 7 + 1);
    ManualClock clock;
    SeededRandom random(cut);
    std::uint64_t pids = 10;
    const auto open = [&](SimFileSystem& files) {
      return std::move(
          *FilesystemStore::open(files, {&clock, &random, sim_owner(disk.boot_id(), ++pids)}, small_options()));
    };
    {
      SimFileSystem files(disk);
      fill_fork(*open(files), "p", 12);
    }
    bool over = false;
    bool acknowledged = false;
    {
      SimFileSystem files(disk);
      auto store = open(files);
      const std::uint64_t from = files.ops();
      if (GetParam()) {
        files.power_cut_at(from + cut);
      } else {
        files.kill_at(from + cut);
      }
      auto writer = store->fork(fork_run("p"), {7}, fork_run("f"), {});
      acknowledged = writer && (*writer)->save({.body = "[\"forked\"]"}).has_value();
      over = !files.died() && !disk.power_is_off();
    }
    if (GetParam()) disk.power_loss();
    SimFileSystem files(disk);
    const auto store = open(files);
    const auto fork_info = store->run(fork_run("f"));
    EXPECT_TRUE(fork_info || !acknowledged) << "cut at " << cut;
    if (fork_info) {
      ++whole;
      EXPECT_EQ(store->restore(fork_run("f"), {})->state, "[\"forked\"]");
      EXPECT_EQ(store->forks_of(fork_run("p"))->size(), 1U) << "cut at " << cut;
    } else {
      EXPECT_EQ(fork_info.error().code, Code::run_not_found) << "cut at " << cut;
      EXPECT_EQ(store->forks_of(fork_run("p"))->size(), 0U) << "cut at " << cut;
    }
    EXPECT_EQ(store->run(fork_run("p"))->latest.value, 12U);
    for (const Finding& finding : faults(*store)) {
      // Power loss may truncate copies that were not synced yet; the journal contains them.
      const bool torn = GetParam() && finding.severity == Finding::Severity::mendable &&
                        finding.what.find("fork") == std::string::npos;
      EXPECT_TRUE(torn || finding.severity == Finding::Severity::note)
          << "cut at " << cut << ": " << finding.file << ": " << finding.what;
      notes += finding.what.find("never created") != std::string::npos ? 1U : 0U;
    }
    // The fork is created again under the same name. Whatever a prune does, both runs stay complete.
    if (!fork_info) fork(*store, "p", 7, "f", "[\"forked\"]");
    ASSERT_TRUE(store->prune(fork_run("p"), {.keep = 1, .keep_days = {}, .keep_per_stage = {}}, PruneMode::remove));
    EXPECT_EQ(store->restore(fork_run("f"), {})->state, "[\"forked\"]") << "cut at " << cut;
    ASSERT_TRUE(store->check({}, Repair::yes));
    EXPECT_TRUE(faults(*store).empty()) << "cut at " << cut << ":\n" << faults_text(faults(*store));
    EXPECT_EQ(store->forks_of(fork_run("p"))->size(), 1U);
    if (over) break;
  }
  EXPECT_GT(notes, 0U) << "no cut fell between the note and the fork";
  EXPECT_GT(whole, 0U);
}

INSTANTIATE_TEST_SUITE_P(By, CutFork, ::testing::Bool(),
                         [](const auto& test) { return std::string(test.param ? "PowerLoss" : "Kill"); });

}  // namespace
}  // namespace pawl::testing
