// A set of indices, kept as ranges: `0-40,42`. What a map over many items knows of its progress.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

class IndexRanges {
 public:
  [[nodiscard]] static std::optional<IndexRanges> parse(std::string_view text);
  [[nodiscard]] std::string text() const;

  void add(std::uint64_t index);
  void remove(std::uint64_t index);
  [[nodiscard]] bool contains(std::uint64_t index) const;
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// The first index from `from` on that is not in the set.
  [[nodiscard]] std::uint64_t next_missing(std::uint64_t from) const;
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& ranges() const { return ranges_; }  // first -> last
  bool operator==(const IndexRanges&) const = default;

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;
  std::uint64_t count_ = 0;
};

}  // namespace pawl
