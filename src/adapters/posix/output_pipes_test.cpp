#include "adapters/posix/output_pipes.hpp"

#include <gtest/gtest.h>

#include "adapters/posix/runner_fixture.hpp"

namespace pawl {
namespace {

using namespace runner_test;

class OutputPipesTest : public RunnerFixture {};

TEST_F(OutputPipesTest, OutputGoesToItsSinks) {
  open();
  run(shell("echo one; echo wrong >&2"));
  run(shell("echo two"));
  EXPECT_EQ(out(), "one\ntwo\n");
  EXPECT_EQ(read_text(root_ + "/err"), "wrong\n");
}

TEST_F(OutputPipesTest, OneSinkMayTakeBothStreamsInOrder) {
  open();
  ProcessSpec both = shell("for i in 1 2 3; do echo out $i; echo err $i >&2; done");
  both.errors = both.output;
  run(both);
  EXPECT_EQ(out(), "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
}

TEST_F(OutputPipesTest, AStreamThatNobodyWantsIsNowhere) {
  open();
  const std::string script =
      "echo out; echo err >&2; where=$(readlink /proc/$$/fd/1 /proc/$$/fd/2); echo \"$where\" > where";
  ProcessSpec silent = shell(script);
  silent.output = nullptr;
  silent.errors = nullptr;
  EXPECT_EQ(run(silent).exit_code, 0);
  EXPECT_EQ(read_text(root_ + "/where"), "/dev/null\n/dev/null\n");
  ProcessSpec only_output = shell(script);
  only_output.errors = nullptr;
  run(only_output);
  EXPECT_EQ(out(), "out\n");
  EXPECT_TRUE(read_text(root_ + "/where").ends_with("/dev/null\n"));
  ProcessSpec only_errors = shell(script);
  only_errors.output = nullptr;
  run(only_errors);
  EXPECT_EQ(out(), "out\n");
  EXPECT_EQ(read_text(root_ + "/err"), "err\n");
}

TEST_F(OutputPipesTest, ASilentCommandWritesToNoSinkAndWakesNobodyBeforeItsEnd) {
  open();
  const ProcessSpec silent = shell("exec sleep 0.05");
  runner_->start(1, silent);
  runner_->wait(60'000'000);
  EXPECT_EQ(ends_.count(), 1U) << "the first wake-up is its end";
  EXPECT_FALSE(stdfs::exists(root_ + "/out"));
  EXPECT_TRUE(static_cast<const FileSink&>(*silent.output).closed());
  EXPECT_TRUE(static_cast<const FileSink&>(*silent.errors).closed());
}

TEST_F(OutputPipesTest, WhatACommandLeavesBehindDoesNotHoldUpItsEndAndIsReadOn) {
  open();
  ASSERT_EQ(::mkfifo((root_ + "/gate").c_str(), 0600), 0);
  const ProcessSpec command = shell("(read line < gate; echo late) & echo early");
  EXPECT_EQ(run(command).exit_code, 0);
  const auto& sink = static_cast<const FileSink&>(*command.output);
  EXPECT_EQ(out(), "early\n");
  EXPECT_EQ(sink.settled(), 1);
  EXPECT_FALSE(sink.closed());
  EXPECT_EQ(run(shell("echo go > gate")).exit_code, 0);
  EXPECT_TRUE(eventually([&] {
    runner_->wait(10'000);
    return sink.closed();
  }));
  EXPECT_EQ(out(), "early\nlate\n");
}

TEST_F(OutputPipesTest, WhatIsLeftBehindAndNeverStopsPrintingDoesNotHoldUpTheEnd) {
  open();
  const ProcessSpec command = shell("yes & echo $! > pid");
  EXPECT_EQ(run(command).exit_code, 0);
  runner_.reset();
  EXPECT_TRUE(static_cast<const FileSink&>(*command.output).closed());
}

TEST_F(OutputPipesTest, ALargeOutputComesWholeAndInPieces) {
  open();
  const ProcessSpec command = shell("head -c 100000000 /dev/zero");
  EXPECT_EQ(run(command).exit_code, 0);
  EXPECT_EQ(stdfs::file_size(root_ + "/out"), 100'000'000U);
  EXPECT_LE(static_cast<const FileSink&>(*command.output).largest(), 1U << 20U);
}

TEST_F(OutputPipesTest, DescriptorsAreNotLostOverManyCommandsAndRefusals) {
  open();
  const auto descriptors = [](const std::string& pid) {
    return std::distance(stdfs::directory_iterator("/proc/" + pid + "/fd"), stdfs::directory_iterator());
  };
  run(shell("true"));
  const std::string reaper = std::to_string(runner_->reaper_pid());
  const auto ours = descriptors("self");
  const auto its = descriptors(reaper);
  for (int i = 0; i < 20; ++i) {
    run(shell("echo x"));
    run(spec({"/no/such/program"}));
    run(spec({}));
    runner_->signal(last_, SIGTERM);
    ProcessSpec large = spec({"true"});
    large.environment.push_back("LARGE=" + std::string(300'000, 'x'));
    run(large);
  }
  EXPECT_EQ(descriptors("self"), ours);
  EXPECT_EQ(descriptors(reaper), its);
  EXPECT_EQ(out(), "x\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\n");
}

TEST_F(OutputPipesTest, LargeRequestsInARowKeepTheirOwnStreams) {
  open();
  std::vector<ProcessSpec> commands;
  for (Number number = 1; number <= 40; ++number) {
    ProcessSpec command = shell("echo " + std::to_string(number));
    for (int i = 0; i < 8; ++i) command.environment.push_back(fmt::format("LARGE_{}={}", i, std::string(100'000, 'x')));
    command.output = std::make_shared<FileSink>(fmt::format("{}/out-{}", root_, number));
    commands.push_back(command);
    runner_->start(number, command);
    runner_->signal(999, SIGTERM);  // requests without descriptors in between
  }
  for (Number number = 1; number <= 40; ++number) {
    EXPECT_EQ(end_of(number).exit_code, 0);
    EXPECT_EQ(read_text(fmt::format("{}/out-{}", root_, number)), std::to_string(number) + "\n");
  }
}

TEST_F(OutputPipesTest, TooManyOpenFilesAreTheEndOfACommand) {
  open();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ::close(next);
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(next) + 3;  // one pipe, but not two
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  runner_->start(1, shell("true"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  const ProcessEnd end = end_of(1);
  EXPECT_EQ(end.how, How::not_started);
  EXPECT_EQ(end.fault, Fault::machine);
  EXPECT_NE(end.error.find("too many commands are running at once"), std::string::npos) << end.error;
  EXPECT_EQ(run(shell("echo fine")).exit_code, 0);
  EXPECT_EQ(out(), "fine\n");
}

TEST_F(OutputPipesTest, CommandsGetTheLimitOfOpenFilesThatTheProgramHad) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  open();
  run(shell("ulimit -n"));
  EXPECT_EQ(out(), before.rlim_cur == RLIM_INFINITY ? "unlimited\n" : std::to_string(before.rlim_cur) + "\n");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace pawl
