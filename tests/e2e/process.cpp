#include "tests/e2e/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace pawl::e2e {
namespace {

constexpr uid_t kNobody = 65534;

/// The child's three standard streams.
struct Streams {
  int in = -1;
  int out = -1;
  int err = -1;
};

std::map<std::string, std::string> environment_of(const Command& command) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  all.erase("PAWL_STORE");
  for (const auto& [name, value] : command.environment) {
    if (value.empty()) {
      all.erase(name);
    } else {
      all[name] = value;
    }
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

[[noreturn]] void give_up(const char* what) {
  const std::string text = fmt::format("e2e: {}: {}\n", what, std::strerror(errno));
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(127);
}

void become_nobody() {
  if (::geteuid() != 0) return;
  if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) give_up("setuid");
}

/// Runs in the child. Opens the program first, because "nobody" may not be able to reach its path.
[[noreturn]] void become(const Command& command, const Streams& streams, char** argv, char** envp) {
  const int program = ::open(command.program.c_str(), O_PATH | O_CLOEXEC);
  if (program < 0) give_up(command.program.c_str());
  if (::dup2(streams.in, STDIN_FILENO) < 0 || ::dup2(streams.out, STDOUT_FILENO) < 0 ||
      ::dup2(streams.err, STDERR_FILENO) < 0)
    give_up("dup2");
  if (!command.folder.empty() && ::chdir(command.folder.c_str()) != 0) give_up("chdir");
  if (command.file_bytes_max) {
    const rlimit limit{*command.file_bytes_max, *command.file_bytes_max};
    if (::signal(SIGXFSZ, SIG_IGN) == SIG_ERR || ::setrlimit(RLIMIT_FSIZE, &limit) != 0) give_up("setrlimit");
  }
  if (command.unprivileged) become_nobody();
  ::fexecve(program, argv, envp);
  give_up("exec");
}

pid_t start(const Command& command, const Streams& streams) {
  std::vector<std::string> args = command.args;
  args.insert(args.begin(), command.program);
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment_of(command)) variables.push_back(name + "=" + value);
  const std::vector<char*> argv = pointers(args);
  const std::vector<char*> envp = pointers(variables);
  const pid_t pid = ::fork();
  if (pid == 0) become(command, streams, const_cast<char**>(argv.data()), const_cast<char**>(envp.data()));
  return pid;
}

int status_of(int raw) { return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw); }

int wait_for(pid_t pid) {
  int raw = 0;
  while (::waitpid(pid, &raw, 0) < 0) {
    if (errno != EINTR) return 127;
  }
  return status_of(raw);
}

int memory_file() { return ::memfd_create("e2e", MFD_CLOEXEC); }

std::string read_whole(int fd) {
  std::string text;
  std::array<char, 65536> block{};
  for (;;) {
    const ssize_t got = ::pread(fd, block.data(), block.size(), static_cast<off_t>(text.size()));
    if (got <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

void fill(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(fd, 0, SEEK_SET);
}

}  // namespace

Finished run(const Command& command) {
  // Files in memory instead of pipes: they can't fill up and block, so no threads are needed.
  const int in = memory_file();
  const int err = memory_file();
  const int out = command.out_path.empty() ? memory_file() : ::open(command.out_path.c_str(), O_WRONLY | O_CLOEXEC);
  fill(in, command.input);
  Finished finished;
  const pid_t pid = start(command, {in, out, err});
  finished.status = pid < 0 ? 127 : wait_for(pid);
  if (command.out_path.empty()) finished.out = read_whole(out);
  finished.err = read_whole(err);
  for (const int fd : {in, out, err}) ::close(fd);
  return finished;
}

Background::Background(const Command& command) {
  std::array<int, 2> to{};
  std::array<int, 2> from{};
  if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0) return;
  pid_ = start(command, {to[0], from[1], STDERR_FILENO});
  ::close(to[0]);
  ::close(from[1]);
  to_ = to[1];
  from_ = from[0];
}

Background::~Background() {
  if (pid_ > 0) kill();
  if (from_ >= 0) ::close(from_);
}

std::string Background::read_line() {
  std::string line;
  char byte = 0;
  while (::read(from_, &byte, 1) == 1 && byte != '\n') line += byte;
  return line;
}

int Background::wait() {
  if (to_ >= 0) ::close(to_);
  to_ = -1;
  const int status = wait_for(pid_);
  pid_ = -1;
  return status;
}

int Background::finish() { return wait(); }

int Background::kill() {
  ::kill(pid_, SIGKILL);
  return wait();
}

}  // namespace pawl::e2e
