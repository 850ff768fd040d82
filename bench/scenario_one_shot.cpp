// The program itself: one save to an existing run, and the flushes that strace counts.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "bench/measure.hpp"
#include "bench/scenarios.hpp"
#include "bench/states.hpp"

namespace pawl::bench {
namespace {

/// Runs the command, whose exit status must be 0.
void shell(const std::string& command) {
  const int status = std::system(command.c_str());
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) give_up("failed: " + command);
}

std::size_t count_lines(const Folder& path, std::string_view part) {
  std::ifstream file(path);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) count += line.find(part) != std::string::npos ? 1U : 0U;
  return count;
}

}  // namespace

Scenario measure_one_shot(const Settings& settings) {
  const Folder folder = subfolder(settings, "one-shot");
  const Folder state = folder / "state.json";
  const Folder trace = folder / "trace.txt";
  Dice dice(8);
  const auto save = [&](const std::string& prefix) {
    std::ofstream(state) << new_state(dice, 2048);
    const Stopwatch one;
    shell(fmt::format("{} '{}' --store '{}' save job --state '{}' >'{}'", prefix, PAWL_PROGRAM,
                      (folder / "store").string(), state.string(), (folder / "out.txt").string()));
    return one.us() / 1000;
  };
  static_cast<void>(save(""));
  std::vector<double> times_ms;
  for (int i = 0; i < (settings.quick() ? 10 : 50); ++i) times_ms.push_back(save(""));
  Scenario scenario{"one-shot", "`pawl save` of an existing run, 2 KiB, a process each"};
  scenario.figures.push_back({"wall time with the shell that starts it, median", median(times_ms), "ms"});
  scenario.figures.push_back({"wall time, 99th percentile", percentile(times_ms, 0.99), "ms"});
  if (std::system("command -v strace >/dev/null 2>&1") != 0) {
    scenario.figures.push_back({"strace is not installed: flushes were not counted", 0, ""});
    return scenario;
  }
  static_cast<void>(
      save(fmt::format("strace -f -qq -e trace=fsync,fdatasync,syncfs,sync_file_range -o '{}'", trace.string())));
  scenario.goals.push_back(
      {"flushes (strace)", static_cast<double>(count_lines(trace, "sync")), Goal::Sense::exactly, 1, ""});
  return scenario;
}

}  // namespace pawl::bench
