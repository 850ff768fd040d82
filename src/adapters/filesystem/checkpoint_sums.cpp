#include "adapters/filesystem/checkpoint_sums.hpp"

#include <iterator>

#include "base/hash.hpp"

namespace pawl {

const CheckpointSums::Stretch* CheckpointSums::find(std::uint64_t sequence) const {
  auto found = stretches_.upper_bound(sequence);
  if (found == stretches_.begin()) return nullptr;
  --found;
  return sequence - found->first < found->second.flags.size() ? &found->second : nullptr;
}

/// Returns the place of an existing checkpoint, or makes a new one.
CheckpointSums::Place CheckpointSums::place_of(std::uint64_t sequence) {
  auto after = stretches_.upper_bound(sequence);
  if (after != stretches_.begin()) {
    auto& [first, stretch] = *std::prev(after);
    const std::uint64_t index = sequence - first;
    if (index < stretch.flags.size()) return {&stretch, index};
    if (index == stretch.flags.size() && index < kStretchMax) {
      stretch.flags.push_back(0);
      stretch.sums.append(kSumBytes, '\0');
      return {&stretch, index};
    }
  }
  Stretch& made =
      stretches_.emplace(sequence, Stretch{std::string(kSumBytes, '\0'), std::string(1, '\0')}).first->second;
  return {&made, 0};
}

void CheckpointSums::put(std::uint64_t sequence, std::string_view sum) {
  const auto [stretch, index] = place_of(sequence);
  const std::string bytes = from_hex(sum);
  const bool known = bytes.size() == kSumBytes;
  if (known) stretch->sums.replace(index * kSumBytes, kSumBytes, bytes);
  char& flags = stretch->flags[index];
  flags = static_cast<char>(known ? flags | kKnown : flags & ~kKnown);
}

std::string CheckpointSums::sum_of(std::uint64_t sequence) const {
  const Stretch* const stretch = find(sequence);
  if (stretch == nullptr) return {};
  const std::size_t index = sequence - std::prev(stretches_.upper_bound(sequence))->first;
  if ((stretch->flags[index] & kKnown) == 0) return {};
  return to_hex(std::string_view(stretch->sums).substr(index * kSumBytes, kSumBytes));
}

void CheckpointSums::set_audited(std::uint64_t sequence) {
  if (!contains(sequence)) return;
  const auto [stretch, index] = place_of(sequence);
  stretch->flags[index] = static_cast<char>(stretch->flags[index] | kAudited);
}

std::uint64_t CheckpointSums::last() const {
  const auto& [first, stretch] = *stretches_.rbegin();
  return first + stretch.flags.size() - 1;
}

}  // namespace pawl
