// Behaviour that all commands share, and fsck and explain.
#include "cli/text.hpp"
#include "testing/cli_fixture.hpp"

namespace pawl::testing {
namespace {

class CommandLine : public CliTest {};

TEST_F(CommandLine, HelpListsTheCommandsInGroupsWithExamples) {
  const CliResult help = pawl({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* word : {"save", "restore", "list", "show", "diff", "fsck", "explain", "rollback", "verify",
                           "Checkpoints", "Examples:"}) {
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(help.out.find("worker"), std::string::npos) << "lists a command that does not exist";
  const CliResult save = pawl({"save", "--help"});
  EXPECT_EQ(save.status, 0);
  EXPECT_NE(save.out.find("Examples:"), std::string::npos);
  EXPECT_NE(save.out.find("--store"), std::string::npos);
}

TEST_F(CommandLine, VersionIsPrintedBeforeOrBehindACommand) {
  EXPECT_EQ(pawl({"--version"}).out, "pawl 1.2.3\n");
  EXPECT_EQ(pawl({"list", "--version"}).out, "pawl 1.2.3\n");
}

TEST_F(CommandLine, GlobalOptionsStandBeforeOrBehindTheCommand) {
  store_exists_ = true;
  EXPECT_EQ(pawl({"--json", "--store", "a", "list"}).out, "[]\n");
  EXPECT_EQ(opened_uri_, "a");
  EXPECT_EQ(pawl({"list", "--store=b", "--json"}).out, "[]\n");
  EXPECT_EQ(opened_uri_, "b");
}

TEST_F(CommandLine, TheStoreComesFromTheOptionThenTheEnvironmentThenTheDefault) {
  store_exists_ = true;
  pawl({"list"});
  EXPECT_EQ(opened_uri_, "./.pawl");
  environment_["PAWL_STORE"] = "/srv/pawl";
  pawl({"list"});
  EXPECT_EQ(opened_uri_, "/srv/pawl");
  pawl({"list", "--store", "here"});
  EXPECT_EQ(opened_uri_, "here");
}

TEST_F(CommandLine, MisspeltCommandsAndOptionsAreSuggested) {
  const CliResult command = pawl({"svae", "r", "--state", "x"});
  EXPECT_EQ(command.status, 2);
  EXPECT_EQ(command.err, "pawl: PAWL-0001: unknown command 'svae'\nhint: did you mean `save`?\n");
  const CliResult option = pawl({"save", "r", "--stat", "x"});
  EXPECT_EQ(option.status, 2);
  EXPECT_NE(option.err.find("unknown option --stat"), std::string::npos) << option.err;
  EXPECT_NE(option.err.find("did you mean `--state`?"), std::string::npos) << option.err;
}

TEST_F(CommandLine, PartsOfACommandHaveTheirOwnHelp) {
  for (const char* part : {"list", "add", "report", "anchor", "proof"}) {
    const CliResult help = pawl({"audit", part, "--help"});
    EXPECT_EQ(help.status, 0);
    for (const std::string& word :
         {std::string("--store"), std::string("--json"), fmt::format("Examples:\n  pawl audit {}", part)}) {
      EXPECT_NE(help.out.find(word), std::string::npos) << word << "\n" << help.out;
    }
    EXPECT_EQ(help.out.find("notes.yaml"), std::string::npos) << help.out;
  }
  const CliResult shared = pawl({"dlq", "list", "--help"});
  EXPECT_NE(shared.out.find("pawl dlq retry"), std::string::npos) << shared.out;
  EXPECT_EQ(shared.out.find("notes.yaml"), std::string::npos) << shared.out;
}

TEST_F(CommandLine, PartsOfACommandAreNamedWhereNoneIsMeant) {
  const CliResult unknown = pawl({"audit", "bogus"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_EQ(unknown.err,
            "pawl: PAWL-0001: unknown command 'bogus' after 'pawl audit'\n"
            "hint: use one of: list, add, report, anchor, proof\n");
  EXPECT_NE(pawl({"audit", "lst"}).err.find("did you mean `list`?"), std::string::npos);
  const CliResult none = pawl({"audit"});
  EXPECT_EQ(none.status, 2);
  EXPECT_NE(none.err.find("one of: list, add, report, anchor, proof"), std::string::npos) << none.err;
  EXPECT_NE(pawl({"audit", "add", "r"}).err.find("run: pawl audit add --help"), std::string::npos);
  EXPECT_NE(pawl({"audit", "add", "r", "--typ", "x"}).err.find("did you mean `--type`?"), std::string::npos);
  EXPECT_NE(pawl({"lst", "--help"}).err.find("unknown command 'lst'"), std::string::npos);
  EXPECT_NE(pawl({"lst", "--help"}).err.find("did you mean `list`?"), std::string::npos);
  EXPECT_EQ(pawl({"events", "--help"}).status, 2);
  EXPECT_EQ(pawl({"audit", "lst", "--help"}).status, 2);
  EXPECT_EQ(pawl({"audit", "list", "--help"}).status, 0);
  EXPECT_NE(pawl({"audit", "add", "r", "--type", "x", "more"}).err.find("unexpected argument: 'more'"),
            std::string::npos);
}

TEST_F(CommandLine, GlobalOptionsStandBehindAPartAsWell) {
  store_exists_ = true;
  EXPECT_EQ(pawl({"audit", "list", "--all", "--store", "c", "--json"}).out, "[]\n");
  EXPECT_EQ(opened_uri_, "c");
  EXPECT_EQ(pawl({"audit", "--store", "d", "--json", "list", "--all"}).out, "[]\n");
  EXPECT_EQ(opened_uri_, "d");
}

TEST_F(CommandLine, BadUsageIsStatusTwoAndNeverTouchesAStore) {
  const std::vector<std::vector<std::string>> calls = {
      {}, {"save"}, {"restore"}, {"restore", "a", "b"}, {"diff", "a"}, {"list", "--limit"}, {"zzzzzz"}};
  for (const std::vector<std::string>& call : calls) {
    const CliResult result = pawl(call);
    EXPECT_EQ(result.status, 2);
    EXPECT_TRUE(result.err.starts_with("pawl: PAWL-0001: ")) << result.err;
    EXPECT_NE(result.err.find("\nhint: "), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(opened_uri_, "");
}

TEST_F(CommandLine, ErrorsAsJsonAreOneDocumentOnStandardError) {
  const nlohmann::json usage = pawl({"svae", "--json"}).error_json();
  EXPECT_EQ(usage.at("code"), "PAWL-0001");
  const nlohmann::json invalid = pawl({"restore", "a\xff/b", "--json"}).error_json();
  EXPECT_EQ(invalid.at("code"), "PAWL-0002");
  for (const char* key : {"message", "where", "hint"}) EXPECT_TRUE(invalid.contains(key)) << key;
}

TEST_F(CommandLine, FsckOfASoundStoreIsStatusZero) {
  EXPECT_EQ(pawl({"fsck"}).status, 2) << "there is no store yet";
  pawl({"save", "r"}, "1");
  const CliResult all = pawl({"fsck"});
  EXPECT_EQ(all.status, 0);
  EXPECT_TRUE(all.out.starts_with("ok: 1 run, 1 checkpoint, ")) << all.out;
  EXPECT_EQ(pawl({"fsck", "r"}).status, 0);
  EXPECT_EQ(pawl({"fsck", "r@latest"}).status, 0);
  EXPECT_EQ(pawl({"fsck", "r@2"}).status, 2);
  EXPECT_EQ(pawl({"fsck", "other"}).status, 2);
  const nlohmann::json report = pawl({"fsck", "--json"}).json();
  EXPECT_EQ(report.at("ok"), true);
  EXPECT_EQ(report.at("findings"), nlohmann::json::array());
}

TEST_F(CommandLine, FsckNamesDamageAndIsStatusFour) {
  store_exists_ = true;
  report_ = CheckReport{};
  report_->findings.push_back({Finding::Severity::damage, Code::checksum_mismatch, "runs/r/x.jsonl", "r", Sequence{7},
                               "bytes differ", "restore r@6"});
  const CliResult result = pawl({"fsck"});
  EXPECT_EQ(result.status, 4);
  EXPECT_NE(result.out.find("damage PAWL-0302: r@7: bytes differ (runs/r/x.jsonl)\n  restore r@6\n"), std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("\nDAMAGED: "), std::string::npos) << result.out;
  EXPECT_NE(result.err.find("PAWL-0309"), std::string::npos);
  const CliResult json = pawl({"fsck", "--json"});
  EXPECT_EQ(json.json().at("ok"), false);
  EXPECT_EQ(json.json().at("findings")[0].at("file"), "runs/r/x.jsonl");
  EXPECT_EQ(json.json().at("findings")[0].at("sequence"), 7);
  report_->findings[0].severity = Finding::Severity::mended;
  EXPECT_EQ(pawl({"fsck", "--repair"}).status, 0);
}

TEST_F(CommandLine, ExplainTakesEveryWayToWriteACode) {
  for (const char* code : {"PAWL-0301", "pawl-0301", "0301", "301"}) {
    const CliResult result = pawl({"explain", code});
    EXPECT_EQ(result.status, 0) << code;
    EXPECT_NE(result.out.find("PAWL-0301"), std::string::npos) << result.out;
  }
  EXPECT_EQ(pawl({"explain", "PAWL-0201", "--json"}).json().at("exit_status"), 4);
  EXPECT_EQ(pawl({"explain", "9999"}).status, 2);
  for (const char* name : {"DiskFullError", "diskfullerror"}) {
    const CliResult named = pawl({"explain", name, "--json"});
    EXPECT_EQ(named.status, 0) << named.err;
    EXPECT_EQ(named.json().at("code"), code_text(Code::disk_full));
    EXPECT_EQ(named.json().at("names"), nlohmann::json::array({"DiskFullError"}));
  }
  for (const char* name : {"DiskFulError", "diskfulerror"}) {
    const CliResult misspelt = pawl({"explain", name});
    EXPECT_EQ(misspelt.status, 2);
    EXPECT_NE(misspelt.err.find("did you mean 'DiskFullError'?"), std::string::npos) << misspelt.err;
  }
  EXPECT_EQ(pawl({"explain", "what"}).status, 2);
}

TEST_F(CommandLine, ExplainWithoutACodeListsAll) {
  const CliResult all = pawl({"explain"});
  EXPECT_NE(all.out.find("AtomicRenameFailedError"), std::string::npos);
  for (const char* line : {"PAWL-0001", "PAWL-0506", "Save outcome unknown"}) {
    EXPECT_NE(all.out.find(line), std::string::npos) << line;
  }
  EXPECT_GT(pawl({"explain", "--json"}).json().size(), 30U);
}

TEST(Text, PrintableShowsWhatCouldSteerATerminal) {
  EXPECT_EQ(printable("a\x1b[31mä\xff"), "a\\x1b[31mä\\xff");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
}

TEST(Text, AgesAndSizesAreShort) {
  EXPECT_EQ(cli::age(Timestamp{0}, Timestamp{59'000'000}), "59 s ago");
  EXPECT_EQ(cli::age(Timestamp{0}, Timestamp{7'200'000'000}), "2 h ago");
  EXPECT_EQ(cli::age(Timestamp{9}, Timestamp{0}), "now");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
}

TEST_F(CliTest, AnEmptyNameOfAStoreIsAUsageError) {
  store_exists_ = true;
  environment_["PAWL_STORE"] = "elsewhere";
  for (const std::vector<std::string>& call :
       {std::vector<std::string>{"list", "--store", ""}, {"--store", "", "list"}}) {
    const CliResult result = pawl(call);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_NE(result.err.find("name of the store is empty"), std::string::npos) << result.err;
  }
  EXPECT_EQ(opened_uri_, "");
  environment_["PAWL_STORE"] = "";
  EXPECT_EQ(pawl({"list"}).status, 0) << "a variable that is empty is one that is not set";
}

TEST_F(CommandLine, MessagesAreWrappedBetweenWordsOnATerminal) {
  ASSERT_EQ(pawl({"save", "r"}, "{}").status, 0);
  columns_ = 40;
  const std::string in_one_line = pawl({"restore", "r@7"}).err;
  EXPECT_NE(in_one_line.find("hint: to list its checkpoints, run: pawl show r --checkpoints\n"), std::string::npos)
      << in_one_line;
  terminal_ = true;
  const std::string wrapped = pawl({"restore", "r@7"}).err;
  EXPECT_NE(wrapped.find("hint: to list its checkpoints, run:\n      pawl show r --checkpoints\n"), std::string::npos)
      << wrapped;
}

TEST_F(CommandLine, ReplayAndDoctorFitTheTerminal) {
  ASSERT_EQ(pawl({"save", "r"}, fmt::format(R"({{"text": "{}"}})", std::string(90, 'x'))).status, 0);
  terminal_ = true;
  columns_ = 50;
  environment_["NO_COLOR"] = "1";
  for (const std::vector<std::string>& args : {std::vector<std::string>{"replay", "r"}, {"doctor"}}) {
    std::istringstream lines(pawl(args).out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_columns(line), 50) << line;
  }
}

TEST_F(CommandLine, ExplainIsWrappedOnATerminalAndHasNoLinks) {
  columns_ = 50;
  const std::string plain = pawl({"explain", "PAWL-0341"}).out;
  EXPECT_EQ(plain.find("]("), std::string::npos) << plain;
  terminal_ = true;
  std::istringstream lines(pawl({"explain", "PAWL-0341"}).out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 50) << line;
}

TEST_F(CommandLine, HelpOfRunListsEveryExitStatus) {
  const std::string help = pawl({"run", "--help"}).out;
  for (const char* const status : {"  0    ", "  1    ", "  2    ", "  3    ", "  4    ", "  5    ", "  130  "})
    EXPECT_NE(help.find(status), std::string::npos) << status;
}

}  // namespace
}  // namespace pawl::testing
