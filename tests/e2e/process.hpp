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
  std::string input = {};                               // standard input, then its end
  std::string folder = {};                              // the working folder; empty: the test's own
  std::map<std::string, std::string> environment = {};  // set beside the test's own; "" removes one
  std::string out_path = {};                            // standard output goes here instead
  std::optional<rlim_t> file_bytes_max = {};            // RLIMIT_FSIZE; SIGXFSZ is ignored, so writing fails
  bool unprivileged = false;                            // as root: becomes "nobody" first
};

struct Finished {
  int status = 0;  // exit status, or 128 + signal
  std::string out;
  std::string err;
};

/// Runs it to its end. Anything that stops it from being started is a status of 127 with a message in `err`.
[[nodiscard]] Finished run(const Command& command);

/// A process that is spoken to while it runs. Killed when it goes out of scope.
class Background {
 public:
  explicit Background(const Command& command);
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Up to the next line end, without it; empty at the end of its output.
  [[nodiscard]] std::string read_line();
  /// Ends its standard input and waits for it.
  int finish();
  /// SIGKILL, and waits for it.
  int kill();

 private:
  int wait();
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
};

}  // namespace pawl::e2e
