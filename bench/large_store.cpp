// pawl_large_store: creates many runs with many checkpoints, for measurements of large stores (large_stores.py).
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <atomic>
#include <iostream>
#include <pawl/pawl.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Plan {
  std::string folder;
  std::size_t runs = 1000;
  std::size_t saves = 3;  // of each run
  std::size_t threads = 16;
};

[[noreturn]] void stop(const std::string& message) {
  std::cerr << "pawl_large_store: " << message << "\n";
  std::exit(1);
}

/// Returns a state of about 200 bytes that differs from the one before it in a few of them.
std::string state_of(std::size_t run, std::size_t number) {
  return fmt::format(R"({{"run":{},"number":{},"text":"{:0>160}"}})", run, number, run * 7919);
}

void create_run(pawl::Pawl& store, const Plan& plan, std::size_t index) {
  pawl::RunOptions options;
  options.durability = pawl::Durability::exit;  // one sync per run, so that the disk does not limit the creation
  auto run = store.run(fmt::format("run-{:06}", index), options);
  if (!run) stop(pawl::describe(run.error()));
  for (std::size_t number = 1; number <= plan.saves; ++number) {
    const std::string state = state_of(index, number);
    const auto saved = run->save({.body = state});
    if (!saved) stop(pawl::describe(saved.error()));
  }
}

void create(const Plan& plan) {
  auto store = pawl::Pawl::open(plan.folder);
  if (!store) stop(pawl::describe(store.error()));
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < plan.threads; ++i) {
    threads.emplace_back([&] {
      for (std::size_t index = next++; index < plan.runs; index = next++) create_run(*store, plan, index);
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  CLI::App app{"Create a store with many runs and checkpoints"};
  app.add_option("folder", plan.folder, "Folder of the new store")->required();
  app.add_option("--runs", plan.runs, "Number of runs")->capture_default_str();
  app.add_option("--saves", plan.saves, "Number of checkpoints of each run")->capture_default_str();
  app.add_option("--threads", plan.threads, "Number of threads")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  create(plan);
  return 0;
}
