// Checksums of many checkpoints in little memory: 33 bytes each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

class CheckpointSums {
 public:
  /// `sum` has 64 hexadecimal digits; anything else counts as unknown.
  void put(std::uint64_t sequence, std::string_view sum);
  [[nodiscard]] bool contains(std::uint64_t sequence) const { return find(sequence) != nullptr; }
  /// Returns hexadecimal digits, or an empty string if the sum is unknown.
  [[nodiscard]] std::string sum_of(std::uint64_t sequence) const;
  void set_audited(std::uint64_t sequence);
  [[nodiscard]] bool empty() const { return stretches_.empty(); }
  /// Must not be called if it is empty.
  [[nodiscard]] std::uint64_t last() const;

  /// Calls `visit(sequence, is_audited)` for each checkpoint, ascending.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [first, stretch] : stretches_) {
      for (std::size_t i = 0; i < stretch.flags.size(); ++i) visit(first + i, (stretch.flags[i] & kAudited) != 0);
    }
  }

 private:
  static constexpr std::size_t kSumBytes = 32;
  static constexpr std::size_t kStretchMax = 4096;  // so that growing one copies little
  static constexpr char kKnown = 1;
  static constexpr char kAudited = 2;
  /// Consecutive checkpoints.
  struct Stretch {
    std::string sums;   // kSumBytes each
    std::string flags;  // one each
  };
  struct Place {
    Stretch* stretch;
    std::size_t index;
  };
  [[nodiscard]] const Stretch* find(std::uint64_t sequence) const;
  [[nodiscard]] Place place_of(std::uint64_t sequence);

  std::map<std::uint64_t, Stretch> stretches_;  // by the first checkpoint
};

}  // namespace pawl
