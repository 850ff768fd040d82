// Stores and records of format 1 stay readable, and the encoders of format 2 write the same bytes as ever. If a test
// here fails, the format has changed, which requires a new format number and a new golden store.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "base/hash.hpp"
#include "codec/record_text.hpp"
#include "testing/filesystem_under_test.hpp"
#include "tests/golden/golden_store.hpp"

namespace pawl {
namespace {

using testing::GoldenSave;
using testing::TemporaryFolder;

constexpr std::string_view kBoot = "00000000-0000-4000-8000-000000002026";

/// A copy of the golden store, which itself is never written to.
struct GoldenCopy {
  GoldenCopy() {
    std::filesystem::copy(PAWL_GOLDEN "/format_1", folder.path(), std::filesystem::copy_options::recursive);
    files = std::move(*PosixFileSystem::open(folder.path()));
  }
  [[nodiscard]] std::unique_ptr<FilesystemStore> open(std::string_view boot) {
    const Environment environment{&clock, &random, testing::sim_owner(std::string(boot), 1)};
    FilesystemOptions options = testing::golden_options();
    options.catalogue = true;
    return std::move(*FilesystemStore::open(*files, environment, options));
  }
  TemporaryFolder folder;
  testing::ManualClock clock;
  testing::SeededRandom random{1};
  std::unique_ptr<PosixFileSystem> files;
};

Which at_sequence(std::uint64_t sequence) {
  return {.by = Which::By::sequence, .sequence = Sequence{sequence}, .label = {}, .uuid = {}};
}

void expect_golden(Store& store) {
  std::map<std::string, std::uint64_t> sequences;
  std::map<std::string, std::vector<std::string>> events;
  for (const GoldenSave& save : testing::golden_saves()) {
    const RunId run = *RunId::parse(save.run);
    const std::uint64_t sequence = ++sequences[save.run];
    const auto restored = store.restore(run, at_sequence(sequence));
    ASSERT_TRUE(restored) << save.run << "@" << sequence << ": " << describe(restored.error());
    EXPECT_EQ(restored->state, save.state);
    EXPECT_EQ(restored->info.kind, save.request.kind);
    EXPECT_EQ(restored->info.status, save.request.status);
    EXPECT_EQ(restored->info.reason, save.request.reason);
    EXPECT_EQ(restored->info.name, save.request.name);
    EXPECT_EQ(restored->info.caller_id, save.request.caller_id);
    EXPECT_EQ(restored->info.stage, save.request.stage);
    EXPECT_EQ(restored->info.step, save.request.step);
    EXPECT_EQ(restored->info.metadata, save.request.metadata);
    for (const NewEvent& event : save.request.events) events[save.run].push_back(event.type + event.data);
  }
  for (const auto& [run, expected] : events) {
    const auto found = store.events(*RunId::parse(run), 0, 100);
    ASSERT_TRUE(found) << describe(found.error());
    std::vector<std::string> texts;
    for (const Event& event : *found) texts.push_back(event.type + event.data);
    EXPECT_EQ(texts, expected);
  }
  const auto runs = store.runs(10);
  ASSERT_TRUE(runs) << describe(runs.error());
  ASSERT_EQ(runs->size(), sequences.size());
  for (const RunInfo& run : *runs) {
    EXPECT_EQ(run.latest.value, sequences.at(run.id.text()));
    EXPECT_EQ(run.workflow, "nightly.yaml");
    EXPECT_EQ(run.session, "session-1");
  }
}

TEST(GoldenStore, OfFormat1IsReadOnTheBootThatWroteIt) {
  GoldenCopy copy;
  expect_golden(*copy.open(kBoot));
}

TEST(GoldenStore, OfFormat1IsReadAfterAReboot) {
  GoldenCopy copy;
  expect_golden(*copy.open("another boot"));
}

TEST(GoldenStore, OfFormat1IsFoundHealthy) {
  GoldenCopy copy;
  const auto report = copy.open(kBoot)->check({}, Repair::no);
  ASSERT_TRUE(report) << describe(report.error());
  EXPECT_EQ(report->checkpoints, testing::golden_saves().size());
  for (const Finding& finding : report->findings) ADD_FAILURE() << finding.file << ": " << finding.what;
}

TEST(GoldenStore, OfFormat1GoesOn) {
  GoldenCopy copy;
  {
    const auto store = copy.open("another boot");
    const auto run = store->open_run(*RunId::parse("alpha"), {});
    ASSERT_TRUE(run) << describe(run.error());
    const auto repeated =
        (*run)->save({.body = R"({"large":")" + std::string(600, 'x') + "\"}", .caller_id = "call-4"});
    ASSERT_TRUE(repeated) << describe(repeated.error());
    EXPECT_EQ(repeated->outcome, Saved::Outcome::repeated);
    EXPECT_EQ(repeated->sequence.value, 4U);
    const auto saved = (*run)->save({.body = R"({"new":1})"});
    ASSERT_TRUE(saved) << describe(saved.error());
    EXPECT_EQ(saved->sequence.value, 9U);
  }
  const auto store = copy.open("another boot");
  EXPECT_EQ(store->restore(*RunId::parse("alpha"), {})->state, R"({"new":1})");
  EXPECT_EQ(store->restore(*RunId::parse("alpha"), at_sequence(8))->state, R"("a text")");
}

TEST(GoldenStore, OfFormat1IsMigratedByTheFirstWriter) {
  GoldenCopy copy;
  {
    const auto store = copy.open(kBoot);
    ASSERT_TRUE(store->restore(*RunId::parse("alpha"), {}));
    EXPECT_EQ(store->store_record()->format, 1U) << "a reader leaves it as it is";
    ASSERT_TRUE(store->open_run(*RunId::parse("alpha"), {}));
    EXPECT_EQ(store->store_record()->format, kFormat);
  }
  expect_golden(*copy.open(kBoot));
  const auto report = copy.open(kBoot)->check({}, Repair::no);
  ASSERT_TRUE(report) << describe(report.error());
  for (const Finding& finding : report->findings) ADD_FAILURE() << finding.file << ": " << finding.what;
}

/// The golden store on a simulated disk, with everything synced.
void load_golden(testing::SimFileSystem& files) {
  const std::filesystem::path root = PAWL_GOLDEN "/format_1";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string path = entry.path().lexically_relative(root).string();
    if (entry.is_directory()) {
      ASSERT_TRUE(files.make_folder(path));
      continue;
    }
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    const auto file = files.open(path, OpenMode::create);
    ASSERT_TRUE(file && (*file)->write_at(0, bytes));
  }
  ASSERT_TRUE(files.sync_all(SyncPoint::published_all));
}

