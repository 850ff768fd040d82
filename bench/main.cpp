// pawl_bench: compares Pawl with other stores, on one disk in one run. docs/benchmarks.md explains the numbers.
#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "bench/scenarios.hpp"

namespace {

using namespace pawl::bench;

struct Entry {
  const char* name;
  Scenario (*measure)(const Settings&);
};
constexpr Entry kEntries[] = {
    {"bursts", measure_bursts},
    {"sustained", measure_sustained},
    {"threads", measure_threads},
    {"small-change", measure_small_change},
    {"growth", measure_growth},
    {"many-runs", measure_many_runs},
    {"small-runs", measure_small_runs},
    {"one-shot", measure_one_shot},
    {"prune", measure_prune},
    {"codecs", measure_codecs},
    {"recovery", measure_recovery},
    {"fork", measure_fork},
    {"cpu", measure_cpu},
    {"threads-alone", measure_threads_alone},
};

std::string names() {
  std::string all;
  for (const Entry& entry : kEntries) all += fmt::format("{}{}", all.empty() ? "" : ", ", entry.name);
  return all;
}

bool wanted(const std::vector<std::string>& only, std::string_view name) {
  return only.empty() || std::ranges::find(only, name) != only.end();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures Pawl beside other stores, on one disk in one run");
  std::string folder = "build/bench-data";
  std::string json;
  std::vector<std::string> only;
  Settings settings;
  bool quick = false;
  app.add_option("--dir", folder, "where to measure, in a folder of its own that is removed after (build/bench-data)");
  app.add_option("--json", json, "also write the results to this file");
  app.add_option("--seconds-per", settings.seconds_per, "seconds of a turn (threads), or in all (sustained)");
  app.add_option("--only", only, "only these: " + names())->delimiter(',');
  app.add_flag("--quick", quick, "fewer rounds, 5,000 runs instead of 100,000");
  CLI11_PARSE(app, argc, argv);
  settings.size = quick ? Settings::Size::quick : Settings::Size::full;
  for (const std::string& name : only) {
    if (std::ranges::none_of(kEntries, [&](const Entry& entry) { return name == entry.name; })) {
      give_up(fmt::format("there is no '{}'; there are: {}", name, names()));
    }
  }

  std::vector<Scenario> scenarios;
  constexpr std::chrono::seconds kInodesRest{6};
  const std::filesystem::path root = std::filesystem::absolute(folder) / fmt::format("pawl-bench-{}", ::getpid());
  for (const Entry& entry : kEntries) {
    if (!wanted(only, entry.name)) continue;
    settings.folder = root / entry.name;
    std::filesystem::create_directories(settings.folder);
    scenarios.push_back(entry.measure(settings));
    print(scenarios.back());
    std::filesystem::remove_all(settings.folder);
    // ext4 does not use an inode again within 5 s, and looks at all of them whenever a file is created.
    std::this_thread::sleep_for(kInodesRest);
  }
  std::filesystem::remove_all(root);
  std::error_code ignored;
  std::filesystem::remove(folder, ignored);  // succeeds only if it is empty
  if (!json.empty() && !(std::ofstream(json) << to_json(scenarios))) give_up("can't write " + json);
  return 0;
}
