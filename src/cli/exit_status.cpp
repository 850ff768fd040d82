#include "cli/exit_status.hpp"

namespace pawl::cli {

int exit_status(Category category) {
  switch (category) {
    case Category::failed: return 1;
    case Category::usage:
    case Category::not_found: return 2;
    case Category::waiting: return 3;
    case Category::refused:
    case Category::conflict:
    case Category::busy:
    case Category::integrity:
    case Category::version: return 4;
    case Category::storage:
    case Category::system: break;
    case Category::interrupted: return kStatusInterrupted;
  }
  return 5;
}

}  // namespace pawl::cli
