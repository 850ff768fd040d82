#include "workflow/faults.hpp"

#include <algorithm>
#include <utility>

#include "base/suggest.hpp"

namespace pawl {
namespace {

constexpr std::size_t kFaultsMax = 100;
constexpr std::size_t kWordsMax = 12;

}  // namespace

void Faults::add(Code code, Place place, std::string message, std::string hint) {
  if (faults_.size() >= kFaultsMax) return;
  std::string where = file_;
  if (place.line > 0) {
    if (!where.empty()) where += ':';
    where += fmt::format("{}:{}", place.line, place.column);
  }
  // Kept in the order of the file; of one place, in the order they were found.
  const auto behind = std::upper_bound(faults_.begin(), faults_.end(), place, [](Place a, const WorkflowFault& b) {
    return std::pair(a.line, a.column) < std::pair(b.place.line, b.place.column);
  });
  faults_.insert(behind, {place, Error{code, std::move(message), std::move(where), std::move(hint), 0}});
}

std::vector<WorkflowFault> Faults::take() { return std::exchange(faults_, {}); }

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& candidates, std::string otherwise) {
  const std::string nearest = suggest(typed, candidates);
  return nearest.empty() ? otherwise : fmt::format("did you mean '{}'?", nearest);
}

std::string one_of(const std::vector<std::string>& words) {
  std::string text;
  const std::size_t shown = std::min(words.size(), kWordsMax);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  if (shown < words.size()) text += ", ...";
  return text;
}

}  // namespace pawl
