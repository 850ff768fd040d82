// consumer STORE: counts its own calls durably in a store. `pawl restore calls` prints the same state.
#include <charconv>
#include <iostream>
#include <pawl/pawl.hpp>
#include <pawl/workflow.hpp>

namespace {

int fail(const pawl::Error& error) {
  std::cerr << pawl::describe(error) << "\n";
  return 1;
}

/// The number in {"calls": N}.
int calls_in(std::string_view state) {
  int calls = 0;
  const std::size_t digit = state.find_first_of("0123456789");
  if (digit != std::string_view::npos) std::from_chars(state.data() + digit, state.data() + state.size(), calls);
  return calls;
}

}  // namespace

int main(int argc, char** argv) {
  auto store = pawl::Pawl::open(argc > 1 ? argv[1] : ".pawl");
  if (!store) return fail(store.error());
  auto run = store->run("calls");
  if (!run) return fail(run.error());

  int calls = 1;
  if (auto last = store->restore("calls")) {
    calls = calls_in(last->state) + 1;
  } else if (last.error().code != pawl::Code::run_not_found) {
    return fail(last.error());
  }
  const std::string state = "{\"calls\": " + std::to_string(calls) + "}";
  pawl::SaveRequest request;
  request.body = state;
  if (auto saved = run->save(request); !saved) return fail(saved.error());
  std::cout << "call " << calls << "\n";
}
