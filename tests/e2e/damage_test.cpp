// `pawl fsck` on damaged stores.
#include "tests/e2e/fixture.hpp"

namespace pawl::e2e {
namespace {

class Damage : public E2e {
 protected:
  /// Makes a run of large, published states. The journal no longer contains the first ones.
  void make_store() {
    for (std::uint64_t i = 1; i <= 24; ++i) ASSERT_EQ(save("r", state(i)).status, 0);
    ASSERT_EQ(save("other", "\"fine\"").status, 0);
    ASSERT_TRUE(contains(ok({"fsck"}), "ok: 2 runs, 25 checkpoints"));
  }
  /// Small enough for the journal, large enough to fill its segments.
  [[nodiscard]] static std::string state(std::uint64_t seed) { return noise(seed, 900'000); }
  static void flip(const std::filesystem::path& file, std::uintmax_t at) {
    std::string bytes = read_bytes(file);
    ASSERT_GT(bytes.size(), at);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    write_bytes(file, bytes);
  }
};

TEST_F(Damage, ADamagedFileIsFoundAndNamed) {
  make_store();
  const std::string name = "runs/r/checkpoints/checkpoint_00001.json";
  flip(stored(name), std::filesystem::file_size(stored(name)) / 2);
  const Finished found = pawl({"fsck"});
  EXPECT_EQ(found.status, 4);
  EXPECT_TRUE(contains(found.out, name));
  EXPECT_TRUE(contains(found.out, "r@1"));
  EXPECT_TRUE(contains(found.out, "DAMAGED"));
  EXPECT_TRUE(contains(found.err, "PAWL-0309"));
  EXPECT_EQ(pawl({"fsck", "r"}).status, 4);
  EXPECT_EQ(pawl({"fsck", "r@1"}).status, 4);
  EXPECT_EQ(pawl({"fsck", "other"}).status, 0);
  EXPECT_EQ(pawl({"fsck", "r@24"}).status, 0);
  const Finished report = pawl({"fsck", "--json"});
  const nlohmann::json document = nlohmann::json::parse(report.out);
  EXPECT_EQ(report.status, 4);
  EXPECT_EQ(document.at("ok"), false);
  EXPECT_TRUE(contains(document.at("findings").dump(), name));

  const Finished refused = pawl({"restore", "r@1"});
  EXPECT_EQ(refused.status, 4);
  EXPECT_EQ(refused.out, "") << "damaged bytes are not printed";
  EXPECT_TRUE(contains(refused.err, name));
  EXPECT_TRUE(ok({"restore", "r@24"}) == state(24)) << "the rest is not affected";
  EXPECT_EQ(ok({"restore", "other"}), "\"fine\"");
}

TEST_F(Damage, RepairMendsWithoutLosingAnything) {
  ASSERT_EQ(save("r", "{\"a\": 1}").status, 0);
  ASSERT_EQ(save("r", "{\"a\": 2}").status, 0);
  // Records that are still in the journal can be published again.
  const std::string name = "runs/r/checkpoints/checkpoint_00001.json";
  flip(stored(name), 20);
  EXPECT_EQ(ok({"restore", "r@1"}), "{\"a\": 1}");
  const Finished repaired = pawl({"fsck", "--repair"});
  EXPECT_EQ(repaired.status, 0) << repaired.out << repaired.err;
  EXPECT_TRUE(contains(ok({"fsck"}), "ok: 1 run, 2 checkpoints"));
  EXPECT_EQ(ok({"restore", "r@1"}), "{\"a\": 1}");
  EXPECT_EQ(ok({"restore", "r@2"}), "{\"a\": 2}");
}

TEST_F(Damage, RepairDoesNotHideALoss) {
  make_store();
  ASSERT_TRUE(std::filesystem::remove(stored("runs/r/checkpoints/checkpoint_00001.json")));
  EXPECT_EQ(pawl({"fsck", "--repair"}).status, 4);
  EXPECT_EQ(pawl({"fsck"}).status, 4) << "it is still damaged";
  EXPECT_EQ(pawl({"restore", "r@1"}).status, 4);
  EXPECT_TRUE(ok({"restore", "r@24"}) == state(24));
}

TEST_F(Damage, ADamagedCatalogueIsRebuilt) {
  ASSERT_EQ(save("r", "1").status, 0);
  ASSERT_EQ(json({"list"}).size(), 1U);
  write_bytes(stored("catalogue.db"), "this is no database");
  EXPECT_EQ(json({"list"}).size(), 1U);
  EXPECT_EQ(pawl({"fsck", "--repair"}).status, 0);
  EXPECT_EQ(pawl({"fsck"}).status, 0);
}

TEST_F(Damage, AStoreOfANewerFormatIsLeftAlone) {
  ASSERT_EQ(save("r", "1").status, 0);
  const std::string original = read_bytes(stored("store.json"));
  std::string newer = original;
  ASSERT_NE(newer.find("\"pawl\":2"), std::string::npos);
  newer.replace(newer.find("\"pawl\":2"), 8, "\"pawl\":3");
  write_bytes(stored("store.json"), newer);
  const std::string journal = read_bytes(stored("journal/1/00000001.log"));
  expect_error(save("r", "2"), 4, "PAWL-0401");
  expect_error(pawl({"restore", "r"}), 4, "PAWL-0401");
  expect_error(pawl({"list"}), 4, "PAWL-0401");
  expect_error(pawl({"fsck", "--repair"}), 4, "PAWL-0401");
  EXPECT_EQ(read_bytes(stored("store.json")), newer);
  EXPECT_TRUE(read_bytes(stored("journal/1/00000001.log")) == journal);
  write_bytes(stored("store.json"), original);
  EXPECT_EQ(ok({"restore", "r"}), "1") << "nothing was lost";
  EXPECT_EQ(ok({"save", "r"}, "2"), "r@2\n");
}

TEST_F(Damage, ALostOrDamagedStoreFileIsRefused) {
  ASSERT_EQ(save("r", "1").status, 0);
  const std::string original = read_bytes(stored("store.json"));
  for (const std::string& bytes :
       {std::string("{"), std::string(), original.substr(0, original.size() / 2), std::string("{}")}) {
    write_bytes(stored("store.json"), bytes);
    expect_error(save("r", "2"), 4, "PAWL-0308");
    expect_error(pawl({"restore", "r"}), 4, "PAWL-0308");
  }
  std::filesystem::remove(stored("store.json"));
  expect_error(save("r", "2"), 4, "PAWL-0308");
  expect_error(pawl({"restore", "r"}), 4, "PAWL-0308");
  write_bytes(stored("store.json"), original);
  EXPECT_EQ(ok({"restore", "r"}), "1");
}

}  // namespace
}  // namespace pawl::e2e
