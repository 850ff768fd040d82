// Masked outputs by named pipes and one thread that reads them.
#pragma once

#include <map>
#include <memory>
#include <thread>

#include "adapters/posix/posix_fd.hpp"
#include "base/mutex.hpp"
#include "ports/output_mask.hpp"

namespace pawl {

class PosixOutputMask final : public OutputMask {
 public:
  [[nodiscard]] static Result<std::unique_ptr<PosixOutputMask>> start();
  ~PosixOutputMask() override;

  Result<std::string> open(const std::string& path, const std::vector<std::string>& secrets) override;
  void drain(const std::string& path) override;

 private:
  struct Pipe {
    PosixFd reading;
    PosixFd keeping;  // a writer of our own, so that the pipe does not end between two commands
    PosixFd file;
    std::string fifo;
    std::vector<std::string> secrets;
    std::size_t longest = 0;
    std::string kept;  // the last bytes, which may be the beginning of a secret
  };
  PosixOutputMask(PosixFd wake_reading, PosixFd wake_writing);
  void run();
  bool read_some(Pipe& pipe) PAWL_REQUIRES(mutex_);
  static void write_all(Pipe& pipe, bool everything);

  const PosixFd wake_reading_;
  const PosixFd wake_writing_;
  Mutex mutex_;
  std::map<std::string, Pipe> pipes_ PAWL_GUARDED_BY(mutex_);
  bool stopping_ PAWL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace pawl
