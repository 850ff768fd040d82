#include "workflow/faults.hpp"

#include <algorithm>

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
  faults_.push_back({place, Error{code, std::move(message), std::move(where), std::move(hint), 0}});
}

std::vector<WorkflowFault> Faults::take() {
  std::stable_sort(faults_.begin(), faults_.end(), [](const WorkflowFault& a, const WorkflowFault& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  });
  return std::exchange(faults_, {});
}

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
