#include "app/signals.hpp"

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

namespace pawl {
namespace {

class ThreadWatch final : public SignalWatch {
 public:
  explicit ThreadWatch(std::function<void(int)> on_signal) : on_signal_(std::move(on_signal)) {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, kStop}) sigaddset(&signals_, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    thread_ = std::thread([this] { watch(); });
  }
  ~ThreadWatch() override {
    ::pthread_kill(thread_.native_handle(), kStop);
    thread_.join();
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  static constexpr int kStop = SIGUSR2;

  void watch() {
    while (true) {
      int signal = 0;
      if (::sigwait(&signals_, &signal) != 0) continue;
      if (signal == kStop) return;
      on_signal_(signal);
    }
  }

  const std::function<void(int)> on_signal_;
  sigset_t signals_{};
  sigset_t before_{};
  std::thread thread_;
};

}  // namespace

std::unique_ptr<SignalWatch> watch_signals(std::function<void(int)> on_signal) {
  return std::make_unique<ThreadWatch>(std::move(on_signal));
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  if (!(statm >> total >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace pawl
