// `pawl step` in real shell scripts.
#include <signal.h>

#include <chrono>
#include <thread>

#include "tests/e2e/fixture.hpp"

namespace pawl::e2e {
namespace {

class StepScripts : public E2e {
 protected:
  StepScripts() {
    write_bytes(path("pawl"), "#!/bin/sh\nexec '" PAWL_PROGRAM "' \"$@\"\n"), ::chmod(path("pawl").c_str(), 0755);
  }

  [[nodiscard]] Command script(const std::string& text) const {
    Command command{.program = "/bin/sh",
                    .args = {"-c", "PATH=" + folder_.string() + ":$PATH; export PAWL_RUN=job\n" + text}};
    command.folder = folder_.string();
    command.environment["PAWL_STORE"] = store();
    command.environment["PAWL_RUN"] = "";
    return command;
  }
  [[nodiscard]] Finished sh(const std::string& text) const { return run(script(text)); }
  [[nodiscard]] std::string ran() const { return read_bytes(path("ran")); }

  /// Polls until the condition holds. The time limit is only reached if something is broken.
  static bool eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 6'000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  /// Reads the process id from a file that a step writes.
  [[nodiscard]] pid_t pid_in(const std::string& name) const {
    pid_t pid = 0;
    EXPECT_TRUE(eventually([&] {
      const std::string text = read_bytes(path(name));
      if (text.empty() || text.back() != '\n') return false;
      pid = static_cast<pid_t>(std::stol(text));
      return true;
    }));
    return pid;
  }
  /// A zombie is not alive.
  static bool alive(pid_t pid) {
    const std::string stat = read_bytes("/proc/" + std::to_string(pid) + "/stat");
    const std::size_t bracket = stat.rfind(')');
    return bracket != std::string::npos && stat.substr(bracket, 3) != ") Z" && stat.substr(bracket, 3) != ") X";
  }
};

TEST_F(StepScripts, WhatIsDonePrintsWhatItPrintedAndDoesNotRun) {
  const std::string text = "pawl step hello -- sh -c 'echo x >> ran; printf \"a\\nb\"'";
  for (int i = 0; i < 3; ++i) {
    const Finished finished = sh(text);
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.out, "a\nb");
    EXPECT_EQ(finished.err, "");
  }
  EXPECT_EQ(ran(), "x\n");
}

TEST_F(StepScripts, OutputsOfAllSizesAreReplayedByteForByte) {
  for (const std::size_t size : {0UL, 3UL, 3'000UL, 5'000UL, 400'000UL, 3'000'001UL}) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i * 7 + i / 256);
    write_bytes(path("in"), bytes);
    const std::string text = fmt::format("pawl step size-{} -- sh -c 'echo x >> ran; cat in'", size);
    EXPECT_EQ(sh(text).out, bytes);
    write_bytes(path("in"), "other");
    const Finished again = sh(text);
    EXPECT_TRUE(again.out == bytes) << size << ": " << again.err;
    EXPECT_EQ(again.status, 0);
  }
  EXPECT_EQ(ran().size(), 6U * 2);
}

TEST_F(StepScripts, ALostOrChangedOutputIsRefusedUntilItRunsAgain) {
  const std::string text = "pawl step big -- head -c 2000000 /dev/zero";
  EXPECT_EQ(sh(text).out.size(), 2'000'000U);
  std::filesystem::path kept;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store())) {
    if (entry.path().extension() == ".out") kept = entry.path();
  }
  ASSERT_FALSE(kept.empty());
  std::string bytes = read_bytes(kept);
  bytes[1'000'000] = 'x';
  write_bytes(kept, bytes);
  expect_error(sh(text), 4, "PAWL-0320");
  EXPECT_EQ(sh("pawl step --again big -- head -c 2000000 /dev/zero").status, 0);
  EXPECT_EQ(sh(text).out.size(), 2'000'000U);
  EXPECT_FALSE(std::filesystem::exists(kept)) << "the output of the attempt before is of no use";
  for (const auto& entry : std::filesystem::directory_iterator(kept.parent_path())) {
    if (entry.path().extension() == ".out") std::filesystem::remove(entry.path());
  }
  expect_error(sh(text), 4, "PAWL-0320");
}

