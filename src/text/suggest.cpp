#include "text/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pawl {
namespace {

constexpr std::size_t kTypedBytesMax = 64;  // anything longer is not a misspelt word
constexpr std::size_t kListedWordsMax = 12;
constexpr std::size_t kPrefixBytesMin = 4;

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  const auto cell = [&](std::size_t i, std::size_t j) -> std::size_t& { return table[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) cell(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cell(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = cell(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0U : 1U);
      cell(i, j) = std::min({cell(i - 1, j) + 1, cell(i, j - 1) + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cell(i, j) = std::min(cell(i, j), cell(i - 2, j - 2) + 1);
    }
  }
  return cell(a.size(), b.size());
}

std::string suggest(std::string_view typed, const std::vector<std::string>& candidates) {
  if (typed.size() > kTypedBytesMax) return {};
  std::size_t best = typed.size() <= 3 ? 2 : 3;  // a suggestion must have fewer differences
  std::string nearest;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(typed, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  if (!nearest.empty() || typed.size() < kPrefixBytesMin) return nearest;
  // An abbreviation, if it stands for one word only.
  const auto is_longer = [&](const std::string& candidate) { return candidate.starts_with(typed); };
  if (std::ranges::count_if(candidates, is_longer) != 1) return {};
  return *std::ranges::find_if(candidates, is_longer);
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& candidates, std::string otherwise) {
  const std::string nearest = suggest(typed, candidates);
  return nearest.empty() ? otherwise : fmt::format("did you mean '{}'?", nearest);
}

std::string one_of(const std::vector<std::string>& words) {
  std::string text;
  const std::size_t shown = std::min(words.size(), kListedWordsMax);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  if (shown < words.size()) text += ", ...";
  return text;
}

}  // namespace pawl