TEST(GoldenStore, AMigrationThatIsCutAnywhereLeavesAStoreThatOpens) {
  bool finished = false;
  for (std::uint64_t op = 1; !finished; ++op) {
    ASSERT_LT(op, 500U);
    for (const bool power : {false, true}) {
      testing::SimDisk disk(op);
      testing::ManualClock clock;
      testing::SeededRandom random{op};
      {
        testing::SimFileSystem files(disk);
        load_golden(files);
        if (power) {
          files.power_cut_at(files.ops() + op);
        } else {
          files.kill_at(files.ops() + op);
        }
        const Environment environment{&clock, &random, testing::sim_owner(disk.boot_id(), 1)};
        auto store = FilesystemStore::open(files, environment, testing::golden_options());
        const bool opened = store && (*store)->open_run(*RunId::parse("alpha"), {});
        finished = opened && !files.died() && !disk.power_is_off();
      }
      if (power) disk.power_loss(testing::Loss::random);
      testing::SimFileSystem files(disk);
      const Environment environment{&clock, &random, testing::sim_owner(disk.boot_id(), 2)};
      const auto store = FilesystemStore::open(files, environment, testing::golden_options());
      ASSERT_TRUE(store) << "cut at " << op << ": " << describe(store.error());
      expect_golden(**store);
      ASSERT_TRUE((*store)->open_run(*RunId::parse("beta"), {})) << "cut at " << op;
    }
  }
}

