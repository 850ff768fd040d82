// The program that `torture.py` kills, and uses to check the results.
//
//   torture_writer write STORE LOG SEED RUN...   saves until it is killed: two threads for each run
//   torture_writer verify STORE LOG              restores every acknowledged save and compares hashes
//
// A line of LOG is `RUN@SEQ SHA256`, written after the save was acknowledged.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <pawl/pawl.hpp>
#include <random>
#include <thread>

#include "base/hash.hpp"

namespace {

using pawl::describe;

std::string hash_of(std::string_view state) { return pawl::to_hex(pawl::sha256(state)); }

int fail(const std::string& doing, const pawl::Error& error) {
  std::cerr << "torture_writer: " + doing + ": " + describe(error) + "\n";
  return 1;
}

/// States that mostly grow, sometimes change in the middle, and occasionally are large or start over.
class States {
 public:
  explicit States(std::uint64_t seed) : random_(seed) {}

  std::string next() {
    const std::uint64_t chance = random_() % 1000;
    if (chance < 5) return large();
    if (chance < 10 || text_.size() > 300'000) text_.clear();
    if (chance < 200 && text_.size() > 100) text_[random_() % text_.size()] = 'c';
    text_ += words(20 + random_() % 600);
    return "{\"nonce\": " + std::to_string(random_()) + ", \"text\": \"" + text_ + "\"}\n";
  }

 private:
  /// Up to 1.4 MB, so that some get their own files.
  std::string large() {
    return "{\"nonce\": " + std::to_string(random_()) + ", \"large\": \"" + words(random_() % 1'400'000) + "\"}";
  }
  std::string words(std::size_t size) {
    std::string text;
    while (text.size() < size) text += std::to_string(random_()) + " ";
    return text;
  }

  std::mt19937_64 random_;
  std::string text_;
};

/// Appends whole lines, from any thread.
class Log {
 public:
  explicit Log(const char* path) : fd_(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() { ::close(fd_); }
  [[nodiscard]] bool add(const std::string& line) const {
    return ::write(fd_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  }

 private:
  int fd_;
};

[[noreturn]] void save_for_ever(pawl::Run& run, const Log& log, std::uint64_t seed) {
  States states(seed);
  const std::string name = run.info().id.text();
  for (;;) {
    const std::string state = states.next();
    pawl::SaveRequest request;
    request.body = state;
    const pawl::Result<pawl::Saved> saved = run.save(request);
    // Exits the whole process: an error in one thread's save is a finding.
    if (!saved) ::_exit(fail("saving " + name, saved.error()));
    if (!log.add(name + "@" + std::to_string(saved->sequence.value) + " " + hash_of(state) + "\n")) ::_exit(1);
  }
}

constexpr unsigned kLifetimeMaxS = 60;

int write(const std::string& store_path, const char* log_path, std::uint64_t seed,
          const std::vector<std::string>& names) {
  ::alarm(kLifetimeMaxS);  // in case nothing is left to kill it
  pawl::Result<pawl::Pawl> store = pawl::Pawl::open(store_path);
  if (!store) return fail("opening the store", store.error());
  const Log log(log_path);
  std::vector<pawl::Run> runs;
  for (const std::string& name : names) {
    pawl::Result<pawl::Run> run = store->run(name);
    if (!run) return fail("opening " + name, run.error());
    runs.push_back(std::move(*run));
  }
  std::vector<std::jthread> threads;
  for (pawl::Run& run : runs) {
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&run, &log, seed = ++seed] { save_for_ever(run, log, seed * 7919); });
  }
  return 0;  // not reached, because the threads never return
}

int verify(const std::string& store_path, const char* log_path) {
  pawl::Result<pawl::Pawl> store = pawl::Pawl::open(store_path, {.missing = pawl::Missing::refuse});
  if (!store) return fail("opening the store", store.error());
  std::ifstream log(log_path);
  std::string address;
  std::string hash;
  int bad = 0;
  while (log >> address >> hash) {
    const pawl::Result<pawl::Restored> restored = store->restore(address);
    if (!restored) bad += fail("LOST " + address, restored.error());
    if (restored && hash_of(restored->state) != hash) {
      ++bad;
      std::cerr << "torture_writer: CHANGED " + address + ": the state is not the one that was acknowledged\n";
    }
  }
  return bad == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv, argv + argc);
  if (args.size() > 5 && args[1] == "write")
    return write(args[2], argv[3], std::stoull(args[4]), {args.begin() + 5, args.end()});
  if (args.size() == 4 && args[1] == "verify") return verify(args[2], argv[3]);
  std::cerr << "usage: torture_writer write STORE LOG SEED RUN... | verify STORE LOG\n";
  return 2;
}
