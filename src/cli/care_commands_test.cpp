// config, doctor and stats on a memory store and a fake machine.
#include "config/config.hpp"
#include "testing/cli_fixture.hpp"

namespace pawl {
namespace {

class CareCommands : public testing::CliTest {
 protected:
  nlohmann::json check(const testing::CliResult& result, const std::string& name) {
    const nlohmann::json document = result.json();
    for (const auto& row : document.at("checks")) {
      if (row.at("check") == name) return row;
    }
    ADD_FAILURE() << name << " is not in " << result.out;
    return {};
  }
  std::string verdict(const std::string& name) { return check(pawl({"doctor", "--json"}), name).value("verdict", ""); }
};

TEST_F(CareCommands, SettingsReachTheStore) {
  environment_["PAWL_PERFORMANCE_COMPRESSION_LEVEL"] = "7";
  files_["./.pawl/config.yaml"] = "checkpoint: { format: cbor }\n";
  EXPECT_EQ(pawl({"save", "r"}, "1").status, 0);
  EXPECT_EQ(opened_with_.performance.compression_level, 7);
  EXPECT_EQ(opened_with_.checkpoint.format, StateFormat::cbor);
}

TEST_F(CareCommands, TheUsersFileNamesTheStore) {
  environment_["HOME"] = "/h";
  files_["/h/.config/pawl/config.yaml"] = "checkpoint: { storage_path: ~/store }\n";
  EXPECT_EQ(pawl({"save", "r"}, "1").status, 0);
  EXPECT_EQ(opened_uri_, "/h/store");
  environment_["PAWL_STORE"] = "elsewhere";
  EXPECT_EQ(pawl({"save", "r"}, "1").status, 0);
  EXPECT_EQ(opened_uri_, "elsewhere");
}

TEST_F(CareCommands, ConfigShowsValuesAndTheirOrigins) {
  files_["./.pawl/config.yaml"] = "recovery:\n  within: 90m\n";
  const auto shown = pawl({"config", "--json"}).json();
  EXPECT_EQ(shown.at("recovery.within"), nlohmann::json({{"value", "90m"}, {"source", "./.pawl/config.yaml:2"}}));
  EXPECT_EQ(shown.at("checkpoint.checkpoint_size_limit_mb").at("value"), "1KB");  // the fixture's
  EXPECT_EQ(shown.at("checkpoint.keep"), nlohmann::json({{"value", 100}, {"source", "default"}}));
  EXPECT_EQ(shown.size(), config_keys().size());
}

TEST_F(CareCommands, WrongSettingsAreAnErrorOfEveryCommand) {
  files_["./.pawl/config.yaml"] = "recovery: { atuo: true }\n";
  for (const std::vector<std::string>& args : {std::vector<std::string>{"save", "r"}, {"list"}, {"config"}}) {
    const testing::CliResult result = pawl(args, "1");
    EXPECT_EQ(result.status, 2);
    EXPECT_NE(result.err.find("PAWL-0025"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("./.pawl/config.yaml:1:13"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("did you mean 'auto'?"), std::string::npos) << result.err;
  }
}

TEST_F(CareCommands, ASaveIsRefusedWhereCheckpointsAreOff) {
  environment_["PAWL_CHECKPOINT_ENABLED"] = "false";
  const testing::CliResult result = pawl({"save", "r", "--json"}, "1");
  EXPECT_EQ(result.status, 4);
  EXPECT_EQ(result.error_json().at("code"), "PAWL-0240");
  EXPECT_FALSE(store_exists_);
}

TEST_F(CareCommands, TheDoctorIsContentWithAGoodMachine) {
  pawl({"save", "r"}, "1");
  const testing::CliResult result = pawl({"doctor"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("1.50 ms"), std::string::npos) << result.out;
}

TEST_F(CareCommands, TheDoctorFindsATroubledDisk) {
  machine_.disk_facts.free_bytes = 100ULL << 20U;
  EXPECT_EQ(verdict("free space"), "warning");
  machine_.disk_facts.free_bytes = 1000;
  EXPECT_EQ(pawl({"doctor"}).status, 5);
  EXPECT_EQ(verdict("free space"), "broken");
  machine_.disk_facts.free_files = 5;
  EXPECT_EQ(verdict("inodes"), "warning");
  machine_.disk_facts.total_files = 0;
  EXPECT_EQ(pawl({"doctor", "--json"}).out.find("inodes"), std::string::npos);
  machine_.disk_facts.read_only = true;
  EXPECT_EQ(verdict("free space"), "broken");
}

TEST_F(CareCommands, TheDoctorFindsAFileSystemThatCantBeTrusted) {
  machine_.disk_facts.type = "tmpfs";
  EXPECT_EQ(verdict("file system"), "warning");
  machine_.disk_facts.type = "nfs";
  machine_.disk_facts.is_network = true;
  EXPECT_EQ(pawl({"doctor"}).status, 4);
  EXPECT_EQ(verdict("file system"), "broken");
}

TEST_F(CareCommands, TheDoctorFindsSlowSyncs) {
  machine_.sync_us = 30'000;
  const nlohmann::json row = check(pawl({"doctor", "--json"}), "sync");
  EXPECT_EQ(row.at("verdict"), "warning");
  EXPECT_NE(row.at("advice").get<std::string>().find("async_writes"), std::string::npos);
}

TEST_F(CareCommands, TheDoctorFindsAClockThatIsWrong) {
  pawl({"save", "r"}, "1");
  EXPECT_EQ(verdict("clock"), "ok");
  clock_.set(Timestamp{clock_.now().us - 3'600'000'000});
  EXPECT_EQ(verdict("clock"), "warning");
  clock_.set(Timestamp{0});
  EXPECT_EQ(verdict("clock"), "warning");
}

TEST_F(CareCommands, TheDoctorNamesWritersAndLeftOvers) {
  pawl({"save", "r"}, "1");
  EXPECT_EQ(check(pawl({"doctor", "--json"}), "locks").at("what"), "no run has a writer");
  const auto store = other_handle();
  const auto writer = store->open_run(*RunId::parse("r"), {});
  ASSERT_TRUE(writer.has_value());
  EXPECT_NE(check(pawl({"doctor", "--json"}), "locks").at("what").get<std::string>().find("4711"), std::string::npos);
  machine_.left = {"/s/old.tmp"};
  EXPECT_EQ(verdict("left-overs"), "warning");
}

TEST_F(CareCommands, TheDoctorGoesOnWithoutAStoreAndWithWrongSettings) {
  environment_["PAWL_CHECKPOINT_KEP"] = "1";
  const testing::CliResult result = pawl({"doctor", "--json"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(check(result, "settings").at("verdict"), "broken");
  EXPECT_EQ(check(result, "store").at("verdict"), "warning");
  EXPECT_EQ(check(result, "sync").at("verdict"), "ok");
}

TEST_F(CareCommands, StatsAreSortedBySize) {
  pawl({"save", "small"}, "1");
  pawl({"save", "large"}, "\"" + std::string(300, 'x') + "\"");
  const auto shown = pawl({"stats", "--json"}).json();
  EXPECT_EQ(shown.at("runs").at(0).at("run"), "large");
  const std::uint64_t large = shown.at("runs").at(0).at("bytes");
  const std::uint64_t small = shown.at("runs").at(1).at("bytes");
  EXPECT_GT(large, small + 300);
  EXPECT_EQ(shown.at("total").at("run_bytes"), large + small);
  const testing::CliResult one = pawl({"stats", "--top", "1"});
  EXPECT_EQ(one.out.find("small"), std::string::npos);
  EXPECT_NE(one.err.find("use --top to see more"), std::string::npos);
}

TEST_F(CareCommands, StatsOfARunCompareKeysWithEarlierCheckpoints) {
  pawl({"save", "r"}, R"({"a": [1], "b": "xx"})");
  pawl({"save", "r"}, R"({"a": [1, 2, 3, 4], "b": "xx"})");
  const auto shown = pawl({"stats", "r", "--json"}).json();
  EXPECT_EQ(shown.at("keys").at(0).at("key"), "a");
  EXPECT_EQ(shown.at("keys").at(0).at("history"), nlohmann::json({3, 12}));
  EXPECT_EQ(shown.at("keys").at(0).at("grown_bytes"), 9);
  EXPECT_EQ(shown.at("keys").at(1).at("grown_bytes"), 0);
}

TEST_F(CareCommands, StatsCannotSteerATerminal) {
  pawl({"save", "r"}, R"({"\u001b[31m": 1})");
  EXPECT_EQ(pawl({"stats", "r"}).out.find('\x1b'), std::string::npos);
}

TEST_F(CareCommands, APatchIsWarnedOfByTheStateThatItMakes) {
  environment_["PAWL_CHECKPOINT_SIZE_WARNING"] = "100B";
  pawl({"save", "r"}, R"({"a": ")" + std::string(90, 'x') + R"("})");
  const testing::CliResult patched = pawl({"save", "r", "--patch", "--json"}, R"({"b": "yyyyyyyyyy"})");
  EXPECT_EQ(patched.json().at("warnings").size(), 1U) << patched.out;
}

}  // namespace
}  // namespace pawl
