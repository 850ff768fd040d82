// The files of messages: what they must withstand, beyond the contract.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "testing/checking_file_system.hpp"
#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

RunId inbox_run(std::string_view name) { return *RunId::parse(name); }

class FilesystemInbox : public ::testing::Test {
 protected:
  FilesystemInbox() {
    for (const std::string_view run : {"r", "s"})
      EXPECT_TRUE((*store_->open_run(inbox_run(run), {}))->save({.body = "1"}));
  }
  std::string post(std::string_view body) { return *store_->post(inbox_run("r"), body); }
  [[nodiscard]] std::string path(const std::string& below) const { return place_.path() + "/" + below; }
  [[nodiscard]] std::string read(const std::string& below) const {
    std::ifstream file(path(below), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& below, std::string_view bytes) const {
    std::ofstream(path(below), std::ios::binary) << bytes;
  }
  /// Returns what fsck reports about this file, or an empty string.
  std::string found(const std::string& file, Finding::Severity severity) {
    const auto report = place_.open()->check({}, Repair::no);
    for (const Finding& finding : report->findings) {
      if (finding.file == file && finding.severity == severity) return finding.what;
    }
    return {};
  }

  FilesystemUnderTest place_{small_options()};
  std::unique_ptr<Store> store_ = place_.open();
};

TEST_F(FilesystemInbox, AMessageIsOneReadableLine) {
  const std::string id = post(R"({"approve":"deploy"})");
  const std::string text = read("runs/r/inbox/" + id + ".json");
  EXPECT_TRUE(text.starts_with(
      "{\"id\":\"" + id + R"(","at":"2026-01-11T14:30:00.000000Z","from":"@sim","body":{"approve":"deploy"},"crc":")"))
      << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
  EXPECT_TRUE(id.starts_with("00001768141800000000-")) << id;
}

TEST_F(FilesystemInbox, ADamagedMessageIsAnErrorThatNamesIt) {
  post("1");
  const std::string file = "runs/r/inbox/" + post("[2]") + ".json";
  std::string text = read(file);
  text[text.find("[2]") + 1] = '3';
  write(file, text);
  const auto listed = place_.open()->inbox(inbox_run("r"));
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code, Code::store_damaged);
  EXPECT_EQ(listed.error().where, file);
  EXPECT_NE(found(file, Finding::Severity::damage), "");
  EXPECT_TRUE(store_->restore(inbox_run("r"), {})) << "the run itself is whole";
}

TEST_F(FilesystemInbox, AMessageOfAnotherRunIsDamage) {
  const std::string name = post("1") + ".json";
  std::filesystem::create_directory(path("runs/s/inbox"));
  std::filesystem::copy_file(path("runs/r/inbox/" + name), path("runs/s/inbox/" + name));
  EXPECT_EQ(place_.open()->inbox(inbox_run("s")).error().where, "runs/s/inbox/" + name);
  EXPECT_NE(found("runs/s/inbox/" + name, Finding::Severity::damage), "");
}

TEST_F(FilesystemInbox, AMessageUnderAnotherNameIsDamage) {
  const std::string id = post("1");
  std::string other = id;
  other.back() = other.back() == '0' ? '1' : '0';
  std::filesystem::copy_file(path("runs/r/inbox/" + id + ".json"), path("runs/r/inbox/" + other + ".json"));
  EXPECT_EQ(place_.open()->inbox(inbox_run("r")).error().where, "runs/r/inbox/" + other + ".json");
}

TEST_F(FilesystemInbox, AFileOnItsWayIsNoMessageAndFsckRemovesIt) {
  const std::string left_over = "runs/r/inbox/" + post("1") + ".json.tmp";
  write(left_over, "{\"id\":");
  EXPECT_EQ(store_->inbox(inbox_run("r"))->size(), 1U);
  EXPECT_NE(found(left_over, Finding::Severity::note), "");
  ASSERT_TRUE(store_->check({}, Repair::yes));
  EXPECT_FALSE(std::filesystem::exists(path(left_over)));
  EXPECT_EQ(store_->inbox(inbox_run("r"))->size(), 1U);
}

