#include "cli/hints.hpp"

#include <gtest/gtest.h>

#include <set>

namespace pawl::cli {
namespace {

constexpr Advice kAdvices[] = {
#define PAWL_ADVICE(name) Advice::name,
#include <pawl/advice.def>
#undef PAWL_ADVICE
};
constexpr Code kEveryCode[] = {
#define PAWL_CODE(number, name, category, title) Code::name,
#include <pawl/error_codes.def>
#undef PAWL_CODE
};
const Subject kNightly{.run = "nightly", .step = "send", .sequence = 7, .value = "x"};

TEST(Hints, EveryAdviceHasACommand) {
  for (const Advice advice : kAdvices) {
    const std::string command = command_of(advice, kNightly);
    const std::string text = advice_text(advice, kNightly);
    if (advice == Advice::none) {
      EXPECT_EQ(command + text, "");
      continue;
    }
    EXPECT_TRUE(command.starts_with("pawl ")) << static_cast<int>(advice) << ": " << command;
    EXPECT_NE(text.find(": " + command), std::string::npos) << text;
  }
}

TEST(Hints, NoTwoAdvicesReadTheSame) {
  std::set<std::string> texts;
  for (const Advice advice : kAdvices) EXPECT_TRUE(texts.insert(advice_text(advice, kNightly)).second);
}

TEST(Hints, EveryAdviceIsReadableWithoutASubject) {
  for (const Advice advice : kAdvices) {
    const std::string text = advice_text(advice, {});
    EXPECT_EQ(text.find("  "), std::string::npos) << text;
    EXPECT_EQ(text.find("@0"), std::string::npos) << text;
  }
}

TEST(Hints, EveryCodeHasAHint) {
  for (const Code code : kEveryCode) {
    const std::string text = hint_text(Error{code, "it failed", {}, {}, 0});
    EXPECT_FALSE(text.empty()) << code_text(code);
    EXPECT_EQ(text.find('`'), std::string::npos) << text;
  }
  EXPECT_EQ(hint_text(Error{Code::outcome_unknown, "?", {}, {}, 0}), "for details, run: pawl explain PAWL-0506");
}

TEST(Hints, TheErrorsOwnHintComesFirst) {
  const Error error{Code::store_damaged, "?", {}, "restore the file from a backup", 0, Advice::check_store,
                    {.run = "nightly"}};
  EXPECT_EQ(hint_text(error), "restore the file from a backup; to see what is damaged, run: pawl fsck nightly");
  EXPECT_EQ(with_rendered_hint(error).hint, hint_text(error));
  EXPECT_EQ(hint_text(with_rendered_hint(error)), hint_text(error)) << "rendering twice changes nothing";
}

TEST(Hints, Wording) {
  EXPECT_EQ(advice_text(Advice::fix_and_resume, {.run = "nightly"}), "fix the cause, then run: pawl resume nightly");
  EXPECT_EQ(advice_text(Advice::decide, {.run = "child", .step = "gate", .value = "top"}),
            "to decide, run: pawl approve child gate (or pawl reject child gate), then: pawl resume top");
  EXPECT_EQ(advice_text(Advice::give_values, {.run = "r", .value = "a,b"}),
            "to pass it again, run: pawl resume r --var a=VALUE --var b=VALUE");
  EXPECT_EQ(advice_text(Advice::accept_rerun, {.run = "r", .value = "skip bad events"}),
            "to run these steps again, run: pawl resume r --accept-rerun --skip-bad-events");
  EXPECT_EQ(command_of(Advice::fork, {.run = "r"}), "pawl fork r@SEQ");
}

TEST(Hints, CommandsNameTheStoreThatWasGiven) {
  const HintStyle style{.store = "my store"};
  EXPECT_EQ(command_of(Advice::resume, {.run = "r"}, style), "pawl resume r --store 'my store'");
  EXPECT_EQ(command_of(Advice::explain, {.value = "PAWL-0001"}, style), "pawl explain PAWL-0001");
}

TEST(Hints, WordsAreQuotedForTheShell) {
  EXPECT_EQ(shell_word("map[3].send"), "map[3].send");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(command_of(Advice::send_signal, {.run = "r", .value = "$(rm x)"}), "pawl signal r '$(rm x)'");
}

TEST(Hints, AnythingOfABusyRunSpeaksOfWaitingNotOfDamage) {
  const Error busy{Code::run_busy, "?", {}, {}, 0, Advice::wait_for_run, {.run = "nightly"}};
  EXPECT_EQ(hint_text(busy),
            "wait until it finishes, for example with --wait-lock 30s; to see its status, run: pawl show nightly");
}

}  // namespace
}  // namespace pawl::cli