TEST(GoldenStore, IsMadeAnewFromTheSameSaves) {
  const TemporaryFolder folder;
  ASSERT_TRUE(testing::make_golden_store(folder.path()));
  // For a new format: PAWL_GOLDEN_OUT=tests/golden/format_2 build/release/golden_test
  if (const char* out = std::getenv("PAWL_GOLDEN_OUT")) {
    std::filesystem::copy(folder.path(), out, std::filesystem::copy_options::recursive);
  }
  testing::ManualClock clock;
  testing::SeededRandom random{1};
  const auto files = PosixFileSystem::open(folder.path());
  const auto store =
      FilesystemStore::open(**files, {&clock, &random, testing::sim_owner("boot", 1)}, testing::golden_options());
  expect_golden(**store);
}

// ---- Encoders -------------------------------------------------------------------------------------

const Uuid kRun = *Uuid::parse("f204a1d5-8a93-4062-89ff-98071e9ca6ca");
constexpr std::string_view kSalt = "b9f5a07176645a03f3f8751c656739ae";

CheckpointInfo golden_info() {
  CheckpointInfo info;
  info.sequence.value = 2;
  info.parent.value = 1;
  info.id = *Uuid::parse("4247e814-fd78-453a-ade3-a3b3d6a8cb55");
  info.created = *Timestamp::parse("2026-01-11T14:30:02.000002Z");
  info.stage = "load";
  info.step = "fetch";
  info.metadata = R"({"cost": 0.25})";
  info.state_bytes = 36;
  return info;
}

TEST(GoldenRecord, CheckpointLine) {
  const CheckpointInfo info = golden_info();
  std::string sum;
  EXPECT_EQ(encode_checkpoint({&info, "", Payload::diff, R"([[10,0,"1"]])", "", info.metadata}, Shape::line,
                              {kSalt, seal_seed(kRun)}, sum),
            R"({"seq":2,"parent":1,"stored":12,"v":2,"id":"4247e814-fd78-453a-ade3-a3b3d6a8cb55",)"
            R"("at":"2026-01-11T14:30:02.000002Z","kind":"manual","stage":"load","step":"fetch","meta":{"cost": 0.25},)"
            R"("size":36,"diff":[[10,0,"1"]],)"
            R"("sum":"sha256:2bdc1bc6629cfca3545f6f79692fa95a9b9d2d430fb45c351c59cdc3489e8172","crc":"88f2f0ab"})"
            "\n");
}

TEST(GoldenRecord, CheckpointFile) {
  CheckpointInfo info;
  info.sequence.value = 1;
  info.id = *Uuid::parse("2de2d863-e5c4-46cd-b412-201a7171b855");
  info.created = *Timestamp::parse("2026-01-11T14:30:01.000001Z");
  info.kind = Kind::workflow_start;
  info.state_bytes = 35;
  std::string sum;
  EXPECT_EQ(encode_checkpoint({&info, "", Payload::state, R"({"items":[],"note":"a first state"})"}, Shape::file,
                              {kSalt, seal_seed(kRun)}, sum),
            R"({"seq":1,"parent":0,"stored":35,"v":2,"id":"2de2d863-e5c4-46cd-b412-201a7171b855",)"
            R"("at":"2026-01-11T14:30:01.000001Z","kind":"workflow_start","size":35,"state":)"
            "\n{\"items\":[],\"note\":\"a first state\"}\n"
            R"(,"sum":"sha256:273296bcfc234b558d4dc9ea489e200853357009f52644dc7469c3d3e10e7381","crc":"176e69ad"})"
            "\n");
}

