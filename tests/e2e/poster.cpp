// Posts a message to a run, like any program with write access to the store: `poster STORE RUN BODY`.
#include <cstdio>

#include "app/compose.hpp"
#include "engine/save.hpp"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  pawl::OpenOptions options;
  options.missing = pawl::Missing::refuse;
  const auto store = pawl::open_store(argv[1], options, pawl::StoreUse::one_shot);
  const auto run = pawl::RunId::parse(argv[2]);
  if (!store || !run) return 2;
  const auto posted = pawl::checked_post(**store, *run, argv[3]);
  if (!posted) {
    std::fprintf(stderr, "%s\n", pawl::describe(posted.error()).c_str());
    return 1;
  }
  std::puts(posted->c_str());
  return 0;
}
