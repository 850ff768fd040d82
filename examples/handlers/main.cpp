// A workflow whose steps are C++ functions: example_handlers STORE [--crash-at N]
//
// Squares twenty items in a map and adds up the results. With --crash-at it kills itself (SIGKILL) after N items. Call
// it again without the option, and it continues with the remaining items.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <pawl/workflow.hpp>
#include <thread>

namespace {

constexpr const char* kWorkflow = R"(
name: squares
vars: { items: [] }
steps:
  - id: square
    map: { items: "${vars.items}", parallel: 4 }
    steps:
      - { id: one, handler: square }
  - { id: add, handler: add, with: { results: "${steps.square.output}" } }
outputs: { sum: "${steps.add.output}" }
)";

int fail(const pawl::Error& error) {
  std::cerr << pawl::describe(error) << "\n";
  return 1;
}

pawl::Result<pawl::HandlerResult> square(const pawl::HandlerCall& call) {
  const auto item = nlohmann::json::parse(call.item);
  const int n = item["n"];
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // simulates work
  return pawl::HandlerResult{.output = std::to_string(n * n)};
}

pawl::Result<pawl::HandlerResult> add(const pawl::HandlerCall& call) {
  int sum = 0;
  const auto input = nlohmann::json::parse(call.input);
  for (const auto& result : input["results"]) sum += result["output"].get<int>();
  return pawl::HandlerResult{.output = std::to_string(sum)};
}

std::string items() {
  nlohmann::json list = nlohmann::json::array();
  for (int n = 1; n <= 20; ++n) list.push_back({{"n", n}});
  return nlohmann::json{{"items", list}}.dump();
}

}  // namespace

int main(int argc, char** argv) {
  const int crash_at = argc > 3 && std::string(argv[2]) == "--crash-at" ? std::atoi(argv[3]) : 0;
  auto store = pawl::Pawl::open(argc > 1 ? argv[1] : ".pawl");
  if (!store) return fail(store.error());

  std::atomic<int> calls = 0;
  pawl::HandlerRegistry handlers;
  handlers.add("square", [&calls](const pawl::HandlerCall& call) {
    ++calls;
    return square(call);
  });
  handlers.add("add", add);

  int durable = 0;
  pawl::WorkflowOptions options;
  options.observer = [&](const pawl::RunEventView& event) {  // called when the event is durable
    if (event.type == "item_completed" && ++durable == crash_at) std::raise(SIGKILL);
  };
  pawl::WorkflowEngine engine(*store, handlers, options);

  auto summary = engine.run_text("squares", kWorkflow, items());
  if (!summary && summary.error().code == pawl::Code::run_exists) {
    pawl::ResumeOptions resume;
    resume.workflow_text = kWorkflow;
    summary = engine.resume("squares", resume);
  }
  if (!summary) return fail(summary.error());
  std::cout << pawl::to_text(summary->status) << ": " << summary->outputs << "\n"
            << summary->steps_kept << " kept, " << calls << " items processed by this call\n";

  // A single durable function, in a separate run.
  auto run = store->durable("report");
  if (!run) return fail(run.error());
  auto report = run->step("print", [&]() -> pawl::Result<std::string> {
    std::cout << "printing the report\n";
    return summary->outputs;
  });
  if (!report) return fail(report.error());
  std::cout << "report: " << *report << "\n";
}
