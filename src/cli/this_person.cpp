#include "cli/this_person.hpp"

namespace pawl::cli {

std::string this_person(const CliContext& context) {
  for (const char* name : {"USER", "LOGNAME"}) {
    if (const std::optional<std::string> value = context.environment(name); value && !value->empty()) return *value;
  }
  const std::string account = context.system_user ? context.system_user() : std::string();
  return account.empty() ? "unknown" : account;
}

}  // namespace pawl::cli
