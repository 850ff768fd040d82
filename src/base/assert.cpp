#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace pawl {

void assert_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "pawl: internal error: %s is false at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace pawl
