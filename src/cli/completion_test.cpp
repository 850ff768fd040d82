// Completion, the manual and the version, which are generated from the same commands.
#include "cli/completion.hpp"

#include "cli/build_info.hpp"
#include "cli/man_page.hpp"
#include "testing/cli_fixture.hpp"

namespace pawl::testing {
namespace {

class Completing : public CliTest {
 protected:
  /// Returns the first line of the answer and the words after it, without their help.
  std::vector<std::string> answer(std::vector<std::string> words) {
    words.insert(words.begin(), {"__complete", "--"});
    const CliResult result = pawl(words);
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err, "");
    std::vector<std::string> lines;
    std::istringstream in(result.out);
    for (std::string line; std::getline(in, line);) lines.push_back(line.substr(0, line.find('\t')));
    return lines;
  }
  using Lines = std::vector<std::string>;
};

TEST_F(Completing, CommandsThatBeginSo) {
  EXPECT_EQ(answer({"re"}), (Lines{"nothing", "resume", "reject", "restore", "replay", "rekey"}));
  EXPECT_EQ(answer({"dlq", "r"}), (Lines{"nothing", "retry"}));
  EXPECT_EQ(answer({"help", "rej"}), (Lines{"nothing", "reject"}));
  EXPECT_EQ(answer({"help", "audit", "rep"}), (Lines{"nothing", "report"}));
  EXPECT_EQ(answer({"help", "nope", "rep"}), (Lines{"nothing"}));
  EXPECT_EQ(answer({"__"}), (Lines{"nothing"})) << "hidden commands stay hidden";
}

TEST_F(Completing, OptionsOfTheCommandAndOfAllCommands) {
  EXPECT_EQ(answer({"save", "--ki"}), (Lines{"nothing", "--kind"}));
  EXPECT_EQ(answer({"dlq", "list", "--js"}), (Lines{"nothing", "--json"}));
  EXPECT_EQ(answer({"--sto"}), (Lines{"nothing", "--store"}));
  EXPECT_EQ(answer({"list", "--kin"}), (Lines{"nothing"})) << "that of another command";
}

TEST_F(Completing, AnOptionOnceUnlessItMayBeRepeated) {
  EXPECT_EQ(answer({"run", "--dry-run", "--dry"}), (Lines{"nothing"}));
  EXPECT_EQ(answer({"run", "--var", "a=b", "--var"}), (Lines{"nothing", "--var", "--var-json"}));
}

TEST_F(Completing, TheWordsOfAnOption) {
  EXPECT_EQ(answer({"save", "r", "--durability", ""}), (Lines{"nothing", "sync", "async", "exit"}));
  EXPECT_EQ(answer({"save", "r", "--durability=a"}), (Lines{"nothing --durability=", "--durability=async"}));
  EXPECT_EQ(answer({"completion", "f"}), (Lines{"nothing", "fish"}));
  EXPECT_EQ(answer({"explain", "PAWL-000"}).at(1), "PAWL-0001");
}

TEST_F(Completing, FilesFoldersAndProgramsAreLeftToTheShell) {
  EXPECT_EQ(answer({"run", "no"}), (Lines{"files"}));
  EXPECT_EQ(answer({"save", "r", "--state=x"}), (Lines{"files --state="}));
  EXPECT_EQ(answer({"--store", ""}), (Lines{"folders"}));
  EXPECT_EQ(answer({"step", "fetch", "--", "cu"}), (Lines{"programs"}));
  EXPECT_EQ(answer({"step", "fetch", "--", "curl", ""}), (Lines{"files"}));
}

TEST_F(Completing, IdsOfRuns) {
  pawl({"save", "alpha"}, "{}");
  pawl({"save", "beta"}, "{}");
  EXPECT_EQ(answer({"show", "a"}), (Lines{"nothing", "alpha"}));
  EXPECT_EQ(answer({"diff", "alpha@1", "b"}), (Lines{"nothing", "beta"}));
  EXPECT_EQ(answer({"step", "--run=b"}), (Lines{"nothing --run=", "--run=beta"}));
  answer({"--store", "elsewhere", "show", ""});
  EXPECT_EQ(opened_uri_, "elsewhere");
}

TEST_F(Completing, WithoutAStoreThereAreNoRunsAndNoError) { EXPECT_EQ(answer({"show", ""}), (Lines{"nothing"})); }

TEST_F(Completing, WordsThatMakeNoSenseDoNoHarm) {
  EXPECT_EQ(answer({}).at(1), "run");
  EXPECT_EQ(answer({"", ""}), (Lines{"nothing", "--help", "--store", "--json", "--utc", "--version"}));
  EXPECT_EQ(answer({"--", "--", "-", ""}).at(0), "files");
  EXPECT_EQ(answer({"save", "--nonsense=3", "-x", "--=", "="}), (Lines{"nothing"}));
}

TEST_F(Completing, AnUnknownShellIsRefusedWithASuggestion) {
  const CliResult result = pawl({"completion", "fihs"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("did you mean 'fish'?"), std::string::npos) << result.err;
}

TEST_F(Completing, TheManualNamesEveryCommandAndOptionOfTheHelp) {
  const std::string page = pawl({"__man"}).out;
  for (const char* part :
       {".TH PAWL 1", ".SS \"save\"", ".SS \"dlq retry\"", "\\fB\\-\\-expect\\-parent\\fR \\fISEQ\\fR",
        "One of: sync, async, exit.", ".SH EXIT STATUS", "PAWL_STORE", ".SH ENVIRONMENT", ".SH FILES"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(page.find("__"), std::string::npos) << "a hidden command";
  const std::string example = "what an error means and what to do";
  EXPECT_EQ(page.find(example), page.rfind(example)) << "the examples of `pawl --help` stand in it once";
}

TEST(Roff, NothingInATextIsTakenForARequest) {
  EXPECT_EQ(cli::roff_text(R"(a\b 'c' --d `e`)"), R"(a\(rsb \(aqc\(aq \-\-d \(gae\(ga)");
}

TEST(Version, SaysWhatTheProgramIsMadeOf) {
  const cli::BuildInfo build{.commit = "0123abc",
                             .date = "2026-01-11",
                             .build_type = "Release",
                             .compiler = "g++ 12",
                             .platform = "Linux",
                             .features = {{"stores", {"folder", "memory"}}, {"encryption", {}}}};
  EXPECT_EQ(
      cli::version_text("1.2.3", build),
      "pawl 1.2.3\ncommit:      0123abc (2026-01-11)\nbuild:       Release\ncompiler:    g++ 12\nplatform:    Linux\n"
      "stores:      folder, memory\nencryption:  none\n");
  const nlohmann::json document = nlohmann::json::parse(cli::version_json("1.2.3", build));
  EXPECT_EQ(document.at("commit"), "0123abc");
  EXPECT_EQ(document.at("features"), nlohmann::json::parse(R"({"stores": ["folder", "memory"], "encryption": []})"));
}

}  // namespace
}  // namespace pawl::testing
