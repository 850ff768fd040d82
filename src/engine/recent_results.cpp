#include "engine/recent_results.hpp"

#include <algorithm>

namespace pawl {
namespace {

constexpr std::uint64_t kBytesMax = 16ULL << 20U;
constexpr std::uint64_t kEntryBytes = 100;  // about, besides the data

}  // namespace

void RecentResults::begin(const std::string& map) {
  drop(map);
  maps_[map] = {};
  order_.push_back(map);
}

void RecentResults::add(const std::string& map, std::uint64_t index, std::string data) {
  const auto found = maps_.find(map);
  if (found == maps_.end()) return;
  std::string& known = found->second.results[index];
  const std::uint64_t before = known.empty() ? 0 : known.size() + kEntryBytes;
  known = std::move(data);
  const std::uint64_t now = known.size() + kEntryBytes;
  found->second.bytes += now - before;
  bytes_ += now - before;
  while (bytes_ > kBytesMax && !order_.empty()) drop(std::string(order_.front()));
}

void RecentResults::drop(const std::string& map) {
  const auto found = maps_.find(map);
  if (found == maps_.end()) return;
  bytes_ -= found->second.bytes;
  maps_.erase(found);
  order_.erase(std::ranges::find(order_, map));
}

const RecentResults::Results* RecentResults::find(const std::string& map) const {
  const auto found = maps_.find(map);
  return found == maps_.end() ? nullptr : &found->second.results;
}

}  // namespace pawl