TEST(GoldenRecord, RunStoreEventAndAudit) {
  RunRecord run;
  run.run = "alpha";
  run.uuid = kRun;
  run.created = *Timestamp::parse("2026-01-11T14:30:00.000000Z");
  run.workflow = "nightly.yaml";
  run.workflow_hash = "sha256:0123";
  run.session = "session-1";
  run.salt = kSalt;
  EXPECT_EQ(
      encode_run(run),
      R"({"pawl":2,"run":"alpha","uuid":"f204a1d5-8a93-4062-89ff-98071e9ca6ca","created":"2026-01-11T14:30:00.000000Z",)"
      R"("durability":"sync","workflow":"nightly.yaml","workflow_hash":"sha256:0123","session":"session-1",)"
      R"("salt":"b9f5a07176645a03f3f8751c656739ae","key":null,"crc":"34cdb441"})"
      "\n");
  EXPECT_EQ(
      encode_store({kFormat, *Uuid::parse("238d9491-9855-4cdb-9d45-35ed7d92bc78"), run.created, {}}),
      R"({"pawl":2,"id":"238d9491-9855-4cdb-9d45-35ed7d92bc78","created":"2026-01-11T14:30:00.000000Z","key":null,)"
      R"("crc":"fb92629f"})"
      "\n");
  const Timestamp at{1'768'141'801'000'001};
  EXPECT_EQ(
      encode_event({{1, Sequence{1}, at, "run_started", R"({"by":"golden"})"}, ""}, seal_seed(kRun)),
      R"({"n":1,"seq":1,"at":"2026-01-11T14:30:01.000001Z","type":"run_started","data":{"by":"golden"},"crc":"f361b23e"})"
      "\n");
  AuditEntry entry{1,
                   at,
                   "checkpoint_saved",
                   Sequence{1},
                   "sha256:ea7eacd445297dd14e7570b0b6c2aeac033cb9d0075d5e0ca0a78a83fcbbce64",
                   std::string(first_previous_hash()),
                   ""};
  EXPECT_EQ(encode_audit(entry),
            R"({"i":1,"at":"2026-01-11T14:30:01.000001Z","type":"checkpoint_saved","seq":1,)"
            R"("payload":"sha256:ea7eacd445297dd14e7570b0b6c2aeac033cb9d0075d5e0ca0a78a83fcbbce64",)"
            R"("prev":"0000000000000000000000000000000000000000000000000000000000000000",)"
            R"("hash":"62d5bb29e6cabe87e53a7dd6df51c69606ed3ed2790c041e6274f23352c4cd4e"})"
            "\n");
}

/// The example of docs/formats/journal.md.
TEST(GoldenRecord, Segment) {
  SegmentHeader header;
  header.store = *Uuid::parse("238d9491-9855-4cdb-9d45-35ed7d92bc78");
  header.journal = 1;
  header.position = 5;
  header.generation = 0x1122334455667789;
  header.settled_through = 40;
  const std::string encoded = encode_segment_header(header);
  ASSERT_EQ(encoded.size(), kSegmentHeaderUsed);
  EXPECT_EQ(to_hex(encoded.substr(0, 64)),
            "5041574c4a524e310100000000000000238d949198554cdb9d4535ed7d92bc78"
            "0100000000000000050000000000000089776655443322112800000000000000");
  EXPECT_EQ(encoded.substr(64, 444), std::string(444, '\0'));
  EXPECT_EQ(to_hex(encoded.substr(508)), "1997545a");

  JournalRecord record;
  record.type = RecordType::event;
  record.run_uuid = kRun;
  record.sequence.value = 7;
  record.parent.value = 6;
  record.number = 4;
  record.run = "alpha";
  record.text = "{}\n";
  std::string body;
  append_record(body, record);
  EXPECT_EQ(to_hex(encode_batch(header.generation, 41, 1, body)),
            "89776655443322114c00000001000000290000000000000089776655443322114c000000200000000000020000000000"
            "001000000000000004b3a7f385c9ddd2"
            "03000000f204a1d58a93406289ff98071e9ca6ca0700000000000000060000000000000004000000000000000000000000000000"
            "000000000000000005000000616c706861030000007b7d0a00000000");
  EXPECT_EQ(to_hex(encode_watermark({std::string(kBoot), 41, 2}).substr(36)),
            "290000000000000002000000000000000000000000000000a57a930e");
}

}  // namespace
}  // namespace pawl
