#include "yaml/faults.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace pawl {
namespace {

constexpr std::size_t kFaultsMax = 100;

}  // namespace

std::uint32_t Faults::add_file(std::string name) {
  others_.push_back(std::move(name));
  return static_cast<std::uint32_t>(others_.size());
}

void Faults::add(Code code, Place place, std::string message, std::string hint) {
  if (faults_.size() >= kFaultsMax) return;
  const std::string other = place.file == 0 ? std::string() : name_of(place);
  std::string where = file_;
  if (other.starts_with('/')) {
    where = other;
  } else if (!other.empty()) {
    where = file_.substr(0, file_.find_last_of('/') + 1) + other;
  }
  if (place.line > 0) {
    if (!where.empty()) where += ':';
    where += fmt::format("{}:{}", place.line, place.column);
  }
  // Kept in the order of the file; those at the same place in the order in which they were found.
  const auto behind = std::upper_bound(faults_.begin(), faults_.end(), place, [](Place a, const WorkflowFault& b) {
    return std::tuple(a.file, a.line, a.column) < std::tuple(b.place.file, b.place.line, b.place.column);
  });
  faults_.insert(behind, {place, Error{code, std::move(message), std::move(where), std::move(hint), 0}, other});
}

void Faults::remark(Place place, std::string message, Remark::About about) {
  if (place.file > 0) {
    message = fmt::format("{}:{}:{}: {}", name_of(place), place.line, place.column, message);
    place = {};
  }
  remarks_.push_back({place, std::move(message), about});
}

std::vector<WorkflowFault> Faults::take() { return std::exchange(faults_, {}); }

}  // namespace pawl
