// Saves to a run, closes it, and keeps the store open until its standard input ends, as a service would:
// keeper STORE (service | one_shot) RUN STATE OTHER
//
// A service has threads that maintain its journal. Without them, this happens only after the process exits.
#include <iostream>
#include <string_view>

#include "app/compose.hpp"
#include "engine/save.hpp"

namespace {

pawl::Result<void> save(pawl::Store& store, const char* run, std::string_view state) {
  PAWL_TRY_ASSIGN(const pawl::RunId id, pawl::RunId::parse(run));
  PAWL_TRY_ASSIGN(const auto writer, store.open_run(id, {}));
  pawl::SaveRequest request;
  request.body = state;
  PAWL_TRY(writer->save(request));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const auto use = std::string_view(argv[2]) == "service" ? pawl::StoreUse::service : pawl::StoreUse::one_shot;
  const auto store = pawl::open_store(argv[1], {}, use);
  if (!store) return 2;
  for (const auto& [run, state] :
       {std::pair<const char*, std::string_view>{argv[3], argv[4]}, {argv[5], "{\"kept\":1}"}}) {
    if (const auto saved = save(**store, run, state); !saved) {
      std::cerr << pawl::describe(saved.error()) << "\n";
      return 1;
    }
  }
  std::cout << "ready" << std::endl;
  while (std::cin.get() != std::char_traits<char>::eof()) {
  }
  return 0;
}
