#include "importers/sql_rows.hpp"
#include "testing/import_fixture.hpp"

namespace pawl {
namespace {

const std::vector<std::string> kColumns{"id", "state"};

TEST(SqlRows, OfInsertStatementsAreReadWithAllKindsOfQuotes) {
  const auto rows = sql_rows(
      "INSERT INTO \"public\".\"t\" (\"id\", state) VALUES ('it''s', '{\"a\":\"b;)\"}'::jsonb), (E'a\\'b\\n', $x$ $$ "
      "$x$);\n"
      "INSERT INTO other VALUES (1, 2); insert into t values (NULL, 12); -- INSERT INTO t VALUES (3, 4);\n"
      "/* INSERT INTO t VALUES (5, 6); */",
      "t", kColumns);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].values.at("id"), "it's");
  EXPECT_EQ(rows[0].values.at("state"), "{\"a\":\"b;)\"}");
  EXPECT_EQ(rows[1].values.at("id"), "a'b\n");
  EXPECT_EQ(rows[1].values.at("state"), " $$ ");
  EXPECT_EQ(rows[2].values.at("id"), std::nullopt);
  EXPECT_EQ(rows[2].values.at("state"), "12");
}

TEST(SqlRows, OfCopyStatementsEndWithABackslashAndAPeriod) {
  const auto rows = sql_rows(
      "COPY other (id) FROM stdin;\nit's INSERT INTO t VALUES (1, 2);\n\\.\nCOPY public.t (id, state) FROM "
      "stdin;\na\\tb\t{\"x\": \"\\\\n\"}\n\\N\tz\n\\.\nINSERT INTO t VALUES ('c', 'd');",
      "t", kColumns);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].values.at("id"), "a\tb");
  EXPECT_EQ(rows[0].values.at("state"), "{\"x\": \"\\n\"}");
  EXPECT_EQ(rows[1].values.at("id"), std::nullopt);
  EXPECT_EQ(rows[2].values.at("id"), "c");
}

TEST(SqlRows, ThatAreCutShortHaveAFault) {
  EXPECT_EQ(sql_rows("INSERT INTO t VALUES ('a', 'b'), ('c', 'd", "t", kColumns).back().fault, "the row is incomplete");
  EXPECT_FALSE(sql_rows("COPY t (id, state) FROM stdin;\na\tb\n", "t", kColumns).back().fault.empty());
  EXPECT_FALSE(sql_rows("INSERT INTO t VALUES ('a')", "t", kColumns).back().fault.empty());
  EXPECT_FALSE(sql_rows("INSERT INTO t (", "t", kColumns).back().fault.empty());
}

constexpr const char* kRow =
    R"({{"id":"{}","workflow_id":"w","timestamp":"{}","layer_index":{},"state":{},"dag_structure":{{"tasks":[{{"id":"a"}},{{"id":"b"}}]}},"execution_config":{{}}}})";

TEST(Dag, TakesConfirmedTasksAlone) {
  const std::string state =
      R"({"tasks":[{"taskId":"a","result":1},{"taskId":"b","status":"pending"},{"taskId":"c","speculative":true}],"context":{"v":2}})";
  testing::TextFiles files(
      {{"export.json", "[" + fmt::format(fmt::runtime(kRow), "1", "2025-01-01 00:00:00+02", 2, state) + "]"}});
  const Parsed parsed = parse_files(files, "dag", "export.json");
  EXPECT_TRUE(parsed.problems.empty());
  ASSERT_EQ(parsed.runs.size(), 1U);
  EXPECT_EQ(parsed.runs[0].steps.size(), 1U);
  EXPECT_FALSE(parsed.runs[0].completed);
  EXPECT_EQ(parsed.runs[0].vars, Json::parse(R"({"v":2})"));
  EXPECT_EQ(parsed.runs[0].checkpoints[0].stage, "layer2");
}

TEST(Dag, TakesColumnsThatAreTextWithJsonInIt) {
  testing::TextFiles files(
      {{"export.jsonl",
        std::string(
            R"({"id":"1","workflow_id":"w","timestamp":"2025-01-01T00:00:00Z","layer_index":1,"state":"{\"tasks\":[]}","dag_structure":"{}","execution_config":"{}"})")}});
  const Parsed parsed = parse_files(files, "dag");
  EXPECT_TRUE(parsed.problems.empty());
  EXPECT_EQ(parsed.runs[0].checkpoints[0].state,
            R"({"layer_index":1,"state":{"tasks":[]},"dag_structure":{},"execution_config":{}})");
}

TEST(Dag, RefusesRowsOneByOne) {
  const auto row = [](const char* id, const char* time, const char* layer, const char* state) {
    return fmt::format(fmt::runtime(kRow), id, time, layer, state);
  };
  testing::TextFiles files(
      {{"export.json",
        fmt::format("[{},{},{},{},{},7]", row("1", "2025-01-01T00:00:00Z", "1", "{}"),
                    row("1", "2025-01-01T00:00:00Z", "1", "{}"), row("2", "never", "1", "{}"),
                    row("3", "2025-01-01T00:00:00Z", "-1", "{}"), row("4", "2025-01-01T00:00:00Z", "1", "[]"))}});
  const Parsed parsed = parse_files(files, "dag");
  EXPECT_EQ(parsed.codes(), (std::vector<Code>{Code::import_invalid, Code::import_duplicate, Code::import_invalid,
                                               Code::number_out_of_range, Code::import_invalid}));
  EXPECT_EQ(parsed.runs.size(), 1U);
}

}  // namespace
}  // namespace pawl