TEST_F(StepScripts, AFailureIsPassedOnAndRunsAgain) {
  const std::string text = "pawl step try -- sh -c 'echo $PAWL_ATTEMPT >> ran; test -e ok || exit 7; echo fine'";
  EXPECT_EQ(sh(text).status, 7);
  EXPECT_EQ(sh(text).status, 7);
  write_bytes(path("ok"), "");
  EXPECT_EQ(sh(text).out, "fine\n");
  EXPECT_EQ(sh(text).out, "fine\n");
  EXPECT_EQ(ran(), "1\n2\n3\n");
}

TEST_F(StepScripts, AnyStatusCanBeFinal) {
  const std::string text = "pawl step --any-status grep -- sh -c 'echo x >> ran; echo none; exit 1'";
  for (int i = 0; i < 2; ++i) {
    const Finished finished = sh(text);
    EXPECT_EQ(finished.status, 1);
    EXPECT_EQ(finished.out, "none\n");
  }
  EXPECT_EQ(ran(), "x\n");
}

TEST_F(StepScripts, AgainRunsWhatIsDone) {
  EXPECT_EQ(sh("pawl step a -- echo one").out, "one\n");
  EXPECT_EQ(sh("pawl step --again a -- echo two").out, "two\n");
  EXPECT_EQ(sh("pawl step a -- echo two").out, "two\n");
}

TEST_F(StepScripts, AnotherCommandIsNotedOrRefused) {
  EXPECT_EQ(sh("pawl step a -- echo one").status, 0);
  const Finished noted = sh("pawl step a -- echo two");
  EXPECT_EQ(noted.out, "one\n");
  EXPECT_EQ(noted.status, 0);
  EXPECT_TRUE(contains(noted.err, "recorded with another command"));
  expect_error(sh("pawl step --strict a -- echo two"), 4, "PAWL-0231");
}

TEST_F(StepScripts, WithoutARunItSaysHowToNameOne) {
  const Finished finished = sh("unset PAWL_RUN; pawl step a -- echo one");
  expect_error(finished, 2, "PAWL-0001");
  EXPECT_TRUE(contains(finished.err, "export PAWL_RUN=my-job"));
  expect_error(sh("pawl step a"), 2, "PAWL-0001");
  expect_error(sh("pawl step ../a -- echo"), 2, "PAWL-0012");
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(StepScripts, ARunOfSomethingElseIsRefused) {
  ASSERT_EQ(save("job", "{\"done\":1}").status, 0);
  expect_error(sh("pawl step a -- echo one"), 2, "PAWL-0107");
  EXPECT_EQ(ok({"restore", "job"}), "{\"done\":1}");
}

TEST_F(StepScripts, ArgumentsArriveAsGiven) {
  const Finished finished = sh("pawl step a -- printf '<%s>' '[a,b]' '' -- -x '$HOME' '{}' --json");
  EXPECT_EQ(finished.out, "<[a,b]><><--><-x><$HOME><{}><--json>") << finished.err;
}

TEST_F(StepScripts, TheCommandHasItsInputsAndStreams) {
  EXPECT_EQ(sh("echo in | pawl step a -- cat").out, "in\n");
  EXPECT_EQ(sh("pawl step b -- sh -c 'echo err >&2'").err, "err\n");
  const std::string names =
      sh("pawl step c -- sh -c 'echo $PAWL_RUN $PAWL_STEP $PAWL_STORE $PAWL_IDEMPOTENCY_KEY'").out;
  EXPECT_TRUE(names.starts_with("job c " + store() + " ")) << names;
  EXPECT_TRUE(names.ends_with("/c\n")) << names;
}

TEST_F(StepScripts, WhatCannotBeStartedHasTheStatusOfAShell) {
  EXPECT_EQ(sh("pawl step a -- no-such-program").status, 127);
  EXPECT_EQ(sh("pawl step b -- /etc/passwd").status, 126);
  EXPECT_EQ(sh("pawl step c -- sh -c 'kill -SEGV $$'").status, 128 + SIGSEGV);
}

TEST_F(StepScripts, StepsOfOneScriptRunInParallel) {
  const std::string text =
      "for n in 1 2 3 4 5 6 7 8; do pawl step page-$n -- sh -c \"echo $n >> ran; echo $n\" > out-$n & done; wait";
  EXPECT_EQ(sh(text).err, "");
  EXPECT_EQ(sh(text).err, "");
  EXPECT_EQ(ran().size(), 16U);
  for (int n = 1; n <= 8; ++n) EXPECT_EQ(read_bytes(path(fmt::format("out-{}", n))), fmt::format("{}\n", n));
}

TEST_F(StepScripts, TheSameStepIsNotRunTwiceAtOnce) {
  Background first(script(
      "pawl step one -- sh -c 'echo x >> ran; echo $$ > pid; while ! test -e go; do sleep 0.01; done; echo done'"));
  static_cast<void>(pid_in("pid"));
  const Finished second = sh("pawl step one -- sh -c 'echo y >> ran'");
  expect_error(second, 4, "PAWL-0230");
  EXPECT_TRUE(contains(second.err, "(process "));
  write_bytes(path("go"), "");
  EXPECT_EQ(first.read_line(), "done");
  EXPECT_EQ(first.finish(), 0);
  EXPECT_EQ(ran(), "x\n");
}

TEST_F(StepScripts, KilledInTheMiddleItGoesOnWhereItWas) {
  const std::string text =
      "set -e\n"
      "pawl step first -- sh -c 'echo first >> ran; echo one'\n"
      "exec 9>&-; pawl step second -- sh -c 'echo second >> ran; echo $$ > pid; sed \"s/.*) . //;s/ .*//\" "
      "/proc/$PPID/stat > parent; test -e go || "
      "sleep 600; echo two'\n"
      "pawl step third -- sh -c 'echo third >> ran; echo three'\n";
  pid_t command = 0;
  {
    Background killed(script(text));
    EXPECT_EQ(killed.read_line(), "one");
    command = pid_in("pid");
    ASSERT_TRUE(alive(command));
    ::kill(pid_in("parent"), SIGKILL);  // pawl step itself
    EXPECT_TRUE(eventually([&] { return !alive(command); }));
    killed.kill();
  }
  write_bytes(path("go"), "");
  const Finished finished = sh(text);
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, "one\ntwo\nthree\n");
  EXPECT_EQ(ran(), "first\nsecond\nsecond\nthird\n");
  EXPECT_EQ(sh(text).out, "one\ntwo\nthree\n");
  EXPECT_EQ(ran(), "first\nsecond\nsecond\nthird\n");
}

