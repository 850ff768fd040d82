#include "app/signals.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

namespace pawl {
namespace {

bool is_ignored(int signal) {
  struct sigaction current{};
  return ::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

std::int64_t now_us() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch()).count();
}

class ThreadWatch final : public SignalWatch {
 public:
  explicit ThreadWatch(std::function<void(int)> on_signal) : on_signal_(std::move(on_signal)) {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      if (!is_ignored(signal)) sigaddset(&signals_, signal);  // sigwait would receive it
    }
    for (const int signal : {SIGUSR1, kStop}) sigaddset(&signals_, signal);
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
      siginfo_t info{};
      const int signal = ::sigwaitinfo(&signals_, &info);
      if (signal < 0) continue;
      if (signal == kStop) return;
      const auto sender = info.si_code > 0 ? SignalRequests::Sender::kernel : SignalRequests::Sender::process;
      if (signal == SIGUSR1 || requests_.is_new(signal, sender, now_us())) on_signal_(signal);
    }
  }

  const std::function<void(int)> on_signal_;
  sigset_t signals_{};
  sigset_t before_{};
  SignalRequests requests_;  // used by the thread only
  std::thread thread_;
};

}  // namespace

bool SignalRequests::is_new(int signal, Sender sender, std::int64_t monotonic_us) {
  const auto [found, is_first] = seen_.try_emplace(signal, Seen{sender, monotonic_us});
  if (is_first) return true;
  const bool pressed_twice = sender == Sender::kernel && found->second.sender == Sender::kernel;
  if (!pressed_twice && monotonic_us - found->second.at_us < kSameRequest_us) return false;
  found->second = {sender, monotonic_us};
  return true;
}

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
