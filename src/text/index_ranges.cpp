#include "text/index_ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace pawl {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<IndexRanges> IndexRanges::parse(std::string_view text) {
  IndexRanges set;
  std::uint64_t lowest = 0;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last == UINT64_MAX) return std::nullopt;
    if (!set.ranges_.empty() && *first < lowest) return std::nullopt;
    set.ranges_[*first] = *last;
    set.count_ += *last - *first + 1;
    lowest = *last + 2;  // adjacent ranges would have been one
  }
  return set;
}

std::string IndexRanges::text() const {
  std::string out;
  for (const auto& [first, last] : ranges_) {
    if (!out.empty()) out += ',';
    out += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return out;
}

bool IndexRanges::contains(std::uint64_t index) const {
  const auto after = ranges_.upper_bound(index);
  return after != ranges_.begin() && std::prev(after)->second >= index;
}

void IndexRanges::add(std::uint64_t first, std::uint64_t last) {
  if (last < first) return;
  auto range = ranges_.upper_bound(first);
  if (range != ranges_.begin() && (std::prev(range)->second >= first || std::prev(range)->second + 1 == first)) --range;
  while (range != ranges_.end() && (range->first <= last || range->first - 1 == last)) {
    first = std::min(first, range->first);
    last = std::max(last, range->second);
    count_ -= range->second - range->first + 1;
    range = ranges_.erase(range);
  }
  ranges_[first] = last;
  count_ += last - first + 1;
}

void IndexRanges::remove(std::uint64_t index) {
  if (!contains(index)) return;
  --count_;
  const auto range = std::prev(ranges_.upper_bound(index));
  const std::uint64_t last = range->second;
  if (range->first == index) {
    ranges_.erase(range);
  } else {
    range->second = index - 1;
  }
  if (last > index) ranges_[index + 1] = last;
}

std::uint64_t IndexRanges::next_missing(std::uint64_t from) const {
  const auto after = ranges_.upper_bound(from);
  if (after == ranges_.begin()) return from;
  const std::uint64_t last = std::prev(after)->second;
  return last >= from ? last + 1 : from;
}

}  // namespace pawl
