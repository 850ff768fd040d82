// Commands for tests, and sinks for their output.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "adapters/posix/end_processes.hpp"
#include "adapters/posix/posix_process_runner.hpp"

namespace pawl::runner_test {

namespace stdfs = std::filesystem;
using How = ProcessEnd::How;
using Number = ProcessRunner::Number;

inline constexpr int kPatienceSeconds = 60;  // reached only if something fails

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Polls until `holds` returns true. Returns false if that takes too long.
inline bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceSeconds);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// Writes to a file, which is created with the first byte.
class FileSink final : public OutputSink {
 public:
  explicit FileSink(std::string path) : path_(std::move(path)) {}
  void write(std::string_view bytes) override {
    std::ofstream(path_, std::ios::binary | std::ios::app) << bytes;
    largest_ = std::max(largest_, bytes.size());
  }
  void settle() override { ++settled_; }
  void close() override { closed_ = true; }
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] int settled() const { return settled_; }
  [[nodiscard]] std::size_t largest() const { return largest_; }

 private:
  const std::string path_;
  bool closed_ = false;
  int settled_ = 0;
  std::size_t largest_ = 0;
};

/// Returns false also for a zombie.
inline bool is_alive(pid_t pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t bracket = stat.rfind(')');
  return bracket != std::string::npos && stat.substr(bracket, 3) != ") Z" && stat.substr(bracket, 3) != ") X";
}

/// Returns whether this process could take the lock. Releases it immediately.
inline bool lock_is_free(const std::string& path) {
  const PosixFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  struct flock range{};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_len = 1;
  return ::fcntl(fd.get(), F_OFD_SETLK, &range) == 0;
}

/// The reported ends of commands, by number.
class Ends {
 public:
  void add(Number number, const ProcessEnd& end) {
    EXPECT_TRUE(ends_.emplace(number, end).second) << "reported twice: " << number;
    order_.push_back(number);
  }
  ProcessEnd wait(Number number, ProcessRunner* runner) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceSeconds);
    while (!ends_.contains(number)) {
      if (runner == nullptr || std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "no end of " << number;
        return {};
      }
      runner->wait(1'000'000);
    }
    return ends_.at(number);
  }
  [[nodiscard]] std::size_t count() const { return ends_.size(); }
  [[nodiscard]] const std::vector<Number>& order() const { return order_; }

 private:
  std::map<Number, ProcessEnd> ends_;
  std::vector<Number> order_;
};

class RunnerFixture : public ::testing::Test {
 protected:
  RunnerFixture() {
    std::string path = (stdfs::temp_directory_path() / "pawl_runner_XXXXXX").string();
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    root_ = stdfs::canonical(path).string();
    lock_ = root_ + "/lock";
  }
  ~RunnerFixture() override {
    runner_.reset();
    static_cast<void>(end_processes_with("PAWL_TEST=" + root_, 10'000));  // left by a failed test
    stdfs::remove_all(root_);
  }

  void open() {
    auto opened = PosixProcessRunner::start_reaper(lock_);
    ASSERT_TRUE(opened.has_value()) << describe(opened.error());
    runner_ = std::move(*opened);
    runner_->on_ended([this](Number number, const ProcessEnd& end) { ends_.add(number, end); });
  }
  [[nodiscard]] ProcessSpec spec(std::vector<std::string> argv) const {
    return {std::move(argv),
            {"PATH=/usr/bin:/bin", "PAWL_TEST=" + root_},
            root_,
            std::make_shared<FileSink>(root_ + "/out"),
            std::make_shared<FileSink>(root_ + "/err")};
  }
  [[nodiscard]] ProcessSpec shell(const std::string& script) const { return spec({"/bin/sh", "-c", script}); }
  ProcessEnd end_of(Number number) { return ends_.wait(number, runner_.get()); }
  ProcessEnd run(const ProcessSpec& command) {
    runner_->start(++last_, command);
    return end_of(last_);
  }
  [[nodiscard]] std::string out() const { return read_text(root_ + "/out"); }
  /// Returns the process id that a command has written to this file. The command renames the complete file into place.
  pid_t pid_in(const std::string& name) {
    EXPECT_TRUE(eventually([&] { return !read_text(root_ + "/" + name).empty(); })) << name;
    return static_cast<pid_t>(std::atol(read_text(root_ + "/" + name).c_str()));
  }
  /// A script that leaves behind a process in its own session, with an unrelated parent, that ignores SIGTERM, SIGHUP
  /// and SIGINT. Its process id is in the file "daemon".
  [[nodiscard]] static std::string daemon_script() {
    return "setsid sh -c '(trap \"\" TERM HUP INT; sh -c \"echo \\$PPID\" > daemon.new; mv daemon.new daemon;"
           " while :; do sleep 1; done) &' ; ";
  }

  std::string root_;
  std::string lock_;
  Ends ends_;
  std::unique_ptr<PosixProcessRunner> runner_;
  Number last_ = 1'000'000;  // tests use lower numbers for their own commands
};

}  // namespace pawl::runner_test
