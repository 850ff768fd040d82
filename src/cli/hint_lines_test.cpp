// The hint lines that commands print.
#include <gtest/gtest.h>

#include "testing/cli_fixture.hpp"

namespace pawl::testing {
namespace {

class HintLines : public CliTest {};

std::string hint_line(const CliResult& result) {
  const std::size_t begin = result.err.rfind("\nhint: ");
  if (begin == std::string::npos) return {};
  const std::size_t end = result.err.find('\n', begin + 1);
  return result.err.substr(begin + 7, end - begin - 7);
}

TEST_F(HintLines, ABusyRunIsReportedAsBusyWithItsHolder) {
  ASSERT_EQ(pawl({"save", "nightly"}, "{}").status, 0);
  const auto other = other_handle();
  const auto held = other->open_run(*RunId::parse("nightly"), {});
  ASSERT_TRUE(held);
  const CliResult refused = pawl({"save", "nightly"}, R"({"n": 1})");
  EXPECT_EQ(refused.status, 4);
  EXPECT_NE(refused.err.find("PAWL-0201: run 'nightly' is busy: held by process 4711"), std::string::npos)
      << refused.err;
  EXPECT_EQ(hint_line(refused),
            "wait until it finishes, for example with --wait-lock 30s; to see its status, run: pawl show nightly");
}

TEST_F(HintLines, CommandsOfAHintActOnTheStoreThatWasNamed) {
  ASSERT_EQ(pawl({"save", "nightly"}, "{}").status, 0);
  EXPECT_EQ(hint_line(pawl({"show", "nightly@9"})), "to list its checkpoints, run: pawl show nightly --checkpoints");
  EXPECT_EQ(hint_line(pawl({"show", "nightly@9", "--store", "my store"})),
            "to list its checkpoints, run: pawl show nightly --checkpoints --store 'my store'");
}

TEST_F(HintLines, TheErrorDocumentHasTheSameHint) {
  ASSERT_EQ(pawl({"save", "nightly"}, "{}").status, 0);
  const CliResult failed = pawl({"show", "nightly@9", "--json"});
  EXPECT_EQ(failed.error_json().at("hint"), hint_line(failed));
}

}  // namespace
}  // namespace pawl::testing
