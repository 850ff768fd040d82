// `pawl list`, `show`, `diff`, `explain`, help, and the location of the store.
#include "tests/e2e/fixture.hpp"

namespace pawl::e2e {
namespace {

using Looking = E2e;

TEST_F(Looking, TheListIsNewestFirst) {
  for (const char* name : {"one", "two", "three"}) ASSERT_EQ(save(name, "1").status, 0);
  ASSERT_EQ(save("one", "2").status, 0);
  const nlohmann::json rows = json({"list"});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].at("run"), "one");
  EXPECT_EQ(rows[0].at("latest"), 2);
  EXPECT_EQ(rows[1].at("run"), "three");
  EXPECT_EQ(rows[2].at("run"), "two");
  const std::string text = ok({"list"});
  EXPECT_TRUE(text.starts_with("RUN "));
  EXPECT_LT(text.find("\none "), text.find("\nthree "));
  EXPECT_LT(text.find("\nthree "), text.find("\ntwo "));
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "colours only on a terminal";
  const Finished limited = pawl({"list", "--limit", "1"});
  EXPECT_TRUE(contains(limited.out, "\none ")) << "and";
  EXPECT_FALSE(contains(limited.out, "two"));
  EXPECT_TRUE(contains(limited.err, "use --limit to see more"));
}

TEST_F(Looking, AnEmptyStoreHasAnEmptyList) {
  // A save that the store itself refuses leaves a store without runs.
  EXPECT_EQ(pawl({"save", "r", "--expect-parent", "5"}, "1").status, 4);
  EXPECT_EQ(json({"list"}), nlohmann::json::array());
  const Finished text = pawl({"list"});
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.out, "");
  EXPECT_TRUE(contains(text.err, "no runs yet"));
  EXPECT_TRUE(contains(ok({"fsck"}), "ok: 0 runs"));
}

TEST_F(Looking, WhatIsNoStoreIsSaid) {
  for (const char* call : {"list", "fsck"}) expect_error(pawl({call}), 2, "PAWL-0103");
  expect_error(pawl({"restore", "r"}), 2, "PAWL-0103");
  expect_error(pawl({"show", "r"}), 2, "PAWL-0103");
  expect_error(pawl({"diff", "r@1", "r@2"}), 2, "PAWL-0103");
  EXPECT_FALSE(std::filesystem::exists(store())) << "reading makes no store";
  write_bytes(path("store"), "a file");
  EXPECT_NE(pawl({"list"}).status, 0);
  EXPECT_NE(save("r", "1").status, 0);
  EXPECT_EQ(read_bytes(path("store")), "a file");
}

TEST_F(Looking, ShowTellsOfARunAndOfACheckpoint) {
  for (int i = 1; i <= 12; ++i) ASSERT_EQ(save("r", std::to_string(i)).status, 0);
  const Finished shown = pawl({"show", "r"});
  EXPECT_TRUE(contains(shown.out, "Latest:      r@12"));
  EXPECT_TRUE(contains(shown.out, "\n12 "));
  EXPECT_FALSE(contains(shown.out, "\n2  ")) << "only the newest ten";
  EXPECT_TRUE(contains(shown.err, "use --checkpoints to see more"));
  EXPECT_EQ(json({"show", "r"}).at("latest").at("sequence"), 12);
  EXPECT_TRUE(contains(ok({"show", "r@3"}), "Parent:      r@2"));
  EXPECT_EQ(json({"show", "r@3"}).at("parent"), 2);

  const nlohmann::json all = json({"show", "r", "--checkpoints"});
  ASSERT_EQ(all.size(), 12U);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].at("sequence"), i + 1);
  const nlohmann::json some = json({"show", "r", "--checkpoints", "--after", "4", "--limit", "3"});
  ASSERT_EQ(some.size(), 3U);
  EXPECT_EQ(some[0].at("sequence"), 5);
  EXPECT_EQ(some[2].at("sequence"), 7);
  EXPECT_EQ(json({"show", "r", "--checkpoints", "--after", "12"}), nlohmann::json::array());
  expect_error(pawl({"show", "r", "--checkpoints", "--limit", "0"}), 2, "PAWL-0001");
  expect_error(pawl({"show", "r@3", "--checkpoints"}), 2, "PAWL-0001");
  expect_error(pawl({"show", "missing"}), 2, "PAWL-0101");
  expect_error(pawl({"show", "r@13"}), 2, "PAWL-0102");
}

