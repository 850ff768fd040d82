#include <algorithm>

#include "testing/sim_inode.hpp"

namespace pawl::testing {
namespace {

// Bounds the memory for a file that is written often and never synced.
constexpr std::size_t kOlderVersionsMax = 4;
constexpr std::size_t kOlderSizesMax = 8;

void put_sector(std::string& content, std::uint64_t sector, std::string_view bytes) {
  const std::uint64_t start = sector * kSectorBytes;
  if (start >= content.size()) return;
  const std::uint64_t room = std::min(kSectorBytes, content.size() - start);
  const std::uint64_t copied = std::min<std::uint64_t>(room, bytes.size());
  std::copy_n(bytes.data(), copied, content.begin() + static_cast<std::ptrdiff_t>(start));
  std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(start + copied), room - copied, '\0');
}

std::uint64_t sectors_up_to(std::uint64_t end) { return (end + kSectorBytes - 1) / kSectorBytes; }

// Returns how many of 8 unsynced sectors of a file survive on average. With independent halves alone, nearly all or
// nearly none of many sectors would almost never survive.
std::uint64_t choose_survivors_of_8(SeededRandom& random) {
  static constexpr std::uint64_t kChoices[] = {0, 1, 4, 4, 7, 8};
  return kChoices[random.below(std::size(kChoices))];
}

}  // namespace

std::string SimContent::cached_sector(std::uint64_t sector) const {
  const std::uint64_t start = sector * kSectorBytes;
  return start < cached_.size() ? cached_.substr(start, kSectorBytes) : std::string();
}

/// Must be called before a sector changes.
void SimContent::touch(std::uint64_t sector) {
  const auto [entry, fresh] = pending_.try_emplace(sector);
  if (fresh || sector * kSectorBytes >= cached_.size()) return;
  OlderVersions& older = entry->second;
  if (older.size() == kOlderVersionsMax) older.erase(older.begin());
  older.push_back(cached_sector(sector));
}

void SimContent::set_cached_size(std::uint64_t size) {
  if (older_sizes_.size() == kOlderSizesMax) older_sizes_.erase(older_sizes_.begin());
  older_sizes_.push_back(cached_.size());
  cached_.resize(size);
  size_pending_ = true;
}

/// The new bytes are zeros. Sectors for which the disk still has other bytes change; the others read as zeros anyway.
void SimContent::extend(std::uint64_t size) {
  const std::uint64_t end = std::min<std::uint64_t>(size, durable_.size());
  for (std::uint64_t sector = cached_.size() / kSectorBytes; sector < sectors_up_to(end); ++sector) touch(sector);
  set_cached_size(size);
}

void SimContent::shrink(std::uint64_t size) {
  if (size % kSectorBytes != 0) touch(size / kSectorBytes);
  for (auto entry = pending_.lower_bound(sectors_up_to(size)); entry != pending_.end(); ++entry) touch(entry->first);
  set_cached_size(size);
}

void SimContent::resize(std::uint64_t size) {
  if (size > cached_.size()) extend(size);
  if (size < cached_.size()) shrink(size);
}

void SimContent::write(std::uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  const std::uint64_t end = offset + bytes.size();
  if (offset > cached_.size()) extend(offset);
  for (std::uint64_t sector = offset / kSectorBytes; sector < sectors_up_to(end); ++sector) touch(sector);
  if (end > cached_.size()) set_cached_size(end);
  if (end > durable_.size()) size_pending_ = true;  // also if a failed sync dropped the size
  std::ranges::copy(bytes, cached_.begin() + static_cast<std::ptrdiff_t>(offset));
}

void SimContent::sync() {
  if (size_pending_) durable_.resize(cached_.size());
  for (const auto& [sector, older] : pending_) {
    if (sector * kSectorBytes < cached_.size()) {
      put_sector(durable_, sector, std::string_view(cached_).substr(sector * kSectorBytes, kSectorBytes));
    }
  }
  pending_.clear();
  older_sizes_.clear();
  size_pending_ = false;
}

void SimContent::fail_sync(SeededRandom& random) {
  if (pending_.empty() && !size_pending_) return;
  stale_ = true;
  pending_.clear();
  older_sizes_.clear();
  size_pending_ = size_pending_ && random.coin();
}

std::uint64_t SimContent::choose_size(SeededRandom& random) const {
  if (!size_pending_) return durable_.size();
  const std::uint64_t choice = random.below(4 + (older_sizes_.empty() ? 0 : 2));
  if (choice < 2) return cached_.size();
  if (choice == 2) return durable_.size();
  if (choice > 3) return older_sizes_[random.below(older_sizes_.size())];
  // A size in between: the end of a written sector.
  const auto [low, high] = std::minmax({cached_.size(), durable_.size()});
  const std::uint64_t sector = low / kSectorBytes + random.below(sectors_up_to(high) - low / kSectorBytes + 1);
  return std::clamp<std::uint64_t>(sector * kSectorBytes, low, high);
}

std::string SimContent::lose_randomly(SeededRandom& random) const {
  std::string left = durable_;
  left.resize(choose_size(random));
  const std::uint64_t survivors = choose_survivors_of_8(random);
  for (const auto& [sector, older] : pending_) {
    if (random.below(8) >= survivors) continue;
    const bool newest_exists = sector * kSectorBytes < cached_.size();
    const bool newest = older.empty() || (newest_exists && random.below(4) != 0);
    if (newest && !newest_exists) continue;
    put_sector(left, sector, newest ? cached_sector(sector) : older[random.below(older.size())]);
  }
  return left;
}

void SimContent::settle(std::string durable) {
  durable_ = std::move(durable);
  cached_ = durable_;
  pending_.clear();
  older_sizes_.clear();
  size_pending_ = false;
  stale_ = false;
}

void SimContent::lose(Loss loss, SeededRandom& random) {
  if (pending_.empty() && !size_pending_ && !stale_) return;
  if (loss == Loss::keep_all) sync();
  if (loss == Loss::random) return settle(lose_randomly(random));
  settle(std::move(durable_));
}

}  // namespace pawl::testing
