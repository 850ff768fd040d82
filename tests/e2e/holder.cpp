// Holds a run until its standard input ends: holder STORE RUN
#include <cstdio>
#include <iostream>
#include <pawl/pawl.hpp>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  pawl::Result<pawl::Pawl> store = pawl::Pawl::open(argv[1]);
  if (!store) {
    std::cerr << pawl::describe(store.error()) << "\n";
    return 1;
  }
  pawl::Result<pawl::Run> run = store->run(argv[2]);
  if (!run) {
    std::cerr << pawl::describe(run.error()) << "\n";
    return 1;
  }
  std::cout << "ready" << std::endl;
  while (std::cin.get() != std::char_traits<char>::eof()) {
  }
  return 0;
}