TEST_F(Looking, ADifferenceLeadsFromOneStateToTheOther) {
  const std::string before =
      R"({"a": 1, "gone": [1, 2], "deep": {"x/y": "old", "~": 1}, "list": [1, 2, 3], "same": null})";
  const std::string after =
      R"({"a": 1.5, "deep": {"x/y": "new", "~": [0], "": {}}, "list": [0, 1, 3, 4], "same": null, "ä": "€"})";
  ASSERT_EQ(save("r", before).status, 0);
  ASSERT_EQ(save("r", after).status, 0);
  const nlohmann::json patch = json({"diff", "r@1", "r@2"});
  EXPECT_EQ(nlohmann::json::parse(before).patch(patch), nlohmann::json::parse(after));
  const nlohmann::json back = json({"diff", "r@2", "r@1"});
  EXPECT_EQ(nlohmann::json::parse(after).patch(back), nlohmann::json::parse(before));
  const std::string text = ok({"diff", "r@1", "r@2"});
  EXPECT_TRUE(contains(text, "~ /a: 1 -> 1.5\n"));
  EXPECT_TRUE(contains(text, "/gone"));
  EXPECT_TRUE(contains(text, "/deep/x~1y"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST_F(Looking, ADifferenceOfWholeKindsOfValues) {
  const std::vector<std::string> states = {"1",    "{\"a\": [1, {\"b\": 2}]}", "[]", "null", "[[1], [2]]", "\"x\"",
                                           "[[2]]"};
  for (const std::string& state : states) ASSERT_EQ(save("r", state).status, 0);
  for (std::size_t i = 0; i < states.size(); ++i) {
    for (std::size_t k = 0; k < states.size(); ++k) {
      const nlohmann::json patch = json({"diff", "r@" + std::to_string(i + 1), "r@" + std::to_string(k + 1)});
      EXPECT_EQ(nlohmann::json::parse(states[i]).patch(patch), nlohmann::json::parse(states[k])) << patch;
    }
  }
}

TEST_F(Looking, EqualStatesHaveNoDifference) {
  ASSERT_EQ(save("r", "{\"a\": 1, \"b\": 2}").status, 0);
  ASSERT_EQ(save("r", "{\"b\":2,\"a\":1}").status, 0);
  EXPECT_EQ(json({"diff", "r@1", "r@2"}), nlohmann::json::array());
  const Finished spelled = pawl({"diff", "r@1", "r@2"});
  EXPECT_EQ(spelled.status, 0);
  EXPECT_EQ(spelled.out, "");
  EXPECT_TRUE(contains(spelled.err, "same values"));
  EXPECT_TRUE(contains(pawl({"diff", "r@1", "r@1"}).err, "same state"));
  expect_error(pawl({"diff", "r@1"}), 2, "PAWL-0001");
  expect_error(pawl({"diff", "r@1", "r@7"}), 2, "PAWL-0102");
}

TEST_F(Looking, ExplainKnowsEveryCode) {
  const nlohmann::json codes = json({"explain"});
  ASSERT_GT(codes.size(), 40U);
  for (const nlohmann::json& row : codes) {
    const std::string code = row.at("code");
    const std::string page = ok({"explain", code});
    EXPECT_TRUE(page.starts_with("# " + code + ": ")) << page;
    EXPECT_TRUE(contains(page, "## What to do"));
  }
  EXPECT_EQ(ok({"explain", "201"}), ok({"explain", "pawl-0201"}));
  EXPECT_EQ(json({"explain", "PAWL-0201"}).at("exit_status"), 4);
  expect_error(pawl({"explain", "PAWL-9999"}), 2, "PAWL-0001");
}

TEST_F(Looking, HelpIsNearby) {
  for (const char* name : {"save", "restore", "list", "show", "diff", "fsck", "explain"}) {
    EXPECT_TRUE(contains(ok({"--help"}), std::string("\n  ") + name + " "));
    const std::string help = ok({name, "--help"});
    EXPECT_TRUE(contains(help, "--store"));
    EXPECT_TRUE(contains(help, "--json"));
    EXPECT_TRUE(contains(help, "Examples:"));
  }
  EXPECT_TRUE(ok({"--version"}).starts_with("pawl "));
  const Finished misspelt = pawl({"restroe", "r"});
  expect_error(misspelt, 2, "PAWL-0001");
  EXPECT_TRUE(contains(misspelt.err, "did you mean `restore`?"));
  EXPECT_TRUE(contains(pawl({"save", "r", "--sate", "f"}).err, "did you mean `--state`?"));
  expect_error(pawl({}), 2, "PAWL-0001");
  expect_error(pawl({"save"}), 2, "PAWL-0001");
  expect_error(pawl({"list", "extra"}), 2, "PAWL-0001");
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(Looking, TheStoreIsNamedByOptionThenVariableThenPlace) {
  Command by_place = command({"save", "r"}, "1");
  by_place.environment["PAWL_STORE"] = "";
  EXPECT_EQ(run(by_place).out, "r@1\n");
  EXPECT_TRUE(std::filesystem::exists(path(".pawl/store.json")));
  EXPECT_EQ(save("r", "2").out, "r@1\n");
  EXPECT_TRUE(std::filesystem::exists(stored("store.json")));
  EXPECT_EQ(pawl({"save", "r", "--store", path("third").string()}, "3").out, "r@1\n");
  EXPECT_EQ(ok({"--store", path("third").string(), "restore", "r"}), "3");
  EXPECT_EQ(ok({"restore", "r"}), "2");
  by_place.args = {"restore", "r"};
  EXPECT_EQ(run(by_place).out, "1");
  EXPECT_EQ(ok({"restore", "r", "--store", "file:" + path("third").string()}), "3");
  expect_error(pawl({"list", "--store", "redis://x"}), 2, "PAWL-0001");
}

TEST_F(Looking, TheStoreHasItsFilesUnderTheirNames) {
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(save("nightly", "{\"text\": \"" + std::string(500, 'x') + "\", \"n\": " + std::to_string(i) + "}").status,
              0);
  }
  ASSERT_EQ(pawl({"list"}).status, 0);
  for (const char* name :
       {"store.json", "journal/1/00000001.log", "runs/nightly/run.json",
        "runs/nightly/checkpoints/checkpoint_00001.json", "runs/nightly/checkpoints/checkpoint_00001.jsonl",
        "runs/nightly/audit/audit_trail.jsonl", "catalogue.db"}) {
    EXPECT_TRUE(std::filesystem::is_regular_file(stored(name))) << name;
  }
  EXPECT_EQ(nlohmann::json::parse(read_bytes(stored("store.json"))).at("pawl"), 2);
  EXPECT_EQ(nlohmann::json::parse(read_bytes(stored("runs/nightly/run.json"))).at("run"), "nightly");
  EXPECT_TRUE(contains(read_bytes(stored("runs/nightly/checkpoints/checkpoint_00001.json")), std::string(500, 'x')))
      << "readable";
  std::filesystem::remove(stored("catalogue.db"));
  EXPECT_EQ(json({"list"}).size(), 1U) << "the catalogue is rebuilt";
}

}  // namespace
}  // namespace pawl::e2e