TEST_F(FilesystemInbox, FsckCountsMessagesAndLeavesOtherFilesOfARunAlone) {
  const std::uint64_t files = store_->check({}, Repair::no)->files;
  post("1");
  ASSERT_TRUE(store_->take(inbox_run("r"), post("2")));
  for (const char* folder : {"runs/r/logs", "runs/r/local"}) {
    std::filesystem::create_directories(path(folder) + "/deep");
    write(std::string(folder) + "/step.log", "not JSON");
  }
  write("runs/r/reaper", "");
  const auto report = place_.open()->check({}, Repair::no);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->findings.empty()) << report->findings[0].file << ": " << report->findings[0].what;
  EXPECT_EQ(report->files, files + 1);
}

TEST_F(FilesystemInbox, TheOwnerIsNamedAsRunBusyNamesIt) {
  const auto writer = store_->open_run(inbox_run("r"), {});
  const auto owner = place_.open()->owner(inbox_run("r"));
  ASSERT_TRUE(owner && *owner);
  EXPECT_NE(place_.open()->open_run(inbox_run("r"), {}).error().message.find(**owner), std::string::npos) << **owner;
}

/// After a power loss during a post, the message is either listed or not. Acknowledged messages are durable, and no
/// partial message is listed.
TEST(InboxOnASimulatedDisk, SurvivesPowerLossAtEveryCall) {
  for (std::uint64_t op = 1; op < 40; ++op) {
    SimDisk disk(op);
    ManualClock clock;
    SeededRandom random(op);
    const auto open = [&](SimFileSystem& files) {
      return std::move(*FilesystemStore::open(files, {&clock, &random, sim_owner(disk.boot_id(), 1)}, small_options()));
    };
    std::vector<std::string> posted;
    {
      SimFileSystem files(disk);
      const auto store = open(files);
      ASSERT_TRUE((*store->open_run(inbox_run("r"), {}))->save({.body = "1"}));
      files.power_cut_at(files.ops() + op);
      for (const char* body : {"1", "2", "3"}) {
        if (store->post(inbox_run("r"), body)) posted.emplace_back(body);
      }
      if (!disk.power_is_off()) files.kill();
    }
    disk.power_loss(op % 2 == 0 ? Loss::drop_all : Loss::random);
    SimFileSystem files(disk);
    const auto listed = open(files)->inbox(inbox_run("r"));
    ASSERT_TRUE(listed) << op << ": " << describe(listed.error());
    ASSERT_GE(listed->size(), posted.size()) << "power cut at op " << op;
    for (std::size_t i = 0; i < listed->size(); ++i) EXPECT_EQ((*listed)[i].body, std::to_string(i + 1));
  }
}

TEST(InboxOnASimulatedDisk, IsReadWithoutChangingAnything) {
  SimDisk disk(1);
  ManualClock clock;
  SeededRandom random(1);
  SimFileSystem files(disk);
  const auto store = std::move(*FilesystemStore::open(files, {&clock, &random, sim_owner("boot", 1)}, small_options()));
  const auto writer = store->open_run(inbox_run("r"), {});
  ASSERT_TRUE((*writer)->save({.body = "1"}));
  ASSERT_TRUE(store->post(inbox_run("r"), "1"));
  const std::uint64_t ops = files.ops();
  ASSERT_TRUE(store->inbox(inbox_run("r")));
  ASSERT_TRUE(store->owner(inbox_run("r")));
  EXPECT_EQ(files.ops(), ops);
  EXPECT_EQ(store->local_folder(inbox_run("r")).error().code, Code::write_failed) << "others can't see this disk";
}

TEST(InboxOnASimulatedDisk, ASecondMessageCostsTwoSyncs) {
  SimDisk disk(1);
  ManualClock clock;
  SeededRandom random(1);
  SimFileSystem files(disk);
  CheckingFileSystem checking(files);
  const auto store =
      std::move(*FilesystemStore::open(checking, {&clock, &random, sim_owner("boot", 1)}, small_options()));
  ASSERT_TRUE((*store->open_run(inbox_run("r"), {}))->save({.body = "1"}));
  ASSERT_TRUE(store->post(inbox_run("r"), "1"));
  checking.clear();
  ASSERT_TRUE(store->post(inbox_run("r"), "2"));
  EXPECT_EQ(checking.count(SyncPoint::inbox_message), 1U);
  EXPECT_EQ(checking.count(SyncPoint::inbox_name), 1U);
}

}  // namespace
}  // namespace pawl::testing
