#include "yaml/faults.hpp"

#include <algorithm>
#include <utility>

namespace pawl {
namespace {

constexpr std::size_t kFaultsMax = 100;

}  // namespace

void Faults::add(Code code, Place place, std::string message, std::string hint) {
  if (faults_.size() >= kFaultsMax) return;
  std::string where = file_;
  if (place.line > 0) {
    if (!where.empty()) where += ':';
    where += fmt::format("{}:{}", place.line, place.column);
  }
  // Kept in the order of the file; those at the same place in the order in which they were found.
  const auto behind = std::upper_bound(faults_.begin(), faults_.end(), place, [](Place a, const WorkflowFault& b) {
    return std::pair(a.line, a.column) < std::pair(b.place.line, b.place.column);
  });
  faults_.insert(behind, {place, Error{code, std::move(message), std::move(where), std::move(hint), 0}});
}

std::vector<WorkflowFault> Faults::take() { return std::exchange(faults_, {}); }

}  // namespace pawl
