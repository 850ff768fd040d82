#include "adapters/posix/posix_process_runner.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include "adapters/posix/runner_fixture.hpp"

namespace pawl {
namespace {

using namespace runner_test;

class PosixProcessRunnerTest : public RunnerFixture {};

TEST_F(PosixProcessRunnerTest, AnExitCodeIsReported) {
  open();
  for (const int code : {0, 1, 7, 127, 255}) {
    const ProcessEnd end = run(shell("exit " + std::to_string(code)));
    EXPECT_EQ(end.how, How::exited);
    EXPECT_EQ(end.exit_code, code);
    EXPECT_EQ(end.error, "");
  }
}

TEST_F(PosixProcessRunnerTest, ASignalThatEndsACommandIsReported) {
  open();
  const ProcessEnd end = run(shell("kill -USR1 $$"));
  EXPECT_EQ(end.how, How::killed);
  EXPECT_EQ(end.signal, SIGUSR1);
}

TEST_F(PosixProcessRunnerTest, WhatStopsACommandFromStartingIsItsEnd) {
  open();
  const auto fails_with = [&](const ProcessSpec& command, const std::string& text) {
    const ProcessEnd end = run(command);
    EXPECT_EQ(end.how, How::not_started) << text;
    EXPECT_EQ(end.fault, Fault::work) << text;
    EXPECT_NE(end.error.find(text), std::string::npos) << end.error;
  };
  fails_with(spec({"no-such-program-here"}), "program 'no-such-program-here' not found in PATH");
  fails_with(spec({"/no/such/program"}), "program '/no/such/program' not found");
  fails_with(spec({"/"}), "can't run program '/': Permission denied");
  fails_with(spec({}), "the command is empty");
  fails_with(spec({"echo", std::string("a\0b", 3)}), "NUL byte");

  ProcessSpec no_folder = spec({"true"});
  no_folder.working_dir = root_ + "/missing";
  fails_with(no_folder, "can't enter the working directory '" + root_ + "/missing': No such file or directory");

  ProcessSpec large = spec({"true"});
  large.environment.push_back("LARGE=" + std::string(200'000, 'x'));
  fails_with(large, "too large for the operating system");
  large.environment.back() = "HUGE=" + std::string(65U << 20U, 'x');
  fails_with(large, "larger than 64 MiB");
  std::ofstream(root_ + "/text") << "exit 0\n";
  stdfs::permissions(root_ + "/text", stdfs::perms::owner_all);
  fails_with(spec({root_ + "/text"}), "is not a program");

  EXPECT_EQ(run(spec({"true"})).how, How::exited) << "all is well after that";
}

TEST_F(PosixProcessRunnerTest, TheEnvironmentIsExactlyTheGivenOne) {
  ::setenv("PAWL_NOT_HANDED_ON", "1", 1);
  open();
  ProcessSpec command = spec({"/usr/bin/env"});
  command.environment = {"B=2", "A=with space=and more", "EMPTY="};
  run(command);
  EXPECT_EQ(out(), "B=2\nA=with space=and more\nEMPTY=\n");
}

TEST_F(PosixProcessRunnerTest, AProgramIsLookedUpInTheCommandsOwnPath) {
  open();
  stdfs::create_directories(root_ + "/first");
  stdfs::create_directories(root_ + "/second");
  std::ofstream(root_ + "/first/tool") << "not executable";
  std::ofstream(root_ + "/second/tool") << "#!/bin/sh\necho found \"$@\"\n";
  stdfs::permissions(root_ + "/second/tool", stdfs::perms::owner_all);

  ProcessSpec command = spec({"tool", "x"});
  command.environment = {"PATH=/nowhere:" + root_ + "/first:" + root_ + "/second"};
  EXPECT_EQ(run(command).how, How::exited);
  command.environment = {"PATH=/nowhere::"};  // an empty part means the working directory
  command.working_dir = root_ + "/second";
  EXPECT_EQ(run(command).how, How::exited);
  command.argv[0] = "./tool";
  EXPECT_EQ(run(command).how, How::exited);
  EXPECT_EQ(out(), "found x\nfound x\nfound x\n");

  command.argv[0] = "tool";
  command.environment = {"PATH=" + root_ + "/first"};
  const ProcessEnd denied = run(command);
  EXPECT_EQ(denied.error, "can't run program 'tool': Permission denied");
  command.argv[0] = "true";
  command.environment = {};
  EXPECT_EQ(run(command).how, How::exited) << "without PATH: /bin and /usr/bin";
}

TEST_F(PosixProcessRunnerTest, ACommandGetsNothingOfTheProgramButItsThreeStreams) {
  const PosixFd leaky(::open(root_.c_str(), O_RDONLY));  // without O_CLOEXEC
  ASSERT_TRUE(leaky.valid());
  ::signal(SIGUSR2, SIG_IGN);
  open();
  const ProcessEnd end = run(shell("cat; ls /proc/self/fd; pwd; grep -E 'Sig(Blk|Ign)' /proc/self/status"));
  ::signal(SIGUSR2, SIG_DFL);
  EXPECT_EQ(end.exit_code, 0);
  // 3 is the folder that ls reads. Standard input is at its end; otherwise cat would not have exited.
  EXPECT_EQ(out(), "0\n1\n2\n3\n" + root_ + "\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(PosixProcessRunnerTest, ACommandIsScheduledAsTheProgramIs) {
  const std::string show = "nice; chrt -p $$ | sed 's/.*: *//'";
  ASSERT_EQ(std::system(("exec > " + root_ + "/of_program; " + show).c_str()), 0);
  open();
  EXPECT_EQ(run(shell(show)).exit_code, 0);
  EXPECT_EQ(out(), read_text(root_ + "/of_program"));
}

TEST_F(PosixProcessRunnerTest, ASignalReachesTheWholeGroup) {
  open();
  runner_->start(1, shell("sleep 1000 & sleep 1000 & echo $! > inner.new; mv inner.new inner; wait"));
  const pid_t inner = pid_in("inner");
  runner_->signal(1, SIGTERM);
  const ProcessEnd end = end_of(1);
  EXPECT_EQ(end.how, How::killed);
  EXPECT_EQ(end.signal, SIGTERM);
  EXPECT_TRUE(eventually([&] { return !is_alive(inner); }));
  runner_->signal(1, SIGKILL);   // has exited
  runner_->signal(99, SIGKILL);  // never existed
  EXPECT_EQ(run(spec({"true"})).how, How::exited);
}

TEST_F(PosixProcessRunnerTest, MemoryAndTimeAreMeasured) {
  open();
  const ProcessEnd end = run(shell("x=$(head -c 30000000 /dev/zero | tr '\\0' x); echo ${#x}"));
  EXPECT_EQ(out(), "30000000\n");
  EXPECT_GT(end.memory_peak_bytes, 30'000'000U);
  EXPECT_GT(end.cpu_us, 0U);
}

TEST_F(PosixProcessRunnerTest, ALargeRequestDoesNotCountAsTheMemoryOfLaterCommands) {
  open();
  const std::uint64_t before = run(spec({"true"})).memory_peak_bytes;
  ProcessSpec large = spec({"true"});
  large.environment.push_back("LARGE=" + std::string(60U << 20U, 'x'));
  EXPECT_EQ(run(large).how, How::not_started);
  EXPECT_LT(run(spec({"true"})).memory_peak_bytes, before + (20U << 20U));
}

TEST_F(PosixProcessRunnerTest, ManyCommandsRunAtOnce) {
  open();
  for (Number number = 1; number <= 500; ++number) runner_->start(number, spec({"true"}));
  for (Number number = 1; number <= 500; ++number) {
    const ProcessEnd end = end_of(number);
    EXPECT_EQ(end.how, How::exited) << end.error;
    EXPECT_EQ(end.exit_code, 0);
  }
}

TEST_F(PosixProcessRunnerTest, ManyCommandsRunOneAfterAnotherStartedByTheCallback) {
  open();
  Number next = 1;
  runner_->on_ended([&](Number number, const ProcessEnd& end) {
    ends_.add(number, end);
    if (number < 2000) runner_->start(++next, spec({"true"}));
  });
  runner_->start(1, spec({"true"}));
  EXPECT_EQ(end_of(2000).how, How::exited);
  EXPECT_EQ(ends_.count(), 2000U);
}

TEST_F(PosixProcessRunnerTest, LargeRequestsAndReportsThatNobodyReadsDoNotBlockEachOther) {
  open();
  ProcessSpec large = spec({std::string(100'000, 'p')});  // fails, with an equally large report
  for (Number number = 1; number <= 200; ++number) runner_->start(number, large);
  for (Number number = 1; number <= 200; ++number) EXPECT_EQ(end_of(number).how, How::not_started);
}

TEST_F(PosixProcessRunnerTest, EndsAreReportedInTheirOrder) {
  open();
  ASSERT_EQ(::mkfifo((root_ + "/gate").c_str(), 0600), 0);
  runner_->start(1, shell("read line < gate"));
  runner_->start(2, spec({"true"}));
  end_of(2);
  runner_->start(3, shell("echo go > gate"));
  end_of(1);
  end_of(3);
  EXPECT_EQ(ends_.order().front(), 2U);
}

TEST_F(PosixProcessRunnerTest, TheProgramDoesNotSeeTheReaperAmongItsChildren) {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;  // children of earlier tests in the same process
  open();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  const pid_t reaper = runner_->reaper_pid();
  EXPECT_EQ(read_text("/proc/" + std::to_string(reaper) + "/comm"), "pawl-reaper\n");
  EXPECT_EQ(read_text(lock_), std::to_string(reaper) + "\n");
  runner_.reset();
  EXPECT_FALSE(stdfs::exists("/proc/" + std::to_string(reaper)));
}

TEST_F(PosixProcessRunnerTest, ItsEndIsTheEndOfEverythingThatWasStarted) {
  open();
  runner_->start(1, shell(daemon_script() + "sleep 1000"));
  runner_->start(2, shell("trap '' TERM; kill -STOP $$"));
  const pid_t daemon = pid_in("daemon");
  EXPECT_TRUE(is_alive(daemon));
  EXPECT_FALSE(lock_is_free(lock_));
  runner_.reset();
  EXPECT_FALSE(is_alive(daemon));
  EXPECT_TRUE(lock_is_free(lock_));
  EXPECT_EQ(end_of(1).signal, SIGKILL);
  EXPECT_EQ(end_of(2).signal, SIGKILL);
}

TEST_F(PosixProcessRunnerTest, ASecondReaperWaitsForTheLockAndNamesItsHolder) {
  open();
  auto second = PosixProcessRunner::start_reaper(lock_, 50);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, Code::processes_left);
  EXPECT_NE(second.error().message.find(std::to_string(runner_->reaper_pid())), std::string::npos);

  std::thread later([&] { runner_.reset(); });
  auto third = PosixProcessRunner::start_reaper(lock_, kPatienceSeconds * 1000);
  later.join();
  EXPECT_TRUE(third.has_value());
}

TEST_F(PosixProcessRunnerTest, ALockFileThatCantBeMadeIsAnError) {
  auto runner = PosixProcessRunner::start_reaper(root_ + "/missing/lock");
  ASSERT_FALSE(runner.has_value());
  EXPECT_EQ(runner.error().code, Code::write_failed);
  EXPECT_EQ(runner.error().where, root_ + "/missing/lock");
}

TEST_F(PosixProcessRunnerTest, ALockOfTheProgramIsNotKeptByTheReaper) {
  const std::string mine = root_ + "/mine";
  {
    const PosixFd fd(::open(mine.c_str(), O_RDWR | O_CREAT, 0644));
    struct flock range{};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_len = 1;
    ASSERT_EQ(::fcntl(fd.get(), F_OFD_SETLK, &range), 0);
    open();
    EXPECT_FALSE(lock_is_free(mine));
  }
  EXPECT_TRUE(lock_is_free(mine));
}

/// A process that creates a runner, starts `command` and then only waits.
pid_t fork_program(const std::string& lock, const ProcessSpec& command) {
  const pid_t program = ::fork();
  if (program != 0) return program;
  auto runner = PosixProcessRunner::start_reaper(lock);
  if (!runner) ::_exit(1);
  (*runner)->start(1, command);
  for (;;) ::pause();
}

TEST_F(PosixProcessRunnerTest, WhenTheProgramIsKilledTheReaperEndsEverythingAndThenFreesTheLock) {
  const pid_t program = fork_program(lock_, shell(daemon_script() + "sleep 1000"));
  const pid_t daemon = pid_in("daemon");
  ASSERT_TRUE(is_alive(daemon));
  EXPECT_FALSE(lock_is_free(lock_));
  ::kill(program, SIGKILL);
  ::waitpid(program, nullptr, 0);
  ASSERT_TRUE(eventually([&] { return lock_is_free(lock_); }));
  EXPECT_FALSE(is_alive(daemon));
  EXPECT_TRUE(end_processes_with("PAWL_TEST=" + root_, 0).empty());
}

TEST_F(PosixProcessRunnerTest, TheEndOfTheProgramIsSeenAlsoIfAForkedProcessHoldsItsSocket) {
  int channel[2];
  ASSERT_EQ(::pipe(channel), 0);
  const pid_t program = ::fork();
  if (program == 0) {
    auto runner = PosixProcessRunner::start_reaper(lock_);
    if (!runner) ::_exit(1);
    (*runner)->start(1, shell(daemon_script()));
    const pid_t holder = ::fork();
    if (holder == 0) {
      char byte = 0;
      ::close(channel[1]);
      static_cast<void>(!::read(channel[0], &byte, 1));
      ::_exit(0);
    }
    for (;;) ::pause();
  }
  ::close(channel[0]);
  const pid_t daemon = pid_in("daemon");
  ::kill(program, SIGKILL);
  ::waitpid(program, nullptr, 0);
  EXPECT_TRUE(eventually([&] { return lock_is_free(lock_); }));
  EXPECT_FALSE(is_alive(daemon));
  ::close(channel[1]);  // the holder exits
}

TEST_F(PosixProcessRunnerTest, WhenTheReaperIsKilledCommandsDieAndTheRestIsFoundByItsEnvironment) {
  open();
  runner_->start(1, shell(daemon_script() + "echo $$ > direct.new; mv direct.new direct; sleep 1000; :"));
  const pid_t daemon = pid_in("daemon");
  const pid_t direct = pid_in("direct");
  ::kill(runner_->reaper_pid(), SIGKILL);
  const ProcessEnd end = end_of(1);
  EXPECT_EQ(end.how, How::lost);
  EXPECT_NE(end.error.find("reaper"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return !is_alive(direct); }));
  EXPECT_TRUE(is_alive(daemon));

  const ProcessEnd refused = run(spec({"true"}));
  EXPECT_EQ(refused.how, How::not_started);
  EXPECT_EQ(refused.fault, Fault::machine);

  EXPECT_TRUE(end_processes_with("PAWL_TEST=" + root_ + "x", 1000).empty());
  EXPECT_TRUE(end_processes_with("PAWL_TEST=", 1000).empty());
  EXPECT_TRUE(is_alive(daemon)) << "only the exact entry counts";
  EXPECT_TRUE(runner_->end_all("PAWL_TEST=" + root_, kPatienceSeconds * 1000).empty());
  EXPECT_FALSE(is_alive(daemon));
}

TEST_F(PosixProcessRunnerTest, EndAllSparesCommandsWithoutTheEntry) {
  open();
  ProcessSpec other = shell("sleep 1000");
  other.environment = {"PATH=/usr/bin:/bin", "PAWL_TEST=another"};
  runner_->start(1, other);
  runner_->start(2, shell(daemon_script() + "sleep 1000"));
  const pid_t daemon = pid_in("daemon");
  EXPECT_TRUE(runner_->end_all("PAWL_TEST=" + root_, kPatienceSeconds * 1000).empty());
  EXPECT_FALSE(is_alive(daemon));
  EXPECT_EQ(end_of(2).signal, SIGKILL);
  EXPECT_EQ(ends_.count(), 1U);
}

TEST_F(PosixProcessRunnerTest, AMissingDescriptorIsTheFaultOfTheMachine) {
  const pid_t program = ::fork();
  if (program == 0) {
    const int next = ::dup(0);
    ::close(next);
    const rlimit low{static_cast<rlim_t>(next) + 8, static_cast<rlim_t>(next) + 8};  // enough for the runner itself
    if (::setrlimit(RLIMIT_NOFILE, &low) != 0) ::_exit(1);
    auto runner = PosixProcessRunner::start_reaper(lock_);
    if (!runner) ::_exit(2);
    std::size_t machine = 0;
    (*runner)->on_ended([&](Number, const ProcessEnd& end) {
      if (end.how == How::not_started && end.fault == Fault::machine) ++machine;
    });
    for (Number number = 1; number <= 20; ++number) (*runner)->start(number, shell("sleep 0.1"));
    runner->reset();
    ::_exit(machine >= 10 ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(program, &status, 0), program);
  EXPECT_EQ(status, 0) << "exit status " << WEXITSTATUS(status);
}

/// Hides procfs from this process and its children. Returns false if that is not allowed here.
bool hide_procfs() {
  const bool own_mounts = ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
  return own_mounts && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", "/proc", "tmpfs", 0, nullptr) == 0;
}

TEST_F(PosixProcessRunnerTest, WithoutProcfsTheEndIsStillQuickAndTheEndOfEverything) {
  const std::string script = daemon_script();
  constexpr int kNotAllowed = 77;
  const auto began = std::chrono::steady_clock::now();
  const pid_t program = ::fork();
  if (program == 0) {
    if (!hide_procfs()) ::_exit(kNotAllowed);
    auto runner = PosixProcessRunner::start_reaper(lock_);
    if (!runner) ::_exit(1);
    bool ended = false;
    (*runner)->on_ended([&](Number, const ProcessEnd& end) { ended = end.how == How::exited; });
    (*runner)->start(1, shell(script + "until [ -e daemon ]; do sleep 0.01; done"));
    while (!ended) (*runner)->wait(1'000'000);
    runner->reset();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(program, &status, 0), program);
  if (WEXITSTATUS(status) == kNotAllowed) return;  // a container without mount namespaces
  EXPECT_EQ(status, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30)) << "the reaper gives up after 60 s";
  EXPECT_FALSE(is_alive(pid_in("daemon")));
}

}  // namespace
}  // namespace pawl