TEST_F(StepScripts, WhatAKilledAttemptLeftBehindIsEndedBeforeTheNext) {
  const std::string text =
      "pawl step a -- sh -c 'test -e go && exit 0; sleep 600 & echo $! > left; sed \"s/.*) . //;s/ .*//\" "
      "/proc/$PPID/stat > parent; wait'";
  pid_t left = 0;
  {
    Background killed(script(text));
    ::kill(pid_in("parent"), SIGKILL);  // pawl step itself; the parent of the command is its reaper
    left = pid_in("left");
    killed.kill();
  }
  write_bytes(path("go"), "");
  EXPECT_EQ(sh(text).status, 0);
  EXPECT_TRUE(eventually([&] { return !alive(left); }));
}

TEST_F(StepScripts, ASignalGoesToTheCommandAndLeavesTheStepNotDone) {
  const std::string text =
      "exec pawl step a -- sh -c 'trap \"echo told >> ran; exit 0\" TERM; sed \"s/.*) . //;s/ .*//\" /proc/$PPID/stat "
      "> parent; test -e go || while :; "
      "do sleep 0.01; done'";
  Background interrupted(script(text));
  ::kill(pid_in("parent"), SIGTERM);
  EXPECT_NE(interrupted.finish(), 0);
  EXPECT_EQ(ran(), "told\n");
  write_bytes(path("go"), "");
  std::filesystem::remove(path("parent"));
  EXPECT_EQ(sh(text).status, 0);
  EXPECT_TRUE(std::filesystem::exists(path("parent"))) << "it was taken for done";
}

TEST_F(StepScripts, AReaderThatGoesAwayDoesNotEndTheCommand) {
  const std::string text = "pawl step a -- sh -c 'for n in 1 2 3 4 5; do echo $n; sleep 0.1; done; echo x >> ran'";
  EXPECT_EQ(sh(text + " | head -n 1").out, "1\n");
  EXPECT_EQ(sh(text).out, "1\n2\n3\n4\n5\n");
  EXPECT_EQ(ran(), "x\n");
}

}  // namespace
}  // namespace pawl::e2e
