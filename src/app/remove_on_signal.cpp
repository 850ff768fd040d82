#include "app/remove_on_signal.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>

namespace pawl {
namespace {

constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP};

// A signal handler can use nothing but global objects. The path does not change while it is announced.
std::array<char, PATH_MAX> doomed_path{};
std::atomic<bool> is_announced = false;

extern "C" void remove_doomed_file(int signal) {
  if (is_announced.exchange(false)) ::unlink(doomed_path.data());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Installs the handler for a signal that would end the process.
void replace_default(int signal) {
  struct sigaction current{};
  if (::sigaction(signal, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) return;
  struct sigaction removing{};
  removing.sa_handler = remove_doomed_file;
  ::sigaction(signal, &removing, nullptr);
}

void restore_default(int signal) {
  struct sigaction current{};
  if (::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == remove_doomed_file)
    std::signal(signal, SIG_DFL);
}

}  // namespace

RemoveOnSignal::RemoveOnSignal(const std::string& path) {
  if (is_announced || path.size() >= doomed_path.size()) return;
  std::memcpy(doomed_path.data(), path.c_str(), path.size() + 1);
  is_announced = true;
  is_active_ = true;
  for (const int signal : kEndingSignals) replace_default(signal);
}

RemoveOnSignal::~RemoveOnSignal() {
  if (!is_active_) return;
  is_announced = false;
  for (const int signal : kEndingSignals) restore_default(signal);
}

}  // namespace pawl
