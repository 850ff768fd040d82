// Real processes for the end-to-end tests.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pawl::e2e {

/// How a program is started.
struct Command {
  std::string program;                                  // a path
  std::vector<std::string> args;                        // without the program's name
  std::string input = {};                               // standard input
  std::string folder = {};                              // the working directory; empty: that of the test
  std::map<std::string, std::string> environment = {};  // added to that of the test; "" removes a variable
  std::string out_path = {};                            // standard output goes here instead
  std::optional<rlim_t> file_bytes_max = {};            // RLIMIT_FSIZE; SIGXFSZ is ignored, so writing fails
  bool unprivileged = false;                            // if root: becomes "nobody" first
};

struct Finished {
  int status = 0;  // exit status, or 128 + signal
  std::string out;
  std::string err;
};

/// Runs the program until it exits. If it can't be started, the status is 127 and `err` contains a message.
[[nodiscard]] Finished run(const Command& command);

/// A process that a test communicates with while it runs. It is killed when it goes out of scope.
class Background {
 public:
  explicit Background(const Command& command);
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Reads the next line, without the newline; empty at the end of the output.
  [[nodiscard]] std::string read_line();
  /// Closes its standard input and waits for it to exit.
  int finish();
  /// Sends SIGKILL and waits for it to exit.
  int kill();

 private:
  int wait();
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
};

}  // namespace pawl::e2e
