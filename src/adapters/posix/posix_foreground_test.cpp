#include "adapters/posix/posix_foreground.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/hash.hpp"

namespace pawl {
namespace {

class ForegroundCommands : public ::testing::Test {
 protected:
  ForegroundCommands() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-foreground-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ForegroundCommands() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] ForegroundEnd run(const std::string& script) {
    const ForegroundSpec spec{.argv = {"sh", "-c", script},
                              .environment = {"PATH=/usr/bin:/bin", "MARK=mine"},
                              .output_path = folder_ + "/out",
                              .output_bytes_max = 100};
    Result<ForegroundEnd> end = foreground_.run(spec);
    EXPECT_TRUE(end) << describe(end.error());
    return end ? *end : ForegroundEnd{};
  }

  std::string folder_;
  PosixForeground foreground_;
};

TEST_F(ForegroundCommands, StatusesAreAsAShellSaysThem) {
  EXPECT_EQ(run("exit 0").status, 0);
  EXPECT_EQ(run("exit 7").status, 7);
  EXPECT_EQ(run("kill -KILL $$").status, 128 + SIGKILL);
  EXPECT_EQ(run("test \"$MARK\" = mine").status, 0);
  ForegroundSpec spec{.argv = {"no-such-program"}, .environment = {"PATH=/usr/bin:/bin"}};
  const Result<ForegroundEnd> missing = foreground_.run(spec);
  EXPECT_EQ(missing->status, 127);
  EXPECT_NE(missing->error.find("no-such-program"), std::string::npos);
}

TEST_F(ForegroundCommands, AShortOutputIsInMemoryAndALongOneInTheFile) {
  EXPECT_EQ(run("printf abc").output, "abc");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/out"));
  const ForegroundEnd end = run("for n in 1 2 3 4 5 6 7 8 9 10 11; do printf 0123456789; done");
  EXPECT_TRUE(end.in_file);
  EXPECT_EQ(end.output_bytes, 110U);
  std::ifstream file(folder_ + "/out");
  const std::string kept((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(kept.size(), 110U);
  EXPECT_EQ(end.output_sha256, to_hex(sha256(kept)));
}

TEST_F(ForegroundCommands, ADaemonThatKeepsTheOutputOpenIsNotWaitedFor) {
  const ForegroundEnd end = run("sleep 600 & echo $!");
  EXPECT_EQ(end.status, 0);
  ::kill(static_cast<pid_t>(std::stol(end.output)), SIGKILL);
}

class KeptText final : public OutputSink {
 public:
  void write(std::string_view bytes) override { text += bytes; }
  void settle() override {}
  void close() override {}
  std::string text;
};

TEST_F(ForegroundCommands, TheLogGetsBothStreams) {
  const auto log = std::make_shared<KeptText>();
  const ForegroundSpec spec{.argv = {"sh", "-c", "echo one; sleep 0.1; echo two >&2"},
                            .environment = {"PATH=/usr/bin:/bin"},
                            .output_path = folder_ + "/out",
                            .output_bytes_max = 100,
                            .log = log};
  const Result<ForegroundEnd> end = foreground_.run(spec);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->output, "one\n");
  EXPECT_EQ(log->text, "one\ntwo\n");
}

TEST_F(ForegroundCommands, ATimeoutEndsTheCommandAndWhatItStarted) {
  const ForegroundSpec spec{.argv = {"sh", "-c", "trap '' TERM; setsid sleep 600 & echo $!; sleep 600; sleep 600"},
                            .environment = {"PATH=/usr/bin:/bin"},
                            .output_path = folder_ + "/out",
                            .output_bytes_max = 100,
                            .timeout_us = 200'000,
                            .grace_us = 100'000};
  const Result<ForegroundEnd> end = foreground_.run(spec);
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->timed_out);
  EXPECT_EQ(end->status, 128 + SIGKILL);
  EXPECT_EQ(::kill(static_cast<pid_t>(std::stol(end->output)), 0), -1);
}

TEST_F(ForegroundCommands, ALockNamesItsHolderAndIsFreeAfterIt) {
  const std::string path = folder_ + "/lock";
  {
    const auto held = foreground_.lock(path);
    ASSERT_TRUE(held);
    EXPECT_FALSE((*held)->was_left());
    const auto second = foreground_.lock(path);
    EXPECT_EQ(second.error().code, Code::step_busy);
    EXPECT_NE(second.error().message.find(std::to_string(::getpid())), std::string::npos);
  }
  EXPECT_FALSE((*foreground_.lock(path))->was_left());
  std::ofstream(path) << "4711";  // as left by a holder that was killed
  EXPECT_TRUE((*foreground_.lock(path))->was_left());
}

TEST_F(ForegroundCommands, WhatIsLeftIsFoundByItsEnvironment) {
  const std::string entry = "MARK=" + folder_;
  const ForegroundSpec spec{.argv = {"sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo $!"},
                            .environment = {"PATH=/usr/bin:/bin", entry},
                            .output_path = folder_ + "/out",
                            .output_bytes_max = 100};
  ASSERT_TRUE(foreground_.run(spec));
  EXPECT_TRUE(foreground_.end_left(entry));
  EXPECT_TRUE(foreground_.end_left("MARK=nobody has this one"));
}

}  // namespace
}  // namespace pawl
