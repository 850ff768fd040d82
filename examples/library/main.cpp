// A program that continues where it stopped: example_library STORE
//
// Each call does at most four of ten units of work, then exits as if it had been interrupted.
#include <iostream>
#include <nlohmann/json.hpp>
#include <pawl/pawl.hpp>

namespace {

constexpr int kUnits = 10;
constexpr int kUnitsPerCall = 4;

int fail(const pawl::Error& error) {
  std::cerr << pawl::describe(error) << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  auto store = pawl::Pawl::open(argc > 1 ? argv[1] : ".pawl");
  if (!store) return fail(store.error());
  auto run = store->run("example");  // exclusive until it goes out of scope
  if (!run) return fail(run.error());

  nlohmann::json state = {{"done", 0}, {"results", nlohmann::json::array()}};
  if (auto last = store->restore("example")) {
    state = nlohmann::json::parse(last->state);
    std::cout << "resuming after unit " << state["done"] << " (example@" << last->info.sequence.value << ")\n";
  } else if (last.error().code != pawl::Code::run_not_found) {
    return fail(last.error());
  }

  for (int i = 0; i < kUnitsPerCall && state["done"] < kUnits; ++i) {
    const int unit = state["done"].get<int>() + 1;
    state["results"].push_back(unit * unit);
    state["done"] = unit;
    const std::string body = state.dump();
    pawl::SaveRequest request;
    request.body = body;
    auto saved = run->save(request);  // durable when it returns
    if (!saved) return fail(saved.error());
    std::cout << "unit " << unit << " is done (example@" << saved->sequence.value << ")\n";
  }
  std::cout << (state["done"] == kUnits ? "all units are done\n" : "interrupted; call it again\n");
}
